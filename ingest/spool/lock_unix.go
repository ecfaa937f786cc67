//go:build unix

package spool

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock makes the directory this spool's until what is returned is closed, or the process
// ends.
func lock(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
