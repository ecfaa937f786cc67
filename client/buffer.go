package client

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"

	"github.com/quotashare/quotashare/events"
)

// Errors of Publish.
var (
	// ErrFull is an event that was not taken because too many wait for the log.
	ErrFull = errors.New("the buffer of events is full: the log takes none, or not as fast as they come")
	// ErrClosed is an event after Close.
	ErrClosed = errors.New("the client is closed")
)

const (
	// numKinds are the kinds a client publishes: the first ones of package events.
	numKinds = int(events.Release) + 1
	// eachCosts is what an event takes beside its bytes.
	eachCosts = 64
)

// buffer holds the events that the log does not have yet, those that are on their
// way too. There is one queue for each kind, because a message is of one kind and
// gateways publish kinds by turns: in one queue every message would be of one event,
// with an acknowledgement for each. So the order is that of Publish within a kind;
// between kinds, whose event is the oldest comes first.
//
// When there is no room the newest is refused. The oldest could make room for it as
// well, but has been accepted, and may be under way or even stored; who publishes the
// newest still has it, and learns what becomes of it.
type buffer struct {
	mostEvents, mostBytes int
	log                   *slog.Logger
	bell                  chan struct{}

	mu      sync.Mutex
	queues  [numKinds][]waiting
	flight  flight
	last    uint64 // place of the newest event
	events  int
	bytes   int
	ended   bool
	refused uint64                   // since the buffer was full, and that was said; 0 = it has room
	flushes map[chan struct{}]uint64 // the newest event that each waits for
	total   Stats                    // those of events
}

// waiting is an event that the log does not have.
type waiting struct {
	place uint64 // in the order of Publish
	body  []byte
}

// flight is the message that is under way.
type flight struct {
	kind events.Kind
	list []waiting
}

func newBuffer(mostEvents, mostBytes int, log *slog.Logger) *buffer {
	return &buffer{mostEvents: mostEvents, mostBytes: mostBytes, log: log, bell: make(chan struct{}, 1), flushes: map[chan struct{}]uint64{}}
}

func (b *buffer) ring() {
	select {
	case b.bell <- struct{}{}:
	default:
	}
}

// put takes an event, or says why not.
func (b *buffer) put(k events.Kind, body []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	cost := len(body) + eachCosts
	switch {
	case b.ended:
		return ErrClosed
	case b.events == b.mostEvents || b.bytes+cost > b.mostBytes:
		b.refuse()
		return ErrFull
	}
	b.last++
	b.queues[k] = append(b.queues[k], waiting{b.last, body})
	b.events++
	b.bytes += cost
	b.total.Published++
	b.ring()
	return nil
}

// refuse counts an event that has no room, and says so once.
func (b *buffer) refuse() {
	b.total.Full++
	b.refused++
	if b.refused == 1 {
		b.log.Error("the buffer of events is full; refusing new ones", "events", b.events, "bytes", b.bytes)
	}
}

// take makes the next message: of the kind whose event waits the longest, as many as
// fit. It returns false when there is nothing, and then whether nothing comes.
func (b *buffer) take(room int) (more, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k, first := 0, uint64(math.MaxUint64)
	for i := range b.queues {
		if q := b.queues[i]; len(q) > 0 && q[0].place < first {
			k, first = i, q[0].place
		}
	}
	n := fitting(b.queues[k], room)
	b.flight.kind = events.Kind(k)
	b.flight.list = append(b.flight.list[:0], b.queues[k][:n]...)
	b.queues[k] = shift(b.queues[k], n)
	return n > 0, b.ended
}

// fitting returns how many go into an array of that many bytes: at least one, which
// the log may find too large by itself.
func fitting(q []waiting, room int) int {
	room -= len("[") // each has a comma behind it, the last one the ]
	for n := range q {
		room -= len(q[n].body) + len(",")
		if n > 0 && (room < 0 || n == events.MaxEvents) {
			return n
		}
	}
	return len(q)
}

