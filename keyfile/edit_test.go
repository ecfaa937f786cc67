package keyfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// home is a path for a file that is not there yet.
func home(t *testing.T) string { return filepath.Join(t.TempDir(), "keys.json") }

func issue(t *testing.T, path, id string) (token string) {
	t.Helper()
	token, err := Issue(path, id, noon)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// listed is what List shows, a line for each.
func listed(t *testing.T, path string) (lines []string) {
	t.Helper()
	keys, err := List(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		lines = append(lines, k.ID+" "+k.Prefix)
	}
	return lines
}

func TestRevokeTakesWhatWasMeant(t *testing.T) {
	path := filepath.Join(t.TempDir(), "not", "yet", "keys.json")
	bob, first, second := issue(t, path, "bob"), issue(t, path, "alice"), issue(t, path, "alice")
	tests := []struct {
		id, prefix string
		want       []string // tokens that are gone
	}{
		{"alice", bob[:7], nil},
		{"alice", bob, nil},
		{"alice", "qs-", nil}, // or each token would go by it
		{"alice", first[:6], nil},
		{"alice", first[:8], nil},
		{"carol", "", nil},
		{"", "", nil},
		{"alice", " " + first[:7] + "\n", []string{first}},
		{"alice", first, []string{first}},
		{"alice", "", []string{first, second}},
		{"bob", "", []string{bob}},
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		gone, err := Revoke(path, tt.id, tt.prefix)
		if (err == nil) != (tt.want != nil) || err != nil && !errors.Is(err, ErrNoSuchToken) {
			t.Errorf("%q %q: %v", tt.id, tt.prefix, err)
		}
		f, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{bob, first, second} {
			if _, ok := f.KeyID(token); ok == slices.Contains(tt.want, token) {
				t.Errorf("%q %q: the token %s is known: %v", tt.id, tt.prefix, token, ok)
			}
		}
		if len(gone) != len(tt.want) {
			t.Errorf("%q %q: said to be gone are %v, want %v", tt.id, tt.prefix, gone, tt.want)
		}
	}
}

func TestListIsByKeyAndAge(t *testing.T) {
	path := home(t)
	if _, err := List(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	if _, err := Revoke(path, "alice", ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("revoked without a file: %v", err)
	}
	put(t, path, encode([]Key{
		{ID: "bob", Prefix: "qs-1", CreatedAt: noon, sum: sumOf("1")},
		{ID: "alice", Prefix: "qs-2", CreatedAt: noon.Add(time.Hour), sum: sumOf("2")},
		{ID: "alice", Prefix: "qs-4", CreatedAt: noon, sum: sumOf("4")},
		{ID: "alice", Prefix: "qs-3", CreatedAt: noon, sum: sumOf("3")},
	}), 0)
	if diff := cmp.Diff([]string{"alice qs-3", "alice qs-4", "alice qs-2", "bob qs-1"}, listed(t, path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whoever has begun to read goes on in the old file.
func TestAFileIsReplacedWhole(t *testing.T) {
	path := home(t)
	issue(t, path, "alice")
	want := contents(t, path)
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	issue(t, path, "bob")
	if got, err := io.ReadAll(reader); err != nil || !bytes.Equal(got, want) {
		t.Errorf("a reader has %q, %v", got, err)
	}
}

// What could not be read again would take every token with it.
func TestNothingFaultyIsWritten(t *testing.T) {
	path := home(t)
	issue(t, path, "alice")
	want := listed(t, path)
	for id, at := range map[string]time.Time{"": noon, " ": noon, " bob": noon, "bob\u00a0": noon, "*": noon, "a\nb": noon, "\xff": noon, "old": time.Unix(0, 0)} {
		if token, err := Issue(path, id, at); err == nil || token != "" {
			t.Errorf("%q at %s: token %q, %v", id, at, token, err)
		}
	}
	bad := []byte(`{"keys":[`)
	if diff := cmp.Diff(want, listed(t, path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.WriteFile(path, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	if token, err := Issue(path, "bob", noon); err == nil || token != "" || !strings.Contains(err.Error(), path) {
		t.Errorf("into a bad file: token %q, %v", token, err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(bad) {
		t.Errorf("the bad file is now %q, %v", got, err)
	}
}

// A link into another directory stays one, and the lock is beside the file itself.
func TestALinkIsFollowed(t *testing.T) {
	path, link := home(t), home(t)
	first := issue(t, path, "alice")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	issue(t, link, "bob")
	if got := listed(t, path); len(got) != 2 || got[0] != "alice "+first[:PrefixLength] {
		t.Errorf("the file has %v", got)
	}
	if names, err := os.ReadDir(filepath.Dir(link)); err != nil || len(names) != 1 {
		t.Errorf("beside the link are %v, %v", names, err)
	}
}

// What a killed process left, and what somebody planted, is not written to.
func TestWhatIsInTheWayIsNotWrittenTo(t *testing.T) {
	path := home(t)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, path+".new"); err != nil {
		t.Fatal(err)
	}
	issue(t, path, "alice")
	if got, err := os.ReadFile(victim); err != nil || string(got) != "precious" {
		t.Errorf("it is now %q, %v", got, err)
	}
	if len(listed(t, path)) != 1 {
		t.Error("the token is not in the file")
	}
}

func TestAFullFileTakesNoMore(t *testing.T) {
	path := home(t)
	keys := make([]Key, maxKeys)
	for i := range keys {
		_, keys[i] = newToken("alice", noon)
	}
	put(t, path, encode(keys), 0)
	if token, err := Issue(path, "bob", noon); err == nil || token != "" {
		t.Errorf("one more than %d: token %q, %v", maxKeys, token, err)
	}
	if got := len(listed(t, path)); got != maxKeys {
		t.Errorf("it has %d", got)
	}
	long := strings.Repeat(`"`, 256)
	if n := len(encode([]Key{{ID: long, Prefix: long, CreatedAt: noon}})) * maxKeys; n > maxSize {
		t.Errorf("with the longest ids it has %d bytes, and would not be read", n)
	}
}

func TestWhatIsNoFileOfOurs(t *testing.T) {
	if _, err := Open(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Open("", nil); err == nil {
		t.Error("a file without a name is opened")
	}
	large := home(t)
	padded := func(n int) []byte { return append([]byte(`{"keys":[]}`), bytes.Repeat([]byte("\n"), n-11)...) }
	put(t, large, padded(maxSize), 0)
	if _, err := List(large); err != nil {
		t.Errorf("as large as may be: %v", err)
	}
	put(t, large, padded(maxSize+1), 0)
	if _, err := List(large); err == nil || !strings.Contains(err.Error(), "has more than 16777216 bytes") {
		t.Errorf("too large: %v", err)
	}
}

// childPath is set in a process of this test that issues until it is killed.
const childPath = "KEYFILE_CHILD"

// issueAsChild issues, if this process is one for that, and prints each token when it
// has it.
func issueAsChild() bool {
	path := os.Getenv(childPath)
	if path == "" {
		return false
	}
	most, _ := strconv.Atoi(os.Getenv(childPath + "_MOST"))
	for range most {
		token, err := Issue(path, "alice", noon)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(token)
	}
	return true
}

// child starts a process that issues so many; its lines come as it prints them.
func child(t *testing.T, path string, most int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childPath+"="+path, fmt.Sprintf("%s_MOST=%d", childPath, most), "GORACE=atexit_sleep_ms=0")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewScanner(out)
}

func TestProcessesDoNotLoseEachOthersTokens(t *testing.T) {
	const most = 20
	path := home(t)
	var commands []*exec.Cmd
	var tokens [2][]string
	var all sync.WaitGroup
	for i := range tokens {
		c, lines := child(t, path, most)
		commands = append(commands, c)
		all.Go(func() {
			for lines.Scan() {
				tokens[i] = append(tokens[i], lines.Text())
			}
		})
	}
	var mine []string
	for range most {
		mine = append(mine, issue(t, path, "bob"))
	}
	all.Wait()
	for _, c := range commands {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	known(t, path, slices.Concat(mine, tokens[0], tokens[1]), 3*most)
}

// known checks that the file has each of the tokens, and so many in all.
func known(t *testing.T, path string, tokens []string, most int) {
	t.Helper()
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		if _, ok := f.KeyID(token); !ok {
			t.Errorf("%s is lost", token)
		}
	}
	if n := len(listed(t, path)); n < len(tokens) || n > most {
		t.Errorf("%d tokens for %d, want at most %d", n, len(tokens), most)
	}
}

// A process that is killed at any moment leaves a whole file, with all it had said,
// at most one token nobody knows of, and no lock.
func TestAKillLeavesAWholeFile(t *testing.T) {
	path := home(t)
	var tokens []string
	const kills = 12
	for n := range kills {
		c, lines := child(t, path, 1<<30)
		for i := 0; i <= n && lines.Scan(); i++ { // the moment is another each time
			tokens = append(tokens, lines.Text())
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it printed before the kill arrived
			tokens = append(tokens, lines.Text())
		}
		_ = c.Wait() // it was killed
		known(t, path, tokens, len(tokens)+n+1)
	}
	tokens = append(tokens, issue(t, path, "bob"))
	known(t, path, tokens, len(tokens)+kills)
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 2 {
		t.Errorf("left are %v, %v", names, err)
	}
}
