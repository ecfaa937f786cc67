package decider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
)

const (
	// maxQueued bounds the holds that wait to be written: more than a second of
	// what a decider answers.
	maxQueued = 65_536
	// holdAckWithin is how long an acknowledgement may take before a message is
	// written again, and mostHoldRetry the longest pause after one that was refused.
	holdAckWithin = time.Second
	mostHoldRetry = time.Second
	// headersOfHolds is room for the headers of a message, which count for max_payload.
	headersOfHolds = 256
)

// holdWriter brings holds into the log. One message is under way at a time; what
// arrives meanwhile is the next one. So a hold alone is written at once, and many
// share the log's acknowledgement, and with it its fsync, without a timer: waiting
// for more to come would only be longer for the first. With two under way the
// messages are half as large and the order of what is written again is lost.
type holdWriter struct {
	js      jetstream.JetStream
	room    func() int // bytes of a message; the broker may be another one tomorrow
	log     *slog.Logger
	name    string // of this process, in message ids
	locals  *projector.Locals
	metrics *holdMetrics
	now     func() int64 // epoch ms
	bell    chan struct{}
	most    int       // in the queue: maxQueued, but in tests
	failing time.Time // since when the log takes none, and that was said; zero = it takes them

	mu    sync.Mutex
	queue []*pending
	calls uint64
	ended bool
}

// flight is a message on its way.
type flight struct {
	list []*pending
	body []byte
	id   string
	n    uint64
}

// startHolds begins to write holds; stop writes what there is, within a bounded
// time, and returns when nothing runs any more.
func (e *Engine) startHolds() (stop func(), err error) {
	w := e.holds
	w.js, err = jetstream.New(e.o.Conn, jetstream.WithPublishAsyncTimeout(holdAckWithin))
	if err != nil {
		return nil, err
	}
	w.open()
	ctx, abandon := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer w.js.CleanupPublisher()
		w.run(ctx)
	}()
	return func() {
		w.end()
		late := time.AfterFunc(stopWithin, abandon)
		<-done
		late.Stop()
		abandon()
	}, nil
}

func newHoldWriter(e *Engine) *holdWriter {
	return &holdWriter{
		room: func() int { return int(e.o.Conn.MaxPayload()) - headersOfHolds - len("[]") }, log: e.o.Log, name: e.Process(), locals: &e.locals, metrics: e.metrics.holds,
		now: func() int64 { return e.now() }, bell: make(chan struct{}, 1), most: maxQueued, ended: true,
	}
}

func (w *holdWriter) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = false
}

// end lets nothing more in.
func (w *holdWriter) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.ring()
}

func (w *holdWriter) ring() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

// put queues the holds of a call, in their order, all or none of them.
func (w *holdWriter) put(first *pending) bool {
	n := 0
	for x := first; x != nil; x = x.next {
		n++
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || len(w.queue)+n > w.most {
		w.metrics.overflow.Add(float64(n))
		return false
	}
	w.calls++
	for x := first; x != nil; x = x.next {
		x.call = w.calls
		w.queue = append(w.queue, x)
	}
	w.ring()
	return true
}

// withdraw keeps a hold from standing: it is not written any more, and when it may
// have been, and release says so, a release follows it. Those have no bound of their
// own: there are no more of them than holds were taken from the queue and not judged.
func (w *holdWriter) withdraw(x *pending, release bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x.fate.Store(fateDropped)
	if x.taken && release {
		w.append(releaseOf(x.ID, x.hold.APIKeyID, x.hold.RequestID, x.end))
	}
}

// release writes the end of a hold that was answered, behind the hold. These have no
// bound either: there are no more of them than of answers.
func (w *holdWriter) release(y *pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.append(y)
}

// append queues a release, with the lock held.
func (w *holdWriter) append(y *pending) {
	if w.ended {
		return
	}
	w.calls++
	y.call = w.calls
	w.queue = append(w.queue, y)
	w.metrics.withdrawn.Inc()
	w.ring()
}

// settleOn makes a hold that leaves the connection open one of that connection. It
// reports false when it is too late: the log may have it as it was.
func (w *holdWriter) settleOn(x *pending, connectionID string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x.taken {
		return false
	}
	x.settleOn(connectionID)
	return true
}

// run writes until there is nothing more and nothing comes, or ctx ends.
func (w *holdWriter) run(ctx context.Context) {
	var f flight
	for ctx.Err() == nil {
		more, ended := w.take(&f)
		switch {
		case more:
			w.deliver(ctx, &f)
		case ended:
			return
		default:
			select {
			case <-w.bell:
			case <-ctx.Done():
			}
		}
	}
}

// take moves from the queue to the flight what the next message can have. What was
// asked together is not parted when it fits into one.
func (w *holdWriter) take(f *flight) (more, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	room, n := w.room(), 0
	for n < len(w.queue) {
		size, to := w.together(n)
		whole := size <= room && len(f.list)+to-n <= events.MaxEvents
		if len(f.list) > 0 && (!whole || w.queue[n].release != f.list[0].release) {
			break
		}
		for n < to && len(f.list) < events.MaxEvents && (len(f.list) == 0 || len(w.queue[n].body)+1 <= room) {
			x := w.queue[n]
			room -= len(x.body) + 1
			x.taken = true
			f.list = append(f.list, x)
			n++
		}
		if n < to {
			break
		}
	}
	w.queue = shift(w.queue, n)
	return n > 0, w.ended
}

// queued returns how many holds and releases wait to be written.
func (w *holdWriter) queued() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)
}

