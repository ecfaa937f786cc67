package tokens

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quotashare/quotashare/secretfile"
)

// bench is a File on a clock of the test, with its log.
type bench struct {
	*File
	t      *testing.T
	path   string
	passed atomic.Int64
	log    bytes.Buffer
}

func open(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, path: filepath.Join(t.TempDir(), "not", "yet", "tokens.json")}
	start := time.Now()
	f, err := OpenAt(b.path, slog.New(slog.NewTextHandler(&b.log, nil)), func() time.Time { return start.Add(time.Duration(b.passed.Load())) })
	if err != nil {
		t.Fatal(err)
	}
	b.File = f
	return b
}

func (b *bench) pass(d time.Duration) { b.passed.Add(int64(d)) }

// add adds a token and waits until it is looked for.
func (b *bench) add(one Token) string {
	b.t.Helper()
	token, err := Add(b.path, one, b.now())
	if err != nil {
		b.t.Fatal(err)
	}
	b.pass(secretfile.Every)
	return token
}

// is checks who has the token, in words.
func (b *bench) is(token, want string) {
	b.t.Helper()
	who, err := b.Find(token)
	got := fmt.Sprint(err)
	if err == nil {
		got = who.Name + " " + who.Role.String() + " " + strings.Join(who.Keys, ",")
	}
	if strings.TrimSpace(got) != want {
		b.t.Errorf("%s is %s, want %s", token, got, want)
	}
}

func (b *bench) remove(name, prefix string) int {
	b.t.Helper()
	gone, err := Remove(b.path, name, prefix)
	if err != nil && !errors.Is(err, ErrNoSuchToken) {
		b.t.Fatal(err)
	}
	b.pass(secretfile.Every)
	return len(gone)
}

func TestRolesAreFoundByTheirTokens(t *testing.T) {
	b := open(t)
	reader, self := b.add(Token{Name: "grafana", Role: Read}), b.add(Token{Name: "alice", Role: Self, Keys: []string{"a", "b"}})
	b.is(reader, "grafana read")
	b.is(self, "alice self a,b")
	for _, wrong := range []string{"", "q", reader[:len(reader)-1], reader + "x", " " + reader, reader[:PrefixLength], reader[:len(reader)-1] + "!", self[:PrefixLength] + reader[PrefixLength:]} {
		b.is(wrong, "is not one of this server's")
	}
	if b.Count(Read) != 1 || b.Count(Self) != 1 || b.Count(Admin) != 0 {
		t.Errorf("%d read, %d self, %d admin", b.Count(Read), b.Count(Self), b.Count(Admin))
	}
}

// Two tokens that begin alike are two.
func TestTokensThatBeginAlike(t *testing.T) {
	b := open(t)
	first, second := "qt-ABCDEF1", "qt-ABCDEF2"
	b.take([]Token{{Name: "first", Role: Read, Prefix: first[:9], sum: sumOf(first)}, {Name: "second", Role: Read, Prefix: first[:9], sum: sumOf(second)}})
	b.is(first, "first read")
	b.is(second, "second read")
	b.is("qt-ABCDEF3", "is not one of this server's")
}

func TestRotation(t *testing.T) {
	b := open(t)
	old := b.add(Token{Name: "ci", Role: Ingest})
	next := b.add(Token{Name: "ci", Role: Ingest})
	who, _ := b.Find(old)
	if !b.Still(who) {
		t.Error("an old token does not hold beside a new one")
	}
	for _, c := range []struct {
		name, prefix string
		want         int
	}{{"ci", next[:8], 0}, {"cd", old, 0}, {"", "", 0}, {"ci", " " + old[:PrefixLength] + "\n", 1}} {
		if got := b.remove(c.name, c.prefix); got != c.want {
			t.Errorf("%q %q removes %d, want %d", c.name, c.prefix, got, c.want)
		}
	}
	b.is(old, "is not one of this server's")
	b.is(next, "ci ingest")
	if b.Still(who) {
		t.Error("a token that was removed still holds")
	}
}

func TestATokenExpires(t *testing.T) {
	b := open(t)
	end := b.now().Add(time.Minute).Truncate(time.Millisecond)
	token := b.add(Token{Name: "guest", Role: Read, ExpiresAt: end})
	who, _ := b.Find(token)
	b.pass(end.Sub(b.now()) - 1)
	b.is(token, "guest read")
	if !b.Still(who) {
		t.Error("it does not hold before its end")
	}
	b.pass(1)
	b.is(token, "has expired")
	if b.Still(who) {
		t.Error("it holds at its end")
	}
}

// A role that was taken away in the file is not held by who had it.
func TestATokenThatWasChangedDoesNotHold(t *testing.T) {
	b := open(t)
	token := b.add(Token{Name: "x", Role: Admin})
	who, _ := b.Find(token)
	data, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.path, bytes.Replace(data, []byte("admin"), []byte("read"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	b.pass(secretfile.Every)
	b.is(token, "x read")
	if b.Still(who) {
		t.Error("who was admin still is")
	}
}

func TestADamagedFileLeavesTheLastGoodOne(t *testing.T) {
	b := open(t)
	token := b.add(Token{Name: "x", Role: Read})
	b.is(token, "x read")
	good, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	b.log.Reset()
	for range 3 {
		if err := os.WriteFile(b.path, []byte(`{"tokens":[{`), 0o600); err != nil {
			t.Fatal(err)
		}
		b.pass(secretfile.Every)
		b.is(token, "x read")
	}
	if now, times := b.Trouble(); !strings.Contains(now, "not well formed") || times != 1 || strings.Count(b.log.String(), "level=WARN") != 1 {
		t.Errorf("trouble %q, %d times; logged %s", now, times, &b.log)
	}
	if err := os.WriteFile(b.path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	b.pass(secretfile.Every)
	if now, times := b.Trouble(); now != "" || times != 1 {
		t.Errorf("a good file is trouble %q, %d times", now, times)
	}
}

func TestFaultsOfANewTokenAreAllTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	for _, c := range []struct {
		token Token
		want  string
	}{
		{Token{}, "name is empty; role is none: use ingest, read, self or admin"},
		{Token{Name: "x ", Role: Read, Keys: []string{"a"}}, "name begins or ends with a blank; keys is for the role self alone: read is bound to no keys"},
		{Token{Name: "x", Role: Self, ExpiresAt: noon}, "keys is missing: the role self is bound to some keys; expiresAt is over already"},
		{Token{Name: "x", Role: Self, Keys: []string{" a"}}, `keys has " a", which begins or ends with a blank: name the key as its allocation does`},
	} {
		if _, err := Add(path, c.token, noon); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.token, err, c.want)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was made for nothing")
	}
}
