package snapshots_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/snapshots"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type record struct{ Key, Value string }

var header = snapshots.Header{
	Rules: 5, Seq: 4711, Time: 1_700_000_000_123, Hash: [32]byte{1, 31: 2}, LogTime: 1_700_000_000_456, Digest: [32]byte{3, 31: 4},
}

var few = []record{{"", "an empty key"}, {"c\x00\x01", ""}, {"c\x00\x02", "five counters"}, {"p", "position"}}

func write(t testing.TB, h snapshots.Header, list []record) ([]byte, snapshots.Summary) {
	t.Helper()
	var b bytes.Buffer
	sum, err := snapshots.Write(&b, h, func(add func(key, value []byte) error) error {
		for _, r := range list {
			if err := add([]byte(r.Key), []byte(r.Value)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), sum
}

// read returns what a caller saw until the error, which is nil at a good end.
func read(from io.Reader) (h snapshots.Header, list []record, err error) {
	r, err := snapshots.NewReader(from)
	if err != nil {
		return h, nil, err
	}
	for {
		key, value, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Header(), list, nil
		}
		if err != nil {
			return h, list, err
		}
		list = append(list, record{string(key), string(value)})
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOf(rapid.StringN(0, 20, 60), rapid.StringN(0, 50, 200)).Draw(t, "records")
		var want []record
		for k, v := range m {
			want = append(want, record{k, strings.Repeat(v, rapid.SampledFrom([]int{1, 1, 1, 3000}).Draw(t, "times"))})
		}
		slices.SortFunc(want, func(a, b record) int { return strings.Compare(a.Key, b.Key) })
		var b bytes.Buffer
		sum, err := snapshots.Write(&b, header, func(add func(key, value []byte) error) error {
			for _, r := range want {
				if err := add([]byte(r.Key), []byte(r.Value)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		h, got, err := read(iotest.HalfReader(bytes.NewReader(b.Bytes())))
		if err != nil || h != header || !slices.Equal(got, want) {
			t.Fatalf("read %d of %d records, %v", len(got), len(want), err)
		}
		_, again, err := snapshots.Verify(&b)
		if diff := cmp.Diff(sum, again); err != nil || diff != "" {
			t.Fatalf("%v, summary written and read: %s", err, diff)
		}
		if sum.Records != uint64(len(want)) {
			t.Fatalf("%d records, want %d", sum.Records, len(want))
		}
	})
}

// damage is any error that says the file is not to be believed.
func damage(err error) bool { return errors.Is(err, snapshots.ErrDamaged) }

func TestEveryFlippedBitIsDamage(t *testing.T) {
	good, _ := write(t, header, few)
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			_, list, err := read(bytes.NewReader(bad))
			if !damage(err) {
				t.Errorf("bit %d of byte %d of %d: %v", bit, i, len(good), err)
			}
			if i < len(good)-footerSize && list != nil {
				t.Errorf("bit %d of byte %d of %d: its block still gave %q", bit, i, len(good), list)
			}
		}
	}
}

func TestEveryTruncationIsDamage(t *testing.T) {
	good, _ := write(t, header, few)
	for n := range good {
		if _, _, err := read(bytes.NewReader(good[:n])); !damage(err) {
			t.Errorf("cut after %d of %d bytes: %v", n, len(good), err)
		}
	}
}

// many fills several blocks.
func many() (list []record) {
	for i := range 20_000 {
		list = append(list, record{fmt.Sprintf("c%08d", i), strings.Repeat(fmt.Sprint(i*i), 6)})
	}
	return list
}

// Each block is good by itself here: only the order, the counts and the sum of the
// whole can tell.
func TestBlocksLeftOutOrMovedAreDamage(t *testing.T) {
	list := many()
	good, sum := write(t, header, list)
	if sum.Blocks < 3 {
		t.Fatalf("%d blocks show nothing", sum.Blocks)
	}
	parts := split(t, good)
	for name, order := range map[string][]int{
		"a block is left out":       {0, 1, 3, -1},
		"two blocks are swapped":    {0, 2, 1, 3, -1},
		"a block is there twice":    {0, 1, 1, 2, 3, -1},
		"the end is left out":       {0, 1, 2, 3},
		"the end is there twice":    {0, 1, 2, 3, -1, -1},
		"a block follows the end":   {0, 1, 2, 3, -1, 3},
		"the header is there twice": {0, 0, 1, 2, 3, -1},
	} {
		var bad []byte
		for _, i := range order {
			if i < 0 {
				i = len(parts) - 1
			}
			bad = append(bad, parts[i]...)
		}
		if _, _, err := read(bytes.NewReader(bad)); !damage(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSomethingAfterTheEndIsDamage(t *testing.T) {
	good, _ := write(t, header, few)
	if _, _, err := read(bytes.NewReader(append(good, 0))); !damage(err) {
		t.Error(err)
	}
}

// A disk that cannot be read says nothing about the file.
func TestAFaultOfTheDiskIsNotDamage(t *testing.T) {
	good, _ := write(t, header, few)
	broken := errors.New("no such luck")
	for n := range len(good) + 1 {
		_, _, err := read(io.MultiReader(bytes.NewReader(good[:n]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || damage(err) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

func TestAFaultOfWritingIsTold(t *testing.T) {
	good, _ := write(t, header, few)
	broken := errors.New("no room")
	for n := range good {
		_, err := snapshots.Write(&short{left: n, err: broken}, header, func(add func(key, value []byte) error) error {
			for _, r := range few {
				if err := add([]byte(r.Key), []byte(r.Value)); err != nil {
					return err
				}
			}
			return nil
		})
		if !errors.Is(err, broken) {
			t.Fatalf("room for %d bytes: %v", n, err)
		}
	}
}

// short takes left bytes.
type short struct {
	left int
	err  error
}

func (s *short) Write(b []byte) (int, error) {
	if len(b) > s.left {
		n := s.left
		s.left = 0
		return n, s.err
	}
	s.left -= len(b)
	return len(b), nil
}

func TestKeysComeInOrder(t *testing.T) {
	for _, keys := range [][]string{{"a", "a"}, {"b", "a"}, {"", ""}, {"aa", "a"}} {
		_, err := snapshots.Write(io.Discard, header, func(add func(key, value []byte) error) error {
			for _, k := range keys {
				if err := add([]byte(k), nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "give each key once, in byte order") {
			t.Errorf("%q: %v", keys, err)
		}
	}
}

func TestSizeOfRecords(t *testing.T) {
	long := []record{{"long", strings.Repeat("0123456789abcdef", 200_000)}, {"p", "after"}}
	b, _ := write(t, header, long)
	if _, got, err := read(bytes.NewReader(b)); err != nil || !slices.Equal(got, long) {
		t.Errorf("a long record: %v", err)
	}
	w, err := snapshots.NewWriter(io.Discard, header)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add([]byte("k"), make([]byte, snapshots.MaxBlock)); err == nil {
		t.Error("a record that no block can have was taken")
	}
	if _, err := w.Close(); err == nil {
		t.Error("a snapshot without one of its records was closed")
	}
}
