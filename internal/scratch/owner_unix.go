//go:build unix

package scratch

import (
	"io/fs"
	"os"
	"syscall"
)

// mine reports whether a file is this user's.
func mine(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}
