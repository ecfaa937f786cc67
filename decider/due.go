package decider

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
)

// dueWriter brings into the log that time has gone by. The fold knows no other time
// than that of messages: where nothing is written, a lease that ended and a wait that
// is over would be noticed by nobody. So as long as somebody waits here for an
// account, it sees to it that a message comes when the state says that something is
// due. It asks nothing in between.
//
// Who waits at a decider that died has nobody to see to it. So where nobody waits here
// it looks once a second, and writes what is due for longer than that: the decider that
// somebody waits at has written it before, if there is one.
//
// An early one does nothing, and a second one neither; so any number of deciders may
// write them, and the log drops those that say the same.
type dueWriter struct {
	e       *Engine
	written prometheus.Counter

	mu      sync.Mutex
	waiting int   // calls
	door    *gate // open while there are any
}

// othersDueAfter is how long something is due, ms, before it is written by a decider
// where nobody waits for it, and how often such a one looks.
const othersDueAfter = 1_000

// mostDuePause bounds a pause, and how late a clock that was set is noticed.
const mostDuePause = 60_000

func newDueWriter(e *Engine) *dueWriter {
	return &dueWriter{e: e, door: newGate(), written: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "quotashare_due_total", Help: "Messages written because something fell due for a request that waits for a connection.",
	})}
}

// enter and leave count the calls that wait for an account.
func (d *dueWriter) enter() { d.count(1) }
func (d *dueWriter) leave() { d.count(-1) }

func (d *dueWriter) count(by int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting += by
	d.door.set(d.waiting > 0)
}

// run writes until the context or the projection ends.
func (d *dueWriter) run(ctx context.Context, p *projection) error {
	select {
	case <-p.loop.CaughtUp(): // what was due long ago has come, further on in the log
	case <-ctx.Done():
		return ctx.Err()
	}
	var last dueTry
	var log logClock
	for {
		late := int64(0)
		if !d.door.isOpen() {
			late, log = othersDueAfter, logClock{}
			if err := d.doze(ctx); err != nil {
				return err
			}
		}
		next := p.loop.Applied() + 1 // before the look, so that nothing folded since is missed
		at := p.state.Due()
		if last.at != at {
			last = dueTry{at: at}
		}
		pause := max(at-log.at(d.e.now())+late, time.Until(last.again).Milliseconds())
		if pause <= 0 {
			d.write(ctx, p, &last)
			continue
		}
		if late > 0 {
			continue
		}
		folded, err := sleep(ctx, p, next, pause)
		if err != nil {
			return err
		}
		if folded {
			log.learn(d.e.now(), p)
		}
	}
}

// doze returns when somebody waits here, or after the time of one look.
func (d *dueWriter) doze(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, othersDueAfter*time.Millisecond)
	defer cancel()
	_ = d.door.wait(within) // either is well
	return ctx.Err()
}

// logClock tells the log's time by ours. A clock that is a tenth of a second slow
// would let every wait end too late to be told of. A message that is folded says how
// far ours is ahead, and how long it was on its way; of several the least says it best.
// The zero logClock takes both for the same.
type logClock struct {
	ahead int64     // ms
	since time.Time // of the first of them; the clock may have been set meanwhile
}

func (l *logClock) at(clock int64) int64 { return clock - l.ahead }

// learn looks at a message that was folded a moment ago.
func (l *logClock) learn(clock int64, p *projection) {
	_, logTime := p.state.At()
	if time.Since(l.since) > time.Minute {
		l.since, l.ahead = time.Now(), math.MaxInt64
	}
	l.ahead = min(l.ahead, clock-logTime)
}

// dueTry is what was written for one instant.
type dueTry struct {
	at    int64
	n     int       // messages
	again time.Time // when the next one is due, if it still is
}

// write writes a message, and waits until it is folded.
//
// By our clock the instant has come. By the log's, which the fold goes by, it may not
// have: then there is that much left, and another message is due. Its id is another
// one, or the log would drop it; those of the first tries of all deciders are the same.
func (d *dueWriter) write(ctx context.Context, p *projection, t *dueTry) {
	m := nats.NewMsg(events.Due.Subject(""))
	m.Data = []byte("{}")
	m.Header.Set(events.HeaderContentType, "application/json")
	m.Header.Set(events.HeaderMsgID, "due-"+strconv.FormatInt(t.at, 10)+"-"+strconv.Itoa(t.n))
	within, cancel := context.WithTimeout(ctx, holdAckWithin)
	defer cancel()
	ack, err := d.e.js.PublishMsg(within, m)
	if err != nil || p.loop.Wait(within, ack.Sequence) != nil {
		t.again = time.Now().Add(firstRetry) // who writes holds says when the log takes nothing
		return
	}
	t.n++
	if ack.Duplicate {
		return // somebody else's, of long ago maybe
	}
	d.written.Inc()
	_, logTime := p.state.At()
	t.again = time.Now().Add(time.Duration(max(t.at-logTime, 1)) * time.Millisecond)
}

// sleep returns when the message of that sequence is folded, and says so, or after ms.
func sleep(ctx context.Context, p *projection, seq uint64, ms int64) (folded bool, err error) {
	within, cancel := context.WithTimeout(ctx, time.Duration(min(ms, mostDuePause))*time.Millisecond)
	defer cancel()
	err = p.loop.Wait(within, seq)
	if errors.Is(err, projector.ErrEnded) {
		return false, err
	}
	return err == nil, ctx.Err()
}
