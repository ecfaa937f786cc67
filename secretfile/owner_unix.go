//go:build unix

package secretfile

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file to who has the one it replaces. Only the superuser can,
// and only there is something to keep: what sudo writes, the program could not read.
func keepOwner(f *os.File, old fs.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}
