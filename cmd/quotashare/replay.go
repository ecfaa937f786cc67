package main

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/replay"
)

type replayCmd struct {
	At        []place `placeholder:"PLACE" help:"Take a digest there: after the message of that sequence, or the last one at or before that time. Several may be given."`
	Every     uint64  `placeholder:"N" help:"Take a digest every so many messages."`
	Quick     bool    `help:"Begin with the newest snapshot, and look at older ones only when the engine differs."`
	Offline   bool    `help:"Do not ask the engine for its digest."`
	JSON      bool    `name:"json" help:"Print JSON in place of a table."`
	recording `embed:""`
}

// Help is what the command's help adds.
func (r *replayCmd) Help() string { return auditCodes }

// errDiverged and errSpoilt are for an exit code that says that something is wrong.
var (
	errDiverged = errors.New("the log folds to another state")
	errCut      = errors.New("the log ends before snapshots of it were taken: it has lost its end, or they are of another log")
	errSpoilt   = errors.New("a snapshot is damaged: an engine passes it over for an older one")
)

func (r *replayCmd) run(ctx context.Context, p program.Process) error {
	return audited(r.replay(ctx, p))
}

func (r *replayCmd) replay(ctx context.Context, p program.Process) (err error) {
	log, err := r.open(ctx, "replay", p)
	if err != nil {
		return err
	}
	defer log.close()
	o := replay.DigestOptions{Options: log.Options, Every: r.Every, Quick: r.Quick}
	for _, at := range r.At {
		seq, err := at.in(ctx, &log.Options, "at")
		if err != nil {
			return err
		}
		o.At = append(o.At, seq)
	}
	if !r.Offline && r.DataDir == "" {
		if o.Live, err = r.live(ctx); err != nil {
			return err
		}
	}
	began := time.Now()
	found, err := replay.TakeDigests(ctx, o)
	if err != nil {
		return err
	}
	say := sayDigests
	if r.JSON {
		say = digestsJSON
	}
	if err := say(p.Stdout, found, time.Since(began)); err != nil {
		return err
	}
	switch {
	case found.Diverged != nil:
		return errDiverged
	case found.Beyond > 0:
		return errCut
	case found.Damaged() > 0:
		return errSpoilt
	case !found.Proves():
		return r.older(errUnproved)
	}
	return nil
}

// errUnproved is for an exit code that says that it is not known.
var errUnproved = errors.New("nothing is proved: the log lacks messages, and no snapshot that it can be held to has them")

// live asks the engine for its digest.
func (r *replayCmd) live(ctx context.Context) (*replay.LiveDigest, error) {
	c, err := r.client()
	if err != nil {
		return nil, err
	}
	answer, err := c.state(ctx, 0, true)
	if err != nil {
		return nil, program.Hint(err, "with --offline the log is folded without asking an engine")
	}
	var doc struct {
		AppliedSeq uint64
		Digest     string
	}
	if err := readFields(answer, &doc); err != nil {
		return nil, err
	}
	l := &replay.LiveDigest{Seq: doc.AppliedSeq}
	if n, err := hex.Decode(l.Digest[:], []byte(doc.Digest)); err != nil || n != len(projector.Digest{}) {
		return nil, errors.New("the engine's digest cannot be read")
	}
	return l, nil
}
