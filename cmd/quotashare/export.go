package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	ossignal "os/signal"
	"syscall"

	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/replay"
)

type exportCmd struct {
	From      place  `placeholder:"PLACE" help:"Where to begin: a sequence of the log, or a time (the begin of the log)."`
	To        place  `placeholder:"PLACE" help:"Where to end: a sequence of the log, or a time (the end of the log)."`
	Out       string `placeholder:"FILE" help:"Write to this file, in place of standard output."`
	recording `embed:""`
}

// Help is what the command's help adds.
func (c *exportCmd) Help() string { return exportHelp }

const exportHelp = `
Consumptions and adjustments, one JSON document per line, as import and simulate --history read them.
What engines left out, as it came again, is left out here, and what is no event.

Exit codes: 0 when all is written, or nobody reads on; 2 when the command line is wrong; 3 when it
could not be read or written.`

// Validate refuses, for kong, a range that ends before it begins.
func (c *exportCmd) Validate() error {
	if c.To.before(c.From) {
		return fmt.Errorf("--to %s is before --from %s: swap them, or leave one out", c.To, c.From)
	}
	return nil
}

func (c *exportCmd) run(ctx context.Context, p program.Process) error {
	// The signal of a pipe that nobody reads any more would end us before the log is
	// closed and what lies in --temp is gone.
	ossignal.Ignore(syscall.SIGPIPE)
	err := c.export(ctx, p)
	if errors.Is(err, syscall.EPIPE) {
		return nil // who reads has enough
	}
	return audited(err)
}

func (c *exportCmd) export(ctx context.Context, p program.Process) (err error) {
	log, err := c.open(ctx, "export", p)
	if err != nil {
		return err
	}
	defer log.close()
	from, to, err := c.bounds(ctx, &log.Options)
	if err != nil {
		return err
	}
	out := p.Stdout
	if c.Out != "" {
		file, failed := os.Create(c.Out)
		if failed != nil {
			return fmt.Errorf("--out: %w", failed)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	x := newUsageLines(out)
	missing, err := log.Each(ctx, from, to, x.message)
	// Also of an export that was interrupted all is there that was read, in whole lines.
	if err = errors.Join(err, x.flush()); err != nil {
		return err
	}
	x.leftOut(p.Stderr, missing)
	if c.Out != "" {
		fmt.Fprintf(p.Stdout, "%d events are in %s\n", x.written, c.Out)
	}
	return nil
}

// bounds returns the first and the last sequence of the range.
func (c *exportCmd) bounds(ctx context.Context, log *replay.Options) (from, to uint64, err error) {
	switch {
	case c.From.ms != 0:
		from, err = log.SeqAt(ctx, c.From.ms-1) // the last one before it
		from++
	case c.From.seq != 0:
		from, err = c.From.in(ctx, log, "from")
	default:
		from = 1
	}
	if err != nil || c.To == (place{}) {
		return from, math.MaxUint64, err
	}
	to, err = c.To.in(ctx, log, "to")
	return from, to, err
}

// leftOut says what is not there.
func (x *usageLines) leftOut(w io.Writer, missing replay.Missing) {
	if x.again > 0 {
		fmt.Fprintf(w, "left out: %d events that came again under their id\n", x.again)
	}
	if x.unread > 0 {
		fmt.Fprintf(w, "left out: %d that cannot be read: quotashare rejected says why\n", x.unread)
	}
	if missing.Count > 0 {
		fmt.Fprintf(w, "the log lacks %d of the messages %d to %d: they were purged, or deleted\n", missing.Count, missing.First, missing.Last)
	}
}
