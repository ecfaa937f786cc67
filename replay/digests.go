package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/snapshots"
)

// Whose a digest is that one of the log is held to.
const (
	OfLive     = "live"     // an engine that runs
	OfSnapshot = "snapshot" // the header of a snapshot
)

// DigestOptions say at which points of the log digests are taken.
type DigestOptions struct {
	Options          // End is the last point
	At      []uint64 // sequences that the log has or had, in any order
	Every   uint64   // a point each so many sequences; 0 = none
	// Live is what an engine says of itself; nil = it is not asked.
	Live *LiveDigest
	// Quick begins with the newest snapshot and holds nothing but Live to the log,
	// unless that differs. Otherwise the whole log is folded and every snapshot held
	// to it.
	Quick bool
}

// LiveDigest is the digest that an engine has of its state after a message.
type LiveDigest struct {
	Seq    uint64
	Digest projector.Digest
}

// Point is a digest of the state that the log folds to.
type Point struct {
	Seq     uint64
	LogTime int64 // epoch ms
	Digest  projector.Digest
	Of      string           // whose digest it is held to: OfLive, OfSnapshot, "" = nobody's
	Want    projector.Digest // that one
	Missing Missing          // what the log had not; then another digest proves nothing
	Damage  error            // of the snapshot's file, which then proves nothing either
}

// Differs reports whether it was held to a digest, and is another one.
func (p *Point) Differs() bool { return p.Of != "" && p.Damage == nil && p.Want != p.Digest }

// Proved reports whether nothing was missing, so that the law holds.
func (p *Point) Proved() bool { return p.Missing == Missing{} }

// Unknown reports whether it was held to a digest, is another one, and that proves
// nothing.
func (p *Point) Unknown() bool { return p.Differs() && !p.Proved() }

// Divergence is where the state of an engine first was not that of the log.
type Divergence struct {
	// From and To are the first and the last sequence of the messages between the
	// last digest that was equal and the first that was not. Before From both are the
	// same.
	From, To uint64
	Of       string // whose digest it was
	// Believed says that nobody knows whether all was equal before From: the fold began
	// there with a snapshot of what the log does not have any more.
	Believed bool
	// Parts are in what the snapshot differs from what was folded here. A live engine
	// tells a digest and no more: then there are none.
	Parts []PartDifference
}

// Digests is what a replay found.
type Digests struct {
	Began    uint64  // sequence of the snapshot that it began with; 0 = with the first message
	Points   []Point // in the order of the log
	Messages uint64  // folded for them
	Diverged *Divergence
	// Unread are the snapshots that are listed and could not be held to the log.
	Unread []Unread
	// Beyond is the highest sequence of a snapshot of which the log has not the message,
	// because it ends before: it has lost its end, or is another one. 0 = none.
	Beyond uint64
}

// Unread is a snapshot that could not be held to the log.
type Unread struct {
	Seq uint64
	Why error
}

// errNotBegun is why a snapshot is of no use that may be whole.
var errNotBegun = errors.New("nothing can be folded from it: the log has another message there, or it is of other rules")

// Damaged counts the snapshots that are not whole.
func (d *Digests) Damaged() (n int) {
	for i := range d.Points {
		if d.Points[i].Damage != nil {
			n++
		}
	}
	return n
}

// Proves reports whether anything was found out: with an engine that was asked, whether
// it is equal; else whether any snapshot is; and where nothing was held to the log,
// whether the digests are of all of it.
func (d *Digests) Proves() bool {
	held, known, lacking := false, false, false
	for i := range d.Points {
		switch p := &d.Points[i]; {
		case p.Damage != nil:
		case p.Of == "":
			lacking = lacking || !p.Proved()
		case p.Of == OfLive && p.Unknown():
			return false
		default:
			held, known = true, known || !p.Unknown()
		}
	}
	return known || !held && !lacking
}

