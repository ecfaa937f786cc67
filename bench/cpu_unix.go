//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU that this process has used so far, the kernel's work
// for it too.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
