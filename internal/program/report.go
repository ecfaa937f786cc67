package program

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/quotashare/quotashare/config"
)

// misuse is a command line that cannot be read.
type misuse struct {
	error
	name string
}

// Error returns what the parser said, and says in words of ours what it tells
// in the names of its tokens: that a value is missing at the end of the line.
func (m misuse) Error() string {
	text := m.error.Error()
	if flag, rest, ok := strings.Cut(text, ": expected "); ok && strings.HasSuffix(rest, "(<EOL>)") {
		return flag + " needs a value"
	}
	return text
}

// Unwrap returns what the parser said.
func (m misuse) Unwrap() error { return m.error }

// hinted is an error with advice.
type hinted struct {
	error
	hint string
}

// Unwrap returns the error without the advice.
func (h hinted) Unwrap() error { return h.error }

// Hint adds one line of advice to an error; a second one replaces nothing, the
// outermost is shown.
func Hint(err error, format string, args ...any) error {
	return hinted{err, fmt.Sprintf(format, args...)}
}

// coded is an error with an exit code of its own.
type coded struct {
	error
	code int
}

// Unwrap returns the error without the code.
func (c coded) Unwrap() error { return c.error }

// WithCode has Report return a code for an error in place of Failure. One that has a
// code already keeps it, and nil stays nil.
func WithCode(err error, code int) error {
	if c := (coded{}); err == nil || errors.As(err, &c) {
		return err
	}
	return coded{err, code}
}

// Report prints an error for a person, with one line that says what to do where
// there is something, and returns the exit code it means.
func Report(w io.Writer, name string, err error) int {
	if err == nil || errors.Is(err, ErrHelp) {
		return OK
	}
	fmt.Fprintf(w, "%s: %s\n", name, strings.TrimSpace(err.Error()))
	var (
		h      hinted
		m      misuse
		c      coded
		faults config.Faults
	)
	switch {
	case errors.As(err, &h):
		fmt.Fprintf(w, "hint: %s\n", h.hint)
	case errors.As(err, &m):
		fmt.Fprintf(w, "hint: %s --help lists what there is\n", m.name)
	case errors.As(err, &faults):
		fmt.Fprintf(w, "hint: a flag wins over the variable of the environment; %s --help lists both\n", name)
	}
	switch {
	case errors.As(err, &m), errors.As(err, &faults):
		return Usage
	case errors.As(err, &c):
		return c.code
	}
	return Failure
}
