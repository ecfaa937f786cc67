package client

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/quotashare/quotashare/events"
)

// Client speaks to the engine. Its methods are safe for concurrent use.
type Client struct {
	o      Options
	to     transport
	ids    *ids
	said   *said
	counts counts
	calls  calls
	bad    atomic.Uint64 // events that were malformed
	buffer *buffer
	disk   *disk // nil = none
	end    *ending
}

// New returns a client, whether the broker answers or not: it connects when it can,
// and until then questions are answered as Options.FailClosed says and events wait.
// The error is of the options, all that is wrong with them.
func New(o Options) (*Client, error) {
	o, err := o.prepare()
	if err != nil {
		return nil, err
	}
	to, err := newOverNATS(&o)
	if err != nil {
		return nil, err
	}
	var d *disk
	if o.SpoolDir != "" {
		if d, err = openDisk(o.SpoolDir, to, o.Logger); err != nil {
			to.close()
			return nil, err
		}
	}
	return begin(o, to, d), nil
}

// begin makes the client that speaks over a transport, and keeps events on a disk where
// there is one.
func begin(o Options, to transport, d *disk) *Client {
	c := &Client{o: o, to: to, ids: newIDs(), said: newSaid(o.Logger), disk: d}
	c.buffer = newBuffer(o.MaxEvents, o.MaxBytes, o.Logger)
	c.end = start(&writer{buffer: c.buffer, to: to, disk: d, ids: c.ids, log: o.Logger})
	return c
}

// Publish takes the event to bring it into the log, and returns at once. An event
// that was taken is in the log once, unless Close says that it is lost: it is sent
// again until it is acknowledged, under the id that it has from now on. With
// Options.SpoolDir it is on disk in a moment when the log is away.
//
// The error says that it was not taken: an *events.Rejection that names the field
// when it is no such event, else ErrFull or ErrClosed.
func (c *Client) Publish(e Event) error {
	kind, body, err := c.write(e)
	if err != nil {
		c.bad.Add(1)
		return err
	}
	return c.buffer.put(kind, body)
}

// write gives an event what it lacks and returns its bytes.
func (c *Client) write(e Event) (events.Kind, []byte, error) {
	if e == nil {
		return 0, nil, refuse("event is missing")
	}
	form, err := e.form()
	if err != nil {
		return 0, nil, err
	}
	if form.ID == "" {
		form.ID = c.ids.next("e")
	}
	if form.Time == 0 {
		form.Time = time.Now().UnixMilli()
	}
	body, err := encode(&form)
	return form.Kind, body, err
}

// Settle ends a hold with what its request has cost. It is Publish of
// Hold.Consumption, to which one may add provider and more.
func (c *Client) Settle(h Hold, cost Amounts) error { return c.Publish(h.Consumption(cost)) }

// Release ends a hold whose request was never made. It needs key and request alone.
//
// The hold of a question that had no answer, or one without a verdict, may be in the log
// later than this, where a release would find nothing to end. It is settled with nothing instead, which the
// engine remembers for an hour. Not so when the request had a name from its caller, who
// may ask for it again: then the hold stands until its lease ends.
func (c *Client) Release(h Hold) error {
	switch h.unanswered {
	case mayCome:
		return c.Publish(h.nothing())
	case neverSent:
		return nil
	}
	return c.Publish(release{h.APIKeyID, h.RequestID})
}

// Renew begins the lease of a hold anew, for a call that lasts longer.
//
// It is a part of a consumption, of nothing. Asking again with Reserve under the same
// name renews as well, but is judged anew: a pool that has become full would block
// it, and a block ends the hold, of a call that is under way and goes on using what
// no other then knows of. It would also hold the whole estimate again, what was
// published in parts included. That is how to move a call to another connection.
func (c *Client) Renew(h Hold) error {
	nothing := h.nothing()
	nothing.Partial = true
	return c.Publish(nothing)
}

// Flush waits until the log, or the disk with Options.SpoolDir, has what was published
// before the call, or ctx ends; then its error is that of ctx, or ErrClosed when Close has
// lost events. Those that are too large are not waited for.
func (c *Client) Flush(ctx context.Context) error { return c.buffer.flush(ctx) }

// Close takes no more events, waits until the log or the disk has those that were
// published, and ends everything that the client has begun. What is on disk comes into the
// log when a client is made with the same Options.SpoolDir. When ctx ends before, what is not known
// to be in the log is lost, and the error is a *LostError; so give ctx an end. A
// decision that is asked for afterwards is one without an answer.
func (c *Client) Close(ctx context.Context) error {
	err := errors.Join(c.end.wait(ctx), c.disk.close())
	c.to.close()
	return err
}

// Connected reports whether there is a connection to the broker now. That an engine
// listens there only a question tells.
func (c *Client) Connected() bool { return c.to.connected() }

// FailClosed reports whether a question without an answer is a block.
func (c *Client) FailClosed() bool { return c.o.FailClosed }

// Stats returns the counters. Those of events are of one instant and add up.
func (c *Client) Stats() Stats {
	var s Stats
	c.counts.fill(&s)
	c.calls.fill(&s)
	c.buffer.fill(&s)
	c.disk.fill(&s)
	s.Malformed = c.bad.Load()
	return s
}

// LostError is events that were published and not stored when Close's time was over.
// Those that were on their way may have been.
type LostError struct {
	Consumptions, Saturations, Adjustments, Releases int
	Cause                                            error // of the context
}

// Error says how many there are of each.
func (e *LostError) Error() string {
	return fmt.Sprintf("closed before the log had everything: lost %d consumptions, %d saturations, %d adjustments and %d releases: %v",
		e.Consumptions, e.Saturations, e.Adjustments, e.Releases, e.Cause)
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Cause }
