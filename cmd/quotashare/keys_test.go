package main

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/keyfile"
)

// full is a disk with no room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A token that nobody saw is in the file all the same.
func TestATokenThatIsNotPrintedIsSaidToBeLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	var said bytes.Buffer
	code := run(t.Context(), program.Process{
		Name: "quotashare", Args: []string{"keys", "issue", "--id", "alice", "--keys-file", path}, Stdout: full{}, Stderr: &said,
	})
	want := regexp.MustCompile(`^quotashare: the token cannot be printed: no space left
hint: nobody has it now; revoke the one that begins with (qs-....), and issue another
$`).FindStringSubmatch(said.String())
	if code != program.Failure || want == nil {
		t.Fatalf("exit %d, said %s", code, &said)
	}
	args := []string{"keys", "revoke", "--id", "alice", "--keys-file", path, "--token-prefix", want[1]}
	if code := run(t.Context(), program.Process{Name: "quotashare", Args: args, Stdout: io.Discard, Stderr: &said}); code != program.OK {
		t.Errorf("the hint does not work: exit %d, said %s", code, &said)
	}
	if keys, err := keyfile.List(path); err != nil || len(keys) != 0 {
		t.Errorf("left are %v, %v", keys, err)
	}
}
