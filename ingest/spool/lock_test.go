package spool

import (
	"errors"
	"testing"
)

// Two programs that were given the same directory would write over each other.
func TestADirectoryIsOfOneProgram(t *testing.T) {
	s := newStage(t, Options{})
	if other, err := Open(s.o); !errors.Is(err, ErrInUse) {
		t.Errorf("a second one is opened: %v, %v", other, err)
	}
	s.again()
}
