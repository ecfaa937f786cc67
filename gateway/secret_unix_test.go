//go:build unix

package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestACredentialComesOfAFile, not of a pipe, for which all calls of its connection
// would wait, nor of what has no end. The last good one is used, and each fault said
// once.
func TestACredentialComesOfAFile(t *testing.T) {
	dir := t.TempDir()
	path, pipe := filepath.Join(dir, "credential"), filepath.Join(dir, "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	must(t, os.WriteFile(path, []byte("good"), 0o600))
	c := Config{Connections: []Connection{{ID: "c", Provider: "openai", URL: "https://a/v1", CredentialFile: path}}}
	all, faults := c.build()
	must(t, faults.Err())
	var said []string
	s := all[0].secret
	s.said = func(_ string, err error) { said = append(said, err.Error()) }
	full := strings.Repeat(" ", secretMax-len("full")) + "full"
	for _, tt := range []struct {
		name string
		put  func() error
		want string
	}{
		{"a pipe", func() error { return os.Symlink(pipe, path) }, "good"},
		{"a device", func() error { return os.Symlink(os.DevNull, path) }, "good"},
		{"too much", func() error { return os.WriteFile(path, []byte(" "+full), 0o600) }, "good"},
		{"as much as is read", func() error { return os.WriteFile(path, []byte(full), 0o600) }, "full"},
	} {
		must(t, os.Remove(path))
		must(t, tt.put())
		for range 2 {
			s.read = s.read.Add(-secretAge)
			got := make(chan string, 1)
			go func() { got <- s.now() }()
			if value := receive(t, got); value != tt.want {
				t.Errorf("%s: the credential is %q, want %q", tt.name, value, tt.want)
			}
		}
	}
	want := []string{
		path + " is no regular file: write the credential into one",
		path + " has more than 65536 bytes: leave the credential alone in it",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
	c.Connections[0].CredentialFile = pipe
	started := make(chan error, 1)
	go func() { _, faults := c.build(); started <- faults.Err() }()
	if err := receive(t, started); err == nil {
		t.Error("a pipe is no fault at the start")
	}
}
