package keyfile

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/secretfile"
)

// watch is a File on a clock of the test, with its log.
type watch struct {
	*File
	t      *testing.T
	path   string
	passed atomic.Int64
	log    bytes.Buffer
}

// watching opens a file.
func watching(t *testing.T, path string) *watch {
	t.Helper()
	w := &watch{t: t, path: path}
	start := time.Now()
	log := slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{ReplaceAttr: untimed}))
	f, err := open(path, log, func() time.Time { return start.Add(time.Duration(w.passed.Load())) })
	if err != nil {
		t.Fatal(err)
	}
	w.File = f
	return w
}

func untimed(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func (w *watch) pass(d time.Duration) { w.passed.Add(int64(d)) }

// knows checks whose a token is; "" is nobody's.
func (w *watch) knows(token, id string) {
	w.t.Helper()
	if got, ok := w.KeyID(token); got != id || ok != (id != "") {
		w.t.Errorf("%s is of %q, %v; want %q", token, got, ok, id)
	}
}

// said checks what was logged since it was last asked, a message a line.
func (w *watch) said(want ...string) {
	w.t.Helper()
	var got []string
	for line := range strings.Lines(w.log.String()) {
		line = strings.ReplaceAll(line, w.path, "FILE")
		got = append(got, strings.TrimSpace(line))
	}
	w.log.Reset()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("the log (-want +got):\n%s", diff)
	}
}

const (
	saidNone    = `level=WARN msg="there is no key file yet: every token is refused until one is issued" file=FILE`
	saidGone    = `level=WARN msg="the key file is gone: every token is refused until it is back" file=FILE`
	saidExposed = `level=WARN msg="others than its owner may read or write the key file: chmod 600 it" file=FILE mode=-rw-r-----`
)

func saidRead(n int) string {
	return fmt.Sprintf(`level=INFO msg="the key file is read" file=FILE tokens=%d`, n)
}

func saidBad(err string) string {
	return fmt.Sprintf(`level=WARN msg="the key file is of no use, the tokens of the last good one stay in force" file=FILE err=%q`, err)
}

// put writes the file in place, as an editor may, and gives it an age.
func put(t *testing.T, path string, data []byte, age time.Duration) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	setAge(t, path, age)
}

