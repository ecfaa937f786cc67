package decider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/giveway"
	"github.com/quotashare/quotashare/replay/livelog"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/retention"
)

// look says what there is to plan with.
func (k *retainer) look(ctx context.Context, p *projection) (have retention.Have, err error) {
	_, have.Now = p.state.At()
	have.Clock, have.Horizon = k.e.now(), projector.Horizon
	if have.Snapshots, have.Unusable, err = k.local(); err != nil {
		return have, err
	}
	shared, err := k.e.shared.kept(ctx)
	if err != nil {
		return have, fmt.Errorf("which snapshots the broker has: %w", err)
	}
	for _, h := range shared {
		have.Shared = append(have.Shared, retention.Snapshot{Seq: h.Seq, LogTime: h.LogTime})
	}
	settings := k.settings(p)
	if have.Log, err = k.lookAtLog(ctx, have.Now-settings.Purge); err == nil && retention.Ahead(have.Now, have.Clock) {
		have.Log.Ahead, err = k.firstAhead(ctx, have.Clock)
	}
	return have, err
}

// thin removes the snapshots that any plan would, between two plans: else those that are
// asked for would pile up for as long as log time stands still. A plan that is under way
// counts on what it found, and removes them itself.
func (k *retainer) thin(p *projection) {
	if !k.turn.TryLock() {
		return
	}
	defer k.turn.Unlock()
	list, _, err := k.local()
	for _, seq := range retention.Crowded(k.settings(p), list) {
		err = errors.Join(err, k.e.snapshots.dir.Remove(seq))
	}
	if err != nil {
		k.e.o.Log.Warn("snapshots that are not needed any more cannot be removed", "err", err)
	}
}

// local returns the snapshots of the directory from which this program could begin,
// and the sequences of the others. Each is read to its end once: a plan to delete
// messages counts on it.
func (k *retainer) local() (list []retention.Snapshot, unusable []uint64, err error) {
	from := k.e.snapshots
	if from.dir == nil {
		return nil, nil, nil
	}
	seqs, err := from.dir.List()
	if err != nil {
		return nil, nil, err
	}
	for _, seq := range seqs {
		h, err := from.dir.Header(seq)
		if err != nil || !projected.Fits(h) || from.refused.has(h) || !k.isWhole(h) {
			unusable = append(unusable, seq)
			continue
		}
		list = append(list, retention.Snapshot{Seq: seq, LogTime: h.LogTime})
	}
	return list, unusable, nil
}

func (k *retainer) isWhole(h snapshots.Header) bool {
	if k.whole[h.Seq] {
		return true
	}
	s, err := k.e.snapshots.dir.Newest(func(other snapshots.Header) bool { return other == h })
	if err != nil {
		return false // the directory has told of it
	}
	k.whole[h.Seq] = true
	return s.Close() == nil
}

// lookAtLog says what the log has, and where the first message stands that is not
// older than the instant. Where a clock was set back this is about so: the messages that
// were stored while it was ahead may be taken for as old as they are.
func (k *retainer) lookAtLog(ctx context.Context, cutoff int64) (x retention.Log, err error) {
	stream, err := k.e.js.Stream(ctx, events.Stream)
	if err != nil {
		return x, unreadable(err)
	}
	info := stream.CachedInfo()
	x.First, x.Last = max(info.State.FirstSeq, 1), info.State.LastSeq
	log, err := livelog.NATSLog(livelog.NATSOptions{Conn: k.e.o.Conn, Log: k.e.o.Log})
	if err != nil {
		return x, err
	}
	older, err := log.SeqAt(ctx, cutoff-1)
	x.Young = older + 1
	return x, err
}

// firstAhead finds the message that brought a log time which is ahead of the clock.
func (k *retainer) firstAhead(ctx context.Context, clock int64) (uint64, error) {
	log, err := livelog.NATSLog(livelog.NATSOptions{Conn: k.e.o.Conn, PurgeAge: k.e.o.PurgeAge, Gentle: true, Log: k.e.o.Log})
	if err != nil {
		return 0, err
	}
	o := replay.Options{Log: log, Pause: giveway.Pause(k.e.audits.busy)}
	if dir := k.e.snapshots.dir; dir != nil {
		o.Start = starts.Local{Dir: dir}
	}
	timely, err := o.SeqAt(ctx, clock+retention.MostAhead)
	return timely + 1, err
}

// purge deletes the usage, signals and holds of the log below a sequence, if this
// process may. What of it is in the state must last first: a store that lost its newest
// commits with the power would have nothing to fold on from.
func (k *retainer) purge(ctx context.Context, p *projection, below uint64) error {
	if err := k.e.shared.mayPurge(ctx); err != nil {
		return err
	}
	if err := p.loop.Do(ctx, p.store.Sync); err != nil {
		return err
	}
	stream, err := k.e.js.Stream(ctx, events.Stream)
	if err != nil {
		return err
	}
	for _, subject := range events.StreamSubjects() {
		if strings.HasPrefix(subject, events.ConfigPrefix) {
			continue // for ever
		}
		k.e.step("retention: purge " + subject)
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(below)); err != nil {
			return err
		}
	}
	k.figures.purged.Store(below)
	return nil
}

// lift takes away the age limit of the log that earlier versions set. The error says
// what one costs that is left; that a log cannot be read, who plans will notice.
func (k *retainer) lift(ctx context.Context) error {
	left, err := ingest.LiftMaxAge(ctx, k.e.js)
	if left == 0 && err != nil {
		return nil
	}
	was := k.figures.maxAge.Swap(int64(left))
	if left == 0 {
		return nil
	}
	err = errors.Join(err, fmt.Errorf("max age: the log has one of %s: %s", left, ingest.CostOfMaxAge))
	if was != int64(left) && ctx.Err() == nil {
		k.e.o.Log.Warn("the log has an age limit", "err", err)
	}
	return err
}

// drops says what else of the log goes by itself. That it cannot be read, who plans will
// notice; that it is not as we make it, was said when the streams were looked at.
func (k *retainer) drops(ctx context.Context) error {
	stream, err := k.e.js.Stream(ctx, events.Stream)
	if err != nil {
		return nil
	}
	if why := ingest.DropsOldest(stream.CachedInfo().Config); why != "" {
		return errors.New(why)
	}
	return nil
}

// does reports whether this program may believe that it does the shared work.
func (s *sharedWork) does() bool { return s != nil && s.lease.Held() }
