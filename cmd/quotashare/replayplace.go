package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/whatif"
)

// place is a flag that names a message of the log, or an instant. The zero place is
// none.
type place struct {
	seq uint64 // 0 = it is an instant
	ms  int64  // epoch ms
}

// errPlace says what a place in the log is.
var errPlace = errors.New("is neither a sequence of the log, from 1 on, nor a time such as 2026-09-21T14:00:00Z")

// UnmarshalText reads a sequence or a time. A number of whatif.LeastTime and more is
// one of epoch milliseconds, as it is for every flag that is a time.
func (l *place) UnmarshalText(text []byte) (err error) {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err == nil && n > 0 && n < whatif.LeastTime {
		*l = place{seq: n}
		return nil
	}
	if l.ms, err = quota.ParseInstant(string(text)); err == nil {
		return nil
	}
	if n < whatif.LeastTime {
		err = errPlace
	}
	return fmt.Errorf("%q %w", text, err)
}

func (l place) String() string {
	if l.ms != 0 {
		return instantOf(l.ms)
	}
	return strconv.FormatUint(l.seq, 10)
}

// before reports whether another place is the earlier one, as far as that can be known
// without the log.
func (l place) before(other place) bool {
	return l.seq < other.seq && l.seq != 0 || l.ms < other.ms && l.ms != 0
}

// in returns the sequence of the message, of an instant that of the last one at or
// before it. It is an error when the log has neither: there is no state that could be
// looked at.
func (l place) in(ctx context.Context, log *replay.Options, flag string) (seq uint64, err error) {
	first, last, err := log.Log.Bounds(ctx)
	if err != nil {
		return 0, err
	}
	if seq = l.seq; l.ms != 0 {
		if seq, err = log.SeqAt(ctx, l.ms); err != nil {
			return 0, err
		}
	}
	switch {
	case l.ms != 0 && seq < first:
		err = fmt.Errorf("--%s %s is before the log begins, which is with message %d", flag, l, first)
	case seq > last:
		err = fmt.Errorf("--%s %s is behind the log, which ends with message %d", flag, l, last)
	}
	return seq, program.WithCode(err, program.Usage)
}

// directory is a flag that names one that is there. A misspelt one would else be an
// empty one: no snapshot would be looked at, and nobody told.
type directory string

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *directory) UnmarshalText(text []byte) error {
	if at, err := os.Stat(string(text)); err != nil || !at.IsDir() {
		return fmt.Errorf("there is no directory %s", text)
	}
	*d = directory(text)
	return nil
}
