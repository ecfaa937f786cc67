package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/quotashare/quotashare/events"
)

// maxMessage is how many bytes of events share a message, if the log takes as many: half
// of the broker's usual max_payload. One event alone may be larger, up to what it takes.
const maxMessage = 512 << 10

// result is what became of one event.
type result struct {
	id      string // "" = it has none, and was refused
	receipt Receipt
	fault   *fault // nil = it is durable, where receipt says
}

// sink takes results in the order of the events.
type sink interface{ put(results []result) }

// publication publishes the events of one request. Neighbours with the same
// subject share a message, so the log has all events in the order of the body:
// what a reading is worth depends on the usage before it. Grouping all of a
// subject would make fewer messages of a mixed body, and another order.
type publication struct {
	ctx  context.Context
	api  *api
	sink sink

	subject  string
	message  []byte   // of the pending events, a JSON array without its end
	pending  []result // not yet put; those without fault are in message
	inside   int      // events in message
	most     int      // bytes of a message
	accepted int
	rejected int
	tries    int // more of a message, while too much waits for the log
	// down is why the log did not take a message. Until the caller clears it no
	// other is tried: each try would take the whole time-out.
	down *fault
}

func newPublication(ctx context.Context, a *api, s sink) *publication {
	return &publication{ctx: ctx, api: a, sink: s}
}

// add publishes an event with those that come next, or refuses it with f.
func (p *publication) add(e *events.Event, id string, f *fault) {
	if f != nil || p.down != nil {
		p.refuse(id, f)
		return
	}
	if e.ID == "" {
		// Given before the first try, so that a broker that stores a retried message
		// twice is found out by the fold.
		e.ID = rand.Text()
	}
	if subject := e.Kind.Subject(""); subject != p.subject {
		p.flush()
		p.subject = subject
	}
	before := len(p.message)
	p.message = events.AppendJSON(append(p.message, separator(p.inside)), e)
	if p.inside > 0 && len(p.message)+len("]") > p.most {
		own := append([]byte{'['}, p.message[before+1:]...)
		p.message = p.message[:before]
		p.flush()
		p.message = own
	}
	if p.inside == 0 {
		p.most = min(maxMessage, p.api.publisher.Room())
	}
	p.pending = append(p.pending, result{id: e.ID})
	if p.inside++; p.inside == events.MaxEvents {
		p.flush()
	}
}

func separator(inside int) byte {
	if inside == 0 {
		return '['
	}
	return ','
}

// refuse gives the event the result f, or the fault that keeps the log from
// taking anything.
func (p *publication) refuse(id string, f *fault) {
	if f == nil {
		f = p.down
	}
	p.rejected++
	p.pending = append(p.pending, result{id: id, fault: f})
	if len(p.pending) >= events.MaxEvents {
		p.flush()
	}
}

// flush publishes the message and puts the results of all events so far.
func (p *publication) flush() {
	if p.inside > 0 {
		p.settle(p.publish())
	}
	p.message, p.inside = p.message[:0], 0
	if len(p.pending) > 0 {
		p.sink.put(p.pending)
		p.pending = p.pending[:0]
	}
}

func (p *publication) publish() (Receipt, *fault) {
	p.message = append(p.message, ']')
	receipt, err := p.tryPublish()
	if err == nil {
		return receipt, nil
	}
	f := faultOf(err)
	if f == nil {
		p.api.log.Error("events were not published", "subject", p.subject, "events", p.inside, "err", err)
		f = internal()
	}
	if f.retry || f.status >= http.StatusInternalServerError {
		p.down = f
	}
	return Receipt{}, f
}

func (p *publication) tryPublish() (receipt Receipt, err error) {
	for n := 0; ; n++ {
		receipt, err = p.api.publisher.Publish(p.ctx, p.subject, p.message, p.inside)
		if !errors.Is(err, ErrBusy) || n >= p.tries || !p.pause() {
			return receipt, err
		}
	}
}

// pause waits until it is time to try again, and reports whether that makes sense.
func (p *publication) pause() bool {
	select {
	case <-p.ctx.Done():
		return false
	case <-time.After(p.api.tryAgain):
		return !p.api.streams.isStopping()
	}
}

// settle gives all events of the message the same result.
func (p *publication) settle(at Receipt, f *fault) {
	for i := range p.pending {
		if r := &p.pending[i]; r.fault == nil {
			r.receipt, r.fault = at, f
		}
	}
	if f == nil {
		p.accepted += p.inside
	} else {
		p.rejected += p.inside
	}
}
