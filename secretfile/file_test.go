package secretfile

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// words are files of words, of which "bad" is none.
var words = Kind[string]{
	Name: "word file", MaxSize: 64,
	Parse: func(data []byte) ([]string, error) {
		list := strings.Fields(string(data))
		if slices.Contains(list, "bad") {
			return nil, errors.New("it has a bad word")
		}
		return list, nil
	},
	Encode: func(list []string) []byte { return []byte(strings.Join(list, "\n")) },
}

// reader is a File on a clock of the test, with what it has and what it logged.
type reader struct {
	*File[string]
	t      *testing.T
	path   string
	passed atomic.Int64
	has    atomic.Pointer[[]string]
	log    bytes.Buffer
}

func open(t *testing.T, path string) *reader {
	t.Helper()
	r := &reader{t: t, path: path}
	start := time.Now()
	now := func() time.Time { return start.Add(time.Duration(r.passed.Load())) }
	f, err := Open(words, path, slog.New(slog.NewTextHandler(&r.log, nil)), now, func(list []string) bool {
		old := r.has.Swap(&list)
		return old != nil && !slices.Equal(*old, list)
	})
	if err != nil {
		t.Fatal(err)
	}
	r.File = f
	return r
}

// sees checks what is in force after some time.
func (r *reader) sees(after time.Duration, want ...string) {
	r.t.Helper()
	r.passed.Add(int64(after))
	r.Look()
	if got := *r.has.Load(); !slices.Equal(got, want) {
		r.t.Errorf("%q are in force, want %q", got, want)
	}
}

// put writes the file in place, and gives it an age.
func put(t *testing.T, path, text string, age time.Duration) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestAFileIsLookedAfterEverySecond(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "f"))
	put(t, r.path, "one", 0)
	r.sees(Every - 1)
	r.sees(1, "one")
	put(t, r.path, "two", 0)
	r.sees(Every-1, "one")
	r.sees(1, "two")
	if log := r.log.String(); !strings.Contains(log, "there is no word file yet") || strings.Count(log, "the word file is read") != 2 {
		t.Errorf("logged %s", log)
	}
}

// A file whose time cannot be told from that of another is read again; one that is
// old enough, and has the size and the time that it had, is not.
func TestTimesAreCoarse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	at := time.Now().Add(-Settled / 2)
	write := func(text string) {
		put(t, path, text, 0)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	r := open(t, path)
	write("two")
	r.sees(Every, "two")
	r.sees(Settled, "two") // it is old now
	write("six")
	r.sees(Every, "two")
}

func TestTroubleIsToldOnceAndEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	put(t, path, "one", 0)
	r := open(t, path)
	for range 3 {
		put(t, path, "bad", 0)
		r.sees(Every, "one")
	}
	if now, times := r.Trouble(); !strings.HasSuffix(now, "it has a bad word") || times != 1 || strings.Count(r.log.String(), "WARN") != 1 {
		t.Errorf("trouble %q, %d times, logged %s", now, times, &r.log)
	}
	put(t, path, "two", 0)
	r.sees(Every, "two")
	put(t, path, "bad", 0)
	r.sees(Every, "two")
	if now, times := r.Trouble(); now == "" || times != 2 {
		t.Errorf("trouble again %q, %d times", now, times)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r.sees(Every, "two") // an editor may just put another in its place
	r.sees(Every)
	if now, _ := r.Trouble(); now != "" {
		t.Errorf("a file that is gone is trouble %q", now)
	}
}

func TestWhatIsNoBeginning(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "bad"), "bad", 0)
	put(t, filepath.Join(dir, "large"), strings.Repeat("x", words.MaxSize+1), 0)
	for path, want := range map[string]string{
		"": "the word file has no name", dir: "is no regular file",
		filepath.Join(dir, "bad"): "bad: it has a bad word", filepath.Join(dir, "large"): "has more than 64 bytes",
	} {
		if _, err := Open(words, path, nil, time.Now, func([]string) bool { return false }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// Those that edit at once do so one after the other, also over a link, which stays one.
func TestEditsAreOneAfterTheOther(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
	put(t, path, "", 0)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			at := []string{path, link}[i%2]
			if err := words.Edit(at, func(list []string) ([]string, error) { return append(list, fmt.Sprint(i)), nil }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	list, _, err := words.Read(path)
	slices.Sort(list)
	if err != nil || strings.Join(list, "") != "0123456789" {
		t.Errorf("%q, %v", list, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if Exposed(path) {
		t.Error("others may read it")
	}
}

// An edit that fails, or that nobody could read, leaves what was there.
func TestAnEditThatFailsChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	put(t, path, "one", 0)
	for name, change := range map[string]func([]string) ([]string, error){
		"refused":    func([]string) ([]string, error) { return nil, errors.New("no") },
		"unreadable": func(list []string) ([]string, error) { return append(list, "bad"), nil },
		"too large":  func(list []string) ([]string, error) { return append(list, strings.Repeat("x", words.MaxSize)), nil },
	} {
		if err := words.Edit(path, change); err == nil {
			t.Errorf("%s: no error", name)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != "one" {
			t.Errorf("%s: the file is %q, %v", name, data, err)
		}
	}
	put(t, path, "bad", 0)
	if err := words.Edit(path, func([]string) ([]string, error) { return []string{"two"}, nil }); err == nil {
		t.Error("a faulty file was replaced, and with it what somebody meant")
	}
}