// shift takes the first n away, and keeps nothing of them.
func shift(list []waiting, n int) []waiting {
	left := copy(list, list[n:])
	clear(list[left:])
	return list[:left]
}

// stored is for a message that the log has.
func (b *buffer) stored() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total.Messages++
	b.landed(&b.total.Stored)
}

// spooled is for a message that is on disk, from where it comes into the log later.
func (b *buffer) spooled() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.landed(&b.total.Spooled)
}

// tooLarge is for an event that the log takes in no message.
func (b *buffer) tooLarge() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.landed(&b.total.TooLarge)
}

// retried is for a message that is tried again.
func (b *buffer) retried() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total.Retries++
}

// landed takes the message out of the buffer; count is what becomes of its events.
func (b *buffer) landed(count *uint64) {
	*count += uint64(len(b.flight.list))
	for _, w := range b.flight.list {
		b.events--
		b.bytes -= len(w.body) + eachCosts
	}
	clear(b.flight.list)
	b.flight.list = b.flight.list[:0]
	b.wake()
	if b.refused > 0 && b.events < b.mostEvents/2 && b.bytes < b.mostBytes/2 {
		b.log.Info("the buffer of events has room again", "refused", b.refused)
		b.refused = 0
	}
}

// halve puts the second half of a message back, to the head of its queue.
func (b *buffer) halve() {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, k := &b.flight, b.flight.kind
	half := len(f.list) / 2
	b.queues[k] = append(append(make([]waiting, 0, len(f.list)-half+len(b.queues[k])), f.list[half:]...), b.queues[k]...)
	clear(f.list[half:])
	f.list = f.list[:half]
}

// oldest returns the place of the oldest event that the log does not have.
func (b *buffer) oldest() uint64 {
	first := uint64(math.MaxUint64)
	for _, q := range b.queues {
		if len(q) > 0 {
			first = min(first, q[0].place)
		}
	}
	if len(b.flight.list) > 0 {
		first = min(first, b.flight.list[0].place)
	}
	return first
}

// wake ends the flushes that have nothing to wait for.
func (b *buffer) wake() {
	oldest := b.oldest()
	for done, last := range b.flushes {
		if last < oldest {
			close(done)
			delete(b.flushes, done)
		}
	}
}

// flush waits until the log has what there is now.
func (b *buffer) flush(ctx context.Context) error {
	done := make(chan struct{})
	b.mu.Lock()
	b.flushes[done] = b.last
	b.wake()
	b.mu.Unlock()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.flushes, done)
	if err == nil && b.total.Lost > 0 {
		err = ErrClosed
	}
	return err
}

// close lets nothing more in.
func (b *buffer) close() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.ring()
}

// abandon gives up what there still is: nil when that is nothing.
func (b *buffer) abandon(cause error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queues[b.flight.kind] = append(b.queues[b.flight.kind], b.flight.list...)
	b.flight.list = nil
	lost := &LostError{
		Consumptions: len(b.queues[events.Consumption]), Saturations: len(b.queues[events.Saturation]),
		Adjustments: len(b.queues[events.Adjustment]), Releases: len(b.queues[events.Release]), Cause: cause,
	}
	b.total.Lost += uint64(b.events)
	none := b.events == 0
	b.events, b.bytes, b.queues = 0, 0, [numKinds][]waiting{}
	b.wake()
	if none {
		return nil
	}
	b.log.Error("closed before the log had everything; events are lost", "err", lost)
	return lost
}

func (b *buffer) fill(s *Stats) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.total
	s.Published, s.Stored, s.Spooled, s.TooLarge, s.Lost, s.Full = t.Published, t.Stored, t.Spooled, t.TooLarge, t.Lost, t.Full
	s.Messages, s.Retries = t.Messages, t.Retries
	s.Waiting, s.WaitingBytes = b.events, b.bytes
}