func setAge(t *testing.T, path string, age time.Duration) {
	t.Helper()
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRotationWhileItRuns(t *testing.T) {
	path := home(t)
	w := watching(t, path)
	w.said(saidNone)
	w.knows("", "")
	first := issue(t, path, "alice")
	w.pass(secretfile.Every - 1)
	w.knows(first, "") // not a second yet
	w.pass(1)
	w.knows(first, "alice")
	w.knows(first[:len(first)-1], "")
	w.said(saidRead(1))

	second := issue(t, path, "alice")
	w.pass(secretfile.Every)
	w.knows(first, "alice")
	w.knows(second, "alice")
	w.said(saidRead(2))

	if _, err := Revoke(path, "alice", first[:PrefixLength]); err != nil {
		t.Fatal(err)
	}
	w.pass(secretfile.Every - 1)
	w.knows(first, "alice")
	w.pass(1)
	w.knows(first, "")
	w.knows(second, "alice")
	w.said(saidRead(1))
	w.pass(secretfile.Every)
	w.knows(second, "alice")
	w.said()
}

func TestBlanksAroundATokenDoNotMatter(t *testing.T) {
	f := Of(map[string]string{" qs-demo": "alice"})
	for token, want := range map[string]bool{
		"qs-demo": true, " qs-demo\r\n": true, "\u00a0qs-demo\t": true, "qs-demo.": false, "qs- demo": false, "QS-demo": false, "": false,
	} {
		if id, ok := f.KeyID(token); ok != want || (id == "alice") != want {
			t.Errorf("%q is of %q, %v", token, id, ok)
		}
	}
}

func TestABadFileLeavesTheLastGoodOne(t *testing.T) {
	path := home(t)
	token := issue(t, path, "alice")
	good := contents(t, path)
	w := watching(t, path)
	w.said(saidRead(1))
	for _, tt := range []struct{ doc, err string }{
		{"", `the file is empty: one without keys is {"keys":[]}`},
		{`{"keys":[{}]}`, "keys[0].id is missing; keys[0].prefix is missing; keys[0].sha256 is missing; keys[0].createdAt is missing"},
	} {
		for _, age := range []time.Duration{0, time.Hour} { // read at each look, and once
			put(t, path, []byte(tt.doc), age)
			w.pass(secretfile.Every)
			w.knows(token, "alice")
			if age == 0 {
				w.said(saidBad("FILE: " + tt.err))
			}
			w.pass(secretfile.Every)
			w.knows(token, "alice")
			w.said()
		}
	}
	if _, err := Open(path, nil); err == nil || !strings.Contains(err.Error(), path+": keys[0].id is missing") {
		t.Errorf("opened afresh: %v", err)
	}
	put(t, path, good, time.Minute)
	w.pass(secretfile.Every)
	w.knows(token, "alice")
	put(t, path, nil, 0) // bad once more, which is news
	w.pass(secretfile.Every)
	w.knows(token, "alice")
	w.said(saidBad(`FILE: the file is empty: one without keys is {"keys":[]}`))
}

// An editor may take the file away for a moment; an operator takes it for good.
func TestAFileThatIsGoneIsAnEmptyOne(t *testing.T) {
	path := home(t)
	token := issue(t, path, "alice")
	setAge(t, path, time.Hour)
	w := watching(t, path)
	w.said(saidRead(1))
	away := path + ".away"
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
		w.pass(secretfile.Every)
	}
	for range 2 { // never two looks in a row
		move(path, away)
		w.knows(token, "alice")
		move(away, path)
		w.knows(token, "alice")
	}
	w.said()
	move(path, away)
	w.knows(token, "alice")
	w.pass(secretfile.Every)
	w.knows(token, "")
	w.said(saidGone)
	w.pass(secretfile.Every)
	w.knows(token, "")
	w.said()
	move(away, path) // as it was
	w.knows(token, "alice")
	w.said(saidRead(1))
}

// Two writes within one step of the file system's clock look the same, if they have
// the same length; so a young file is read at each look. An old one is not.
func TestAYoungFileIsReadAgain(t *testing.T) {
	path := home(t)
	alice := issue(t, path, "alice")
	other := bytes.Replace(contents(t, path), []byte("alice"), []byte("carol"), 1)
	at := time.Now()
	setTime := func(d time.Duration) {
		if err := os.Chtimes(path, at.Add(d), at.Add(d)); err != nil {
			t.Fatal(err)
		}
	}
	swap := func(age time.Duration) *watch {
		put(t, path, bytes.Replace(other, []byte("carol"), []byte("alice"), 1), 0)
		setTime(-age)
		w := watching(t, path)
		w.knows(alice, "alice")
		put(t, path, other, 0)
		setTime(-age)
		w.pass(secretfile.Every)
		return w
	}
	swap(secretfile.Settled/2).knows(alice, "carol")
	w := swap(time.Hour)
	w.knows(alice, "alice") // it was not opened: it looks as it did
	setTime(-time.Minute)
	w.pass(secretfile.Every)
	w.knows(alice, "carol")
}

