package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// Whatever its size, a snapshot comes back byte for byte, and the library reads the
// same.
func TestWhatIsStoredComesBack(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	for i, size := range []int{0, 1000, pieceSize - 2000, pieceSize, 3*pieceSize + 5} {
		seq := uint64(10 + i)
		want := b.put(seq, size)
		got, err := b.Fetch(b.ctx(), seq, b.into)
		b.must(err)
		if got != want {
			t.Errorf("%d bytes: fetched %+v, want %+v", size, got, want)
		}
		var here, there bytes.Buffer
		_, _, err = b.from.Send(seq, &here)
		b.must(err)
		_, _, err = b.into.Send(seq, &there)
		b.must(err)
		library, err := b.objects().GetBytes(b.ctx(), snapdir.Name(seq))
		b.must(err)
		if !bytes.Equal(here.Bytes(), there.Bytes()) || !bytes.Equal(here.Bytes(), library) {
			t.Errorf("%d bytes: the file came back as another one", size)
		}
	}
	list, err := b.List(b.ctx())
	b.must(err)
	for i, o := range list {
		if want := uint64(14 - i); o.Header != headerOf(want) || o.Size != uint64(len(b.file(want))) || time.Since(o.Stored).Abs() > time.Minute {
			t.Errorf("listed as %+v, want %+v of %d bytes", o, headerOf(want), len(b.file(want)))
		}
		if i > 0 && o.Order >= list[i-1].Order {
			t.Errorf("%d is stored as %d, after %d, which was stored later", o.Header.Seq, o.Order, list[i-1].Order)
		}
	}
	if len(list) != 5 {
		t.Errorf("%d are listed, want 5", len(list))
	}
}

// The last piece may be just full: then no empty one follows.
func TestAFullLastPiece(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	const want = 2 * pieceSize
	size, n := want, 0
	for range 20 { // what a record costs beside its value changes little with the size
		b.save(1, size)
		if n = len(b.file(1)); n == want {
			break
		}
		size += want - n
	}
	if n != want {
		t.Fatalf("the file has %d bytes, want %d", n, want)
	}
	_, err := b.Put(b.ctx(), b.from, 1)
	b.must(err)
	if n := b.messages(); n != 3 {
		t.Errorf("%d messages, want two pieces and a name", n)
	}
	_, err = b.Fetch(b.ctx(), 1, b.into)
	b.must(err)
}

func TestNoBucketIsNoSnapshot(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	if list := b.listed(); len(list) != 0 {
		t.Errorf("listed %d", list)
	}
	if _, err := b.Newest(b.ctx(), b.into, anyOne); !errors.Is(err, ErrNone) {
		t.Errorf("newest: %v, want %v", err, ErrNone)
	}
	if _, err := b.Fetch(b.ctx(), 1, b.into); !errors.Is(err, ErrNone) {
		t.Errorf("fetch: %v, want %v", err, ErrNone)
	}
	b.must(b.Remove(b.ctx(), 1))
	b.must(b.Sweep(b.ctx()))
	if _, err := b.js.Stream(b.ctx(), Stream); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("looking made the bucket: %v", err)
	}
}

func TestTheBucketIsMadeWithTheCopiesOfTheLog(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	asked := errors.New("asked")
	b.o.Replicas = func(context.Context) (int, error) { return 0, asked }
	b.save(1, 10)
	if _, err := b.Put(b.ctx(), b.from, 1); !errors.Is(err, asked) {
		t.Errorf("put: %v, want %v", err, asked)
	}
	b.o.Replicas = func(context.Context) (int, error) { return 3, nil } // of a server that stands alone
	if _, err := b.Put(b.ctx(), b.from, 1); err == nil {
		t.Error("a single server made three copies")
	}
}

