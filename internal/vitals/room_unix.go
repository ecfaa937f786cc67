//go:build linux || darwin

package vitals

import "syscall"

// room returns how many bytes this user may still write to the file system of dir, and
// how many it has.
func room(dir string) (free, size uint64, ok bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0, 0, false
	}
	block := uint64(s.Bsize)
	return s.Bavail * block, s.Blocks * block, true
}