// Of an old file each of its marks alone says that it is another.
func TestAnotherFileIsNoticed(t *testing.T) {
	alice, _ := newToken("alice", noon)
	doc := func(id string) []byte {
		return encode([]Key{{ID: id, Prefix: alice[:PrefixLength], CreatedAt: noon, sum: sumOf(alice)}})
	}
	path := home(t)
	at := time.Now().Add(-time.Hour)
	write := func(path, id string, at time.Time) {
		put(t, path, doc(id), 0)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(path, "alice", at)
	w := watching(t, path)
	w.knows(alice, "alice")
	write(path, "alicia", at) // its size
	w.pass(secretfile.Every)
	w.knows(alice, "alicia")
	write(path, "felice", at.Add(time.Millisecond)) // its time
	w.pass(secretfile.Every)
	w.knows(alice, "felice")
	write(path+".other", "alison", at.Add(time.Millisecond)) // what it is
	if err := os.Rename(path+".other", path); err != nil {
		t.Fatal(err)
	}
	w.pass(secretfile.Every)
	w.knows(alice, "alison")
}

// What cannot be looked at leaves the last good one too, and is news each time.
func TestAFileThatCannotBeLookedAt(t *testing.T) {
	path := home(t)
	token := issue(t, path, "alice")
	setAge(t, path, time.Hour)
	w := watching(t, path)
	w.said(saidRead(1))
	for range 2 {
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, path); err != nil { // it leads to itself
			t.Fatal(err)
		}
		for range 2 {
			w.pass(secretfile.Every)
			w.knows(token, "alice")
		}
		w.said(saidBad("stat FILE: too many levels of symbolic links"))
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
		w.pass(secretfile.Every)
		w.knows(token, "alice")
		w.said()
	}
}

func TestAnExposedFileIsToldOfOnce(t *testing.T) {
	path := home(t)
	token := issue(t, path, "alice")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	w := watching(t, path)
	w.said(saidExposed, saidRead(1))
	w.pass(secretfile.Every)
	w.knows(token, "alice")
	w.said()
	issue(t, path, "bob") // closes it
	w.pass(secretfile.Every)
	w.knows(token, "alice")
	w.said(saidRead(2))
	setAge(t, path, time.Hour)
	w.pass(secretfile.Every)
	w.knows(token, "alice")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	w.pass(secretfile.Every)
	w.knows(token, "alice")
	w.said(saidExposed)
}

// After a revocation that all are told of, no request may pass because another one is
// just reading the file.
func TestNobodyPassesWhileTheFileIsRead(t *testing.T) {
	path := home(t)
	many := make([]Key, 200) // so that reading takes a while
	for i := range many {
		_, many[i] = newToken("bob", noon)
	}
	put(t, path, encode(many), 0)
	for range 10 {
		token := issue(t, path, "alice")
		w := watching(t, path)
		if _, err := Revoke(path, "alice", ""); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Hour)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { w.knows(token, "") })
		}
		all.Wait()
	}
}

func TestItIsReadWhileItIsWritten(t *testing.T) {
	path := home(t)
	keep := issue(t, path, "alice")
	w := watching(t, path)
	var all sync.WaitGroup
	all.Go(func() {
		for range 20 {
			if _, err := Issue(path, "bob", noon); err != nil {
				t.Error(err)
			}
			if _, err := Revoke(path, "bob", ""); err != nil {
				t.Error(err)
			}
			w.pass(secretfile.Every)
		}
	})
	for range 4 {
		all.Go(func() {
			for range 500 {
				w.knows(keep, "alice")
			}
		})
	}
	all.Wait()
	if strings.Contains(w.log.String(), "WARN") {
		t.Errorf("there was trouble: %s", &w.log)
	}
}

func BenchmarkKeyID(b *testing.B) {
	path := b.TempDir() + "/keys.json"
	token, err := Issue(path, "alice", noon)
	if err != nil {
		b.Fatal(err)
	}
	f, err := Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, ok := f.KeyID(token); !ok {
				b.Error("the token is unknown")
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	path := b.TempDir() + "/keys.json"
	keys := make([]Key, maxKeys)
	for i := range keys {
		_, keys[i] = newToken("alice", noon)
	}
	if err := os.WriteFile(path, encode(keys), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := kind.Read(path); err != nil {
			b.Fatal(err)
		}
	}
}
