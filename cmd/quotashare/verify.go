package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/livelog"
)

type verifyCmd struct {
	From      place `placeholder:"PLACE" help:"Derive what was answered from there on: from a message of that sequence, or at that time."`
	To        place `placeholder:"PLACE" help:"And up to there: a sequence of the log, or a time."`
	Most      int   `default:"50" placeholder:"N" help:"How many differences are listed (${default}); all are counted."`
	JSON      bool  `name:"json" help:"Print JSON: one line for each difference, and one for the result."`
	recording `embed:""`
}

// Help is what the command's help adds.
func (v *verifyCmd) Help() string { return auditCodes }

// Validate refuses, for kong, a range that ends before it begins, and less than none.
func (v *verifyCmd) Validate() error {
	if v.To.before(v.From) {
		return fmt.Errorf("--to %s is before --from %s: swap them, or leave one out", v.To, v.From)
	}
	if v.Most < 0 {
		return fmt.Errorf("--most is %d: use 0 or more", v.Most)
	}
	return nil
}

// errUnfounded is for an exit code that says that something is wrong.
var errUnfounded = errors.New("some answers do not follow from the log")

// errUnprovable is for an exit code that says that it is not known.
var errUnprovable = errors.New("nothing is proved: the log lacks messages that all of it depends on")

func (v *verifyCmd) run(ctx context.Context, p program.Process) error {
	return audited(v.verify(ctx, p))
}

func (v *verifyCmd) verify(ctx context.Context, p program.Process) error {
	log, err := v.open(ctx, "verify", p)
	if err != nil {
		return err
	}
	defer log.close()
	o := replay.VerifyOptions{Options: log.Options, From: v.From.seq, FromTime: v.From.ms, To: v.To.seq, ToTime: v.To.ms}
	if o.Rows, err = livelog.NATSRows(log.conn, program.Logger(p.Stderr, slog.LevelWarn)); err != nil {
		return err
	}
	out := differences{w: p.Stdout, left: v.Most, asJSON: v.JSON}
	o.Told = out.say
	began := time.Now()
	made, err := replay.Verify(ctx, o)
	if err != nil {
		return err
	}
	if err := out.result(made, time.Since(began)); err != nil {
		return err
	}
	switch {
	case made.Differs():
		return errUnfounded
	case !made.Proves():
		return v.older(errUnprovable)
	}
	v.hintOlder(p.Stderr, made.Rows.Unproved > 0)
	return nil
}