// TakeDigests folds the log and takes digests of the state. What others say of the
// same points is held to them, and of the first that differs it is found out where and
// in what.
//
// All snapshots are passed by one fold, so that the first which differs is known when
// it is reached, and the last which was equal before it. To halve the snapshots again
// and again would fold as many messages: each trial has to begin with the last good
// one. Halving is for a quick replay, which has begun behind most of them.
func TakeDigests(ctx context.Context, o DigestOptions) (*Digests, error) {
	t := &taker{o: o, made: new(Digests)}
	t.snapshots, _ = o.Start.(Snapshots)
	err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	t.made.Began = t.p.Began().Seq
	t.good = t.made.Began
	err = t.take(ctx)
	if err == nil && t.made.Diverged != nil && o.Quick {
		err = t.bisect(ctx)
	}
	t.made.Messages += messages(t.p) - t.before
	return t.made, errors.Join(err, t.p.Close())
}

// taker takes digests.
type taker struct {
	o         DigestOptions
	snapshots Snapshots           // nil = none are listed
	headers   []snapshots.Header  // the oldest first
	damaged   []snapshots.Damaged // those without a header
	p         *Player
	before    uint64 // messages that it began with
	made      *Digests
	good      uint64 // the newest point at which all was equal, or was believed to be
	believed  uint64 // the newest snapshot that was begun with unproved; 0 = none
}

// list asks which snapshots there are.
func (t *taker) list(ctx context.Context) (err error) {
	if t.snapshots != nil {
		t.headers, t.damaged, err = t.snapshots.Headers(ctx)
	}
	return err
}

// open begins with the first message, or with the newest snapshot.
func (t *taker) open(ctx context.Context) (err error) {
	notAfter := uint64(0)
	if err := t.beyond(ctx); err != nil {
		return err
	}
	if n := len(t.headers); t.o.Quick && n > 0 {
		notAfter = t.headers[n-1].Seq
		if t.o.Live != nil {
			notAfter = min(notAfter, t.o.Live.Seq)
		}
	}
	if t.p, err = Open(ctx, t.o.Options, notAfter); err == nil {
		t.before = messages(t.p)
	}
	return err
}

// beyond notes the snapshots of messages that the log has not. They were listed before it
// is asked where it ends, so that it has those of an engine that runs.
func (t *taker) beyond(ctx context.Context) error {
	_, last, err := t.o.Log.Bounds(ctx)
	for i := range t.headers {
		if seq := t.headers[i].Seq; seq > last {
			t.made.Beyond = seq
			t.made.Unread = append(t.made.Unread, Unread{seq, fmt.Errorf("the log ends with message %d", last)})
		}
	}
	return err
}

// messages is how many the state was folded of.
func messages(p *Player) uint64 { return p.State().Counts().Messages }

// points are all of them in order, each with whom it is held to.
func (t *taker) points() (list []Point) {
	end := t.p.End()
	for _, seq := range t.o.At {
		list = append(list, Point{Seq: seq})
	}
	for seq := t.o.Every; t.o.Every != 0 && seq < end; seq += t.o.Every {
		list = append(list, Point{Seq: seq})
	}
	if l := t.o.Live; l != nil {
		list = append(list, Point{Seq: l.Seq, Of: OfLive, Want: l.Digest})
	}
	if t.o.Every != 0 || t.o.Live == nil && len(t.o.At) == 0 {
		list = append(list, Point{Seq: end})
	}
	for _, p := range t.ofSnapshots() {
		if p.Seq <= end {
			list = append(list, p)
		} else if p.Damage != nil {
			t.made.Unread = append(t.made.Unread, Unread{p.Seq, p.Damage})
		}
	}
	slices.SortStableFunc(list, func(a, b Point) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(b.Of, a.Of)) })
	// One that is held to nobody's digest says nothing beside another one.
	return slices.CompactFunc(list, func(a, b Point) bool { return a.Seq == b.Seq && (a.Of == "" || b.Of == "") })
}

