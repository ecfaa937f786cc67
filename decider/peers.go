package decider

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/events"
)

// Deciders tell each other what they let pass while the log takes no holds: the
// hold's event, as it will be in the log, with who tells it in a header. Nothing
// is kept and nobody answers; who does not hear of it lets pass as much more.
const (
	peerSubject = "quotashare.peer.hold"
	peerHeader  = "Quotashare-Process"
)

// Bounds of what was told and not yet heard.
const (
	maxTold      = 16_384
	maxToldBytes = 16 << 20
)

// tell tells the others of a hold that counts here.
func (e *Engine) tell(x *pending) {
	m := nats.NewMsg(peerSubject)
	m.Data = x.body
	m.Header.Set(peerHeader, e.Process())
	if err := e.o.Conn.PublishMsg(m); err == nil { // else they do not hear of it, as when the network is gone
		e.metrics.holds.told.Inc()
	}
}

// listen hears what others tell until stop is called.
func (e *Engine) listen() (stop func(), err error) {
	sub, err := e.o.Conn.Subscribe(peerSubject, e.hear)
	if err != nil {
		return nil, err
	}
	stop = func() { _ = sub.Unsubscribe() } // fails where the connection is closed, and nothing is heard
	if err := sub.SetPendingLimits(maxTold, maxToldBytes); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// hear counts what another decider let pass. Anybody could tell anything: what is
// no hold is counted and said nothing of, for there may be many.
func (e *Engine) hear(m *nats.Msg) {
	defer func() {
		if p := recover(); p != nil {
			e.metrics.holds.unheard.Inc()
			e.o.Log.Error("panic while hearing of a hold", "panic", fmt.Sprint(p))
		}
	}()
	if m.Header.Get(peerHeader) == e.Process() {
		return
	}
	now, add := e.now(), e.locals.Add
	if p := e.current.Load(); p != nil {
		_, logTime := p.state.At()
		now, add = max(now, logTime), p.state.Hear
	}
	for _, it := range events.Decode(&events.Message{Subject: events.Hold.Subject(""), Data: m.Data}, nil) {
		if it.Err != nil || it.Event.ConnectionID == "" {
			e.metrics.holds.unheard.Inc()
			continue
		}
		add(localHold(&it.Event, now), now)
	}
}
