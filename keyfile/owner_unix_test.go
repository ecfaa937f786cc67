//go:build unix

package keyfile

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestTheFileIsItsOwnersAlone(t *testing.T) {
	path := home(t)
	issue(t, path, "alice")
	if Exposed(path) {
		t.Error("a new file is exposed")
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o602} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if !Exposed(path) {
			t.Errorf("%o is not exposed", mode)
		}
	}
	owner := os.Getuid()
	if owner == 0 { // only the superuser can meet a file of somebody else's
		owner = 12345
		if err := os.Chown(path, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	issue(t, path, "alice")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := int(info.Sys().(*syscall.Stat_t).Uid); Exposed(path) || got != owner {
		t.Errorf("mode %s, owner %d, want %d", info.Mode(), got, owner)
	}
}

func TestAPipeIsNotWaitedFor(t *testing.T) {
	path := home(t)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, nil); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("a pipe: %v", err)
	}
}