// ofSnapshots are the points of the snapshots. A quick replay looks at none.
func (t *taker) ofSnapshots() (list []Point) {
	if t.o.Quick {
		return nil
	}
	for i := range t.headers {
		list = append(list, Point{Seq: t.headers[i].Seq, Of: OfSnapshot, Want: t.headers[i].Digest})
	}
	for _, d := range t.damaged {
		list = append(list, Point{Seq: d.Seq, Of: OfSnapshot, Damage: d.Err})
	}
	return list
}

// take moves from point to point.
func (t *taker) take(ctx context.Context) error {
	for _, p := range t.points() {
		if p.Seq < t.p.Began().Seq {
			continue
		}
		if err := t.p.To(ctx, p.Seq); err != nil {
			return err
		}
		if err := t.look(ctx, &p); err != nil {
			return err
		}
		// What was folded is judged before another state takes over: a snapshot is
		// always equal to itself.
		var err error
		if p.Digest, err = t.p.Digest(); err != nil {
			return err
		}
		_, p.LogTime = t.p.State().At()
		p.Missing = t.p.Missing()
		t.made.Points = append(t.made.Points, p)
		if err := t.judge(ctx, &p); err != nil {
			return err
		}
		if err := t.rebase(ctx, &p); err != nil {
			return err
		}
	}
	return nil
}

// look reads a snapshot to its last byte: the header, which has the digest, has a
// checksum of its own and may be whole where the rest is not.
func (t *taker) look(ctx context.Context, p *Point) error {
	if p.Of != OfSnapshot || p.Damage != nil {
		return nil
	}
	err := t.snapshots.Check(ctx, p.Seq)
	if err != nil && unfit(err) {
		p.Damage, err = err, nil
	}
	return err
}

// judge notes what a point says of where both were the same.
func (t *taker) judge(ctx context.Context, p *Point) (err error) {
	switch {
	case p.Of == "" || p.Damage != nil || t.made.Diverged != nil || p.Unknown():
	case !p.Differs():
		t.good = p.Seq // also where messages are missing: then nothing was in them that counts
	default:
		t.made.Diverged = &Divergence{From: t.good + 1, To: p.Seq, Of: p.Of, Believed: t.believed != 0 && t.believed == t.good}
		if p.Of == OfSnapshot {
			t.made.Diverged.Parts, err = t.compare(ctx, t.p, p.Seq)
		}
	}
	return err
}

// rebase begins anew with the snapshot at a point that the log no longer has all
// messages before. The snapshot is believed: from it on the law holds again.
func (t *taker) rebase(ctx context.Context, p *Point) error {
	if p.Of != OfSnapshot || p.Damage != nil || t.p.Missing().Count == 0 {
		return nil
	}
	next, err := t.restored(ctx, p.Seq)
	if err != nil || next == nil {
		return err
	}
	t.made.Messages += messages(t.p) - t.before
	err = t.p.Close()
	if p.Unknown() {
		t.believed = p.Seq
	}
	t.p, t.before, t.good = next, messages(next), p.Seq
	t.made.Began = p.Seq
	return err
}

// restored returns a player that begins with the snapshot of that sequence, nil when
// it is of no use.
func (t *taker) restored(ctx context.Context, seq uint64) (*Player, error) {
	p, err := Open(ctx, t.o.Options, seq)
	if err != nil || p.Began().Seq == seq {
		return p, err
	}
	t.made.Unread = append(t.made.Unread, Unread{seq, errNotBegun})
	return nil, p.Close()
}

// compare says in what the snapshot of that sequence is not what the player has.
func (t *taker) compare(ctx context.Context, p *Player, seq uint64) (list []PartDifference, err error) {
	q, err := t.restored(ctx, seq)
	if err != nil || q == nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	if list, err = Compare(p.State(), q.State()); err != nil {
		return nil, fmt.Errorf("replay: snapshot %d: %w", seq, err)
	}
	return list, nil
}