// together returns how many bytes the call has whose first hold is in that place,
// and where the next one begins.
func (w *holdWriter) together(from int) (size, to int) {
	for to = from; to < len(w.queue) && w.queue[to].call == w.queue[from].call; to++ {
		size += len(w.queue[to].body) + 1
	}
	return size, to
}

// shift takes the first n away, and keeps nothing of them.
func shift(list []*pending, n int) []*pending {
	left := copy(list, list[n:])
	clear(list[left:])
	return list[:left]
}

// deliver writes the message until the log has it, or nothing in it is worth
// writing any more.
func (w *holdWriter) deliver(ctx context.Context, f *flight) {
	defer f.empty()
	f.n++
	f.id = w.name + "-holds-" + strconv.FormatUint(f.n, 10)
	for wait := firstRetry; w.keepWorthy(f); wait = min(2*wait, mostHoldRetry) {
		err := w.publish(ctx, f)
		switch {
		case err == nil:
			w.recovered()
			return
		case ctx.Err() != nil:
			return
		case errors.Is(err, nats.ErrMaxPayload):
			w.tooLarge(f, err)
			return
		}
		w.failed(err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		w.metrics.retries.Inc()
	}
}

// keepWorthy takes out what has no use in the log any more: withdrawn, judged, as
// when only the acknowledgement was lost, or over. What is left has the same message
// id, for it is a part of what had it before, and is folded once.
func (w *holdWriter) keepWorthy(f *flight) bool {
	now, kept := w.now(), f.list[:0]
	for _, x := range f.list {
		if w.worthy(x, now) {
			kept = append(kept, x)
		} else {
			x.disown()
		}
	}
	clear(f.list[len(kept):])
	f.list = kept
	return len(kept) > 0
}

func (w *holdWriter) worthy(x *pending, now int64) bool {
	switch x.fate.Load() {
	case fateOpen:
		return now < x.end
	case fateLocal:
		return w.locals.Has(x.ID, now)
	}
	return false
}

// publish writes the message and waits for the log.
func (w *holdWriter) publish(ctx context.Context, f *flight) error {
	m := nats.NewMsg(f.kind().Subject(""))
	m.Data = f.encode()
	m.Header.Set(events.HeaderContentType, "application/json")
	m.Header.Set(events.HeaderMsgID, f.id)
	future, err := w.js.PublishMsgAsync(m, jetstream.WithRetryAttempts(0))
	if err == nil {
		err = acknowledged(ctx, future)
	}
	if err == nil && f.kind() == events.Hold {
		w.metrics.perMessage.Observe(float64(len(f.list)))
	}
	return err
}

func (f *flight) kind() events.Kind {
	if f.list[0].release {
		return events.Release
	}
	return events.Hold
}

// encode makes an array of the flight. Its memory is used again when the log has
// answered.
func (f *flight) encode() []byte {
	f.body = append(f.body[:0], '[')
	for i, x := range f.list {
		if i > 0 {
			f.body = append(f.body, ',')
		}
		f.body = append(f.body, x.body...)
	}
	f.body = append(f.body, ']')
	return f.body
}

func (f *flight) empty() {
	for _, x := range f.list {
		x.disown()
	}
	clear(f.list)
	f.list = f.list[:0]
}

// tooLarge is for a broker that takes less than it did when the message was made.
// What alone is too large never gets into the log.
func (w *holdWriter) tooLarge(f *flight, err error) {
	if len(f.list) == 1 {
		w.log.Error("a hold is too large for the log: use shorter ids", "decision", f.list[0].ID, "err", err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(append(make([]*pending, 0, len(f.list)+len(w.queue)), f.list...), w.queue...)
	clear(f.list)
	f.list = f.list[:0]
}

// failed says once that no hold gets into the log.
func (w *holdWriter) failed(err error) {
	if w.failing.IsZero() {
		w.failing = time.Now()
		w.log.Warn("the log takes no holds; trying again, and answers say "+answers.NoHold, "err", err)
	}
}

func (w *holdWriter) recovered() {
	if !w.failing.IsZero() {
		w.log.Info("the log takes holds again", "after", fmt.Sprint(time.Since(w.failing).Round(time.Millisecond)))
		w.failing = time.Time{}
	}
}
