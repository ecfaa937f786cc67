package replay

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// Options say what is replayed, and with what.
type Options struct {
	Log Log
	// Start has the snapshots to begin with; nil = from the first message.
	Start Start
	// Store makes an empty store, which the player closes: memstore.New for short
	// logs, pebblestore.Temporary for any.
	Store func() (projector.Store, error)
	// End is the last sequence to read; 0 = the last one that the log has when the
	// player is opened.
	End uint64
	// Pause, when set, is called before each run of at most
	// projector.MaxRunItems events or one message; it may wait, so that others
	// have the machine. Its error ends the call under way.
	Pause func(ctx context.Context) error
	// Progress, when set, is told the sequence folded last, after each run.
	Progress func(seq uint64)
}

// Missing are the sequences that the log did not have where a player looked for
// them. They were purged, deleted, or had a Nats-TTL; of the latter nothing is
// folded anyway.
type Missing struct {
	Count       uint64
	First, Last uint64 // of them; 0 = none
}

// Player is one state that is moved forward through the log.
type Player struct {
	o     Options
	store projector.Store
	state *projector.State
	stop  func()
	began projector.Position
	in    reading
	run   projector.Run
	uncut int // messages folded since the last cut
	marks []mark
	verdicts
}

// Open returns a player that stands at the newest snapshot which is of no later
// message than notAfter and of this log, or before the first message. A snapshot
// that is not of this log, or cannot be read, is passed over for an older one.
func Open(ctx context.Context, o Options, notAfter uint64) (*Player, error) {
	_, last, err := o.Log.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	if o.End != 0 {
		last = min(o.End, last)
	}
	p := &Player{o: o}
	for {
		from, err := p.snapshot(ctx, notAfter)
		if err != nil {
			return nil, err
		}
		err = p.begin(ctx, from, last)
		if err == nil {
			return p, nil
		}
		err = errors.Join(err, p.Close())
		if from == nil || !unfit(err) {
			return nil, err
		}
		notAfter = from.Header().Seq - 1
	}
}

// unfit reports whether another snapshot may do.
func unfit(err error) bool {
	for _, target := range []error{
		projector.ErrLogChanged, projector.ErrCorrupt, projector.ErrVersion, snapshots.ErrDamaged, snapshots.ErrFormat,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// snapshot returns nil when there is none.
func (p *Player) snapshot(ctx context.Context, notAfter uint64) (*snapdir.Snapshot, error) {
	if p.o.Start == nil || notAfter == 0 {
		return nil, nil
	}
	s, err := p.o.Start.Newest(ctx, notAfter)
	if errors.Is(err, snapdir.ErrNone) {
		return nil, nil
	}
	return s, err
}

// begin makes the state, and reads first what comes after it: only then it is
// known whether the log goes on where the snapshot was taken.
func (p *Player) begin(ctx context.Context, from *snapdir.Snapshot, end uint64) (err error) {
	if from != nil {
		defer func() { err = errors.Join(err, from.Close()) }()
	}
	if p.store, err = p.o.Store(); err != nil {
		return err
	}
	if from != nil {
		if err := projected.Restore(ctx, p.store, from); err != nil {
			return fmt.Errorf("replay: snapshot %d: %w", from.Header().Seq, err)
		}
	}
	if p.state, err = projector.Load(p.store); err != nil {
		return err
	}
	p.began = p.state.Position()
	if p.began.Seq != 0 {
		p.mark()
	}
	p.in = reading{end: end, read: p.began.Seq, passed: p.began.Seq}
	if p.in.source, p.stop, err = p.o.Log.Source(ctx, p.began); err != nil {
		return err
	}
	p.verdicts.of(p.state)
	_, err = p.Peek(ctx)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// Began returns the position of the snapshot that the player began with, zero
// when it began with the first message.
func (p *Player) Began() projector.Position { return p.began }

// End returns the last sequence that the player reads.
func (p *Player) End() uint64 { return p.in.end }

// State returns the state as it is now. The next call that folds changes it.
func (p *Player) State() *projector.State { return p.state }

// Missing returns what was not there to be folded since Began.
func (p *Player) Missing() Missing { return p.in.missing }

// Digest returns the digest of the state as it is now.
func (p *Player) Digest() (projector.Digest, error) {
	if err := p.flush(); err != nil {
		return projector.Digest{}, err
	}
	return p.state.Digest()
}

// Close ends the reading and closes the store.
func (p *Player) Close() (err error) {
	if p.stop != nil {
		p.stop()
	}
	if p.store != nil {
		err = p.store.Close()
	}
	p.stop, p.store = nil, nil
	return err
}