func TestTheNewestThatFits(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	for seq := range uint64(4) {
		b.put(seq+1, 100)
	}
	h, err := b.Newest(b.ctx(), b.into, func(h snapshots.Header) bool { return h.Seq < 4 && h.Rules == 7 })
	b.must(err)
	if h != headerOf(3) {
		t.Errorf("found %+v, want %+v", h, headerOf(3))
	}
	list, err := b.into.List()
	b.must(err)
	if !slices.Equal(list, []uint64{3}) {
		t.Errorf("the directory has %d, want only what was asked for", list)
	}
	if _, err := b.Newest(b.ctx(), b.into, func(h snapshots.Header) bool { return h.Rules == 8 }); !errors.Is(err, ErrNone) {
		t.Errorf("none fits: %v, want %v", err, ErrNone)
	}
	if b.said.Len() != 0 {
		t.Errorf("it said %s", b.said.String())
	}
}

// What is in the directory already does not come again, unless it is damaged there.
func TestWhatIsThereIsNotFetched(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	want := b.put(1, 1000)
	b.into = b.from
	b.must(b.stream().Purge(b.ctx(), jetstream.WithPurgeSubject(piecesPrefix+">"), jetstream.WithPurgeKeep(1)))
	if h, err := b.Newest(b.ctx(), b.from, anyOne); err != nil || h != want {
		t.Errorf("found %+v, %v", h, err)
	}
}

func TestStoringTwiceChangesNothing(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	b.put(1, 3*pieceSize)
	before := b.messages()
	b.put(1, 3*pieceSize)
	info, err := b.stream().Info(b.ctx())
	b.must(err)
	if info.State.Msgs != before || info.State.LastSeq != before {
		t.Errorf("%d messages of %d, want %d that were there", info.State.Msgs, info.State.LastSeq, before)
	}
}

// Of several that store the same at once, one stays, and it is good. What the
// others leave is swept.
func TestSeveralStoreTheSame(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	b.put(1, 10) // the bucket
	b.save(2, 3*pieceSize)
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			if _, err := b.Put(b.ctx(), b.from, 2); err != nil {
				t.Error(err)
			}
		})
	}
	g.Wait()
	_, err := b.Fetch(b.ctx(), 2, b.into)
	b.must(err)
	b.abandoned = 0
	b.must(b.Sweep(b.ctx()))
	if got, want := b.messages(), uint64(1+1+4+1); got != want {
		t.Errorf("%d messages are left, want %d", got, want)
	}
	if got := b.listed(); !slices.Equal(got, []uint64{2, 1}) {
		t.Errorf("listed %d", got)
	}
}

func TestRemove(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	b.put(1, 3*pieceSize)
	b.put(2, 10)
	for range 2 { // the second time there is nothing to remove
		b.must(b.Remove(b.ctx(), 1))
		if got := b.listed(); !slices.Equal(got, []uint64{2}) {
			t.Errorf("listed %d", got)
		}
		if n := b.messages(); n != 2 {
			t.Errorf("%d messages are left, want one piece and one name", n)
		}
	}
}

// A file that is damaged on the way out is not stored.
func TestADamagedFileIsNotStored(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	b.put(1, 10)
	b.save(2, 3*pieceSize)
	b.damage(2, func(data []byte) []byte { data[len(data)-1]++; return data })
	if _, err := b.Put(b.ctx(), b.from, 2); !errors.Is(err, snapshots.ErrDamaged) {
		t.Errorf("put: %v, want %v", err, snapshots.ErrDamaged)
	}
	if n := b.messages(); n != 2 {
		t.Errorf("%d messages, want those that were there", n)
	}
}

func TestHeadersAreDescribedInFull(t *testing.T) {
	h := snapshots.Header{Rules: 1<<64 - 1, Seq: 1 << 63, Time: -5, LogTime: 1 << 62, Hash: [32]byte{1, 31: 2}, Digest: [32]byte{3, 31: 4}}
	got, err := header(described(h))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, got); diff != "" {
		t.Error(diff)
	}
	for field := range described(h) {
		for _, wrong := range []string{"", "x", "-", "123456789012345678901234567890"} {
			d := described(h)
			d[field] = wrong
			if got, err := header(d); err == nil {
				t.Errorf("%s %q is read as %s", field, wrong, fmt.Sprint(got))
			}
		}
	}
}
