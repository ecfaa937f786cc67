package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/replay"
)

type verifyCmd struct {
	From      string `placeholder:"PLACE" help:"Derive what was answered from there on: a sequence of the log, or a time."`
	To        string `placeholder:"PLACE" help:"And up to there: a sequence of the log, or a time."`
	Most      int    `default:"50" placeholder:"N" help:"How many differences are listed (${default}); all are counted."`
	JSON      bool   `name:"json" help:"Print JSON: one line for each difference, and one for the result."`
	recording `embed:""`
}

// errUnfounded is for an exit code that says that something is wrong.
var errUnfounded = errors.New("some answers do not follow from the log")

func (v *verifyCmd) run(ctx context.Context, p program.Process) error {
	log, err := v.open(ctx, "verify", p)
	if err != nil {
		return err
	}
	defer log.close()
	o := replay.VerifyOptions{Options: log.Options}
	if o.From, o.To, err = v.between(ctx, log.Log); err != nil {
		return err
	}
	if o.Rows, err = replay.NATSRows(log.conn, program.Logger(p.Stderr, slog.LevelWarn)); err != nil {
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
	if made.Differs() {
		return errUnfounded
	}
	return nil
}

// between reads the range. One from a time on begins with the first message after it.
func (v *verifyCmd) between(ctx context.Context, log replay.Log) (from, to uint64, err error) {
	if v.From != "" {
		isTime := false
		if from, isTime, err = placeIn(ctx, log, "from", v.From); err != nil {
			return 0, 0, err
		}
		if isTime {
			from++
		}
	}
	if v.To != "" {
		if to, _, err = placeIn(ctx, log, "to", v.To); err != nil {
			return 0, 0, err
		}
		if to == 0 {
			return 0, 0, errors.New("--to is before the log begins")
		}
	}
	return from, to, nil
}
