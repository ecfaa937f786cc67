package httpapi

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quotashare/quotashare/quota"
)

// The names of what a stream tells. A gap is not asked for: who asks for changes
// or decisions is told of theirs, and of no others, which he could not miss.
const (
	eventConfig   = "config"
	eventUsage    = "usage"
	eventState    = "state"
	eventDecision = "decision"
	eventGap      = "gap"
)

var eventNames = []string{eventConfig, eventUsage, eventState, eventDecision}

const (
	// retryAfter is when a client whose stream ended comes back.
	retryAfter = "retry: 2000\n\n"
	signOfLife = ": \n\n"
	// resumePage is how many changes are read from the log at once for one
	// client, and readAgain the wait after that did not work.
	resumePage = 20
	readAgain  = time.Second
	// askAgain is how often a stream makes sure that its token is still good.
	askAgain = 2 * time.Second
)

// watcher is one open stream of what happens: a client and how far it is. It
// goes on from there by what is on the board then, so a slow client is sent less
// and costs no memory.
type watcher struct {
	feed  *feed
	board *board
	wants []string // of eventNames
	pool  string   // "" = all

	at      cursor
	resumes bool // at is what the client sent, and was not looked at yet

	// Versions that were sent: of the state, of each pool's usage, and of all
	// usage together.
	state   uint64
	usage   map[string]uint64
	usageAt uint64

	who  *caller
	w    http.ResponseWriter
	rc   *http.ResponseController
	buf  []byte
	sent time.Time // when something was, the last time

	unflushed bool
}

// watch tells what happens until the client has gone or the server stops.
func (a *api) watch(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet { // HEAD would never end
		return wrongMethod([]string{http.MethodGet})(w, r)
	}
	c := &watcher{feed: a.feed, who: callerOf(r), w: w, rc: http.NewResponseController(w), usage: map[string]uint64{}}
	if err := c.read(r); err != nil {
		return err
	}
	if err := a.feed.enter(c, r); err != nil {
		return err
	}
	defer a.feed.leave(c)
	c.locate() // before the client takes its time
	c.begin()
	if err := c.run(r.Context()); errors.Is(err, os.ErrDeadlineExceeded) && !a.feed.isStopped() {
		a.feed.cut.Inc()
	}
	return nil
}

// read reads what the client wants and where it was.
func (w *watcher) read(r *http.Request) error {
	q := newQuery(r)
	w.wants = eventNames
	if text, there := q.one("events"); there {
		w.wants = strings.Split(text, ",")
		for _, name := range w.wants {
			if !slices.Contains(eventNames, name) {
				q.faults.Add("events", quote(name)+" is none: use "+strings.Join(eventNames, ", ")+", parted by commas")
			}
		}
	}
	pool, there := q.one("pool")
	if w.pool = pool; there {
		if err := quota.ValidateID(pool); err != nil {
			q.faults.Add("pool", err.Error())
		}
	}
	// Who reconnects sends the header, and still the URL it began with.
	name, id := "Last-Event-ID", r.Header.Get("Last-Event-ID")
	if id == "" {
		name = "lastEventId"
		id, _ = q.one(name)
	}
	if id != "" {
		if w.at, w.resumes = parseCursor(id); !w.resumes {
			q.faults.Add(name, "is "+quote(id)+", which is no id of this stream: send one that came with an event, or none to begin anew")
		}
	}
	return q.err()
}

func (w *watcher) watches(pool string) bool {
	return w.wantsEvent(eventUsage) && (w.pool == "" || w.pool == pool)
}

func (w *watcher) wantsEvent(name string) bool { return slices.Contains(w.wants, name) }

// deadline bounds the writing to the client. A writer that has none is that of a
// test of the handler alone.
func (w *watcher) deadline(t time.Time) { _ = w.rc.SetWriteDeadline(t) }

// begin begins the answer.
func (w *watcher) begin() {
	h := w.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would gather what is to be seen at once
	w.w.WriteHeader(http.StatusOK)
}

// run writes what is new, waits for more, and says now and then that it is
// alive.
func (w *watcher) run(ctx context.Context) error {
	if err := w.write([]byte(retryAfter)); err != nil {
		return err
	}
	for w.who.still() {
		turn := w.board.next()
		again, err := w.pass(ctx)
		if err != nil {
			return err
		}
		wait := signEvery - time.Since(w.sent)
		if wait <= 0 {
			if err := w.write([]byte(signOfLife)); err != nil {
				return err
			}
			continue
		}
		if again {
			wait = min(wait, readAgain)
		}
		if w.who.token != nil {
			wait = min(wait, askAgain)
		}
		select {
		case <-turn:
		case <-time.After(wait):
		case <-w.board.over:
			return nil
		case <-w.feed.stopped:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// pass writes everything that is new once. again means that something could not
// be read at the moment.
func (w *watcher) pass(ctx context.Context) (again bool, err error) {
	w.locate()
	if w.wantsEvent(eventConfig) && w.at.known {
		again, err = w.sendChanges(ctx)
	}
	for _, send := range []func() error{w.sendBlocks, w.sendState, w.sendUsage} {
		if err != nil {
			return again, err
		}
		err = send()
	}
	if err == nil && w.unflushed {
		err = w.flush()
	}
	return again, err
}

// locate says where a client goes on that does not know.
func (w *watcher) locate() {
	now := w.board.now()
	if w.at.process == "" {
		w.at.process, w.at.block = now.process, now.block
	}
	if !w.at.known {
		w.at.known, w.at.change = now.known, now.change
	}
}

// event writes one event. Its id says how far the client is with it.
func (w *watcher) event(name string, doc []byte) error {
	w.buf = append(append(append(w.buf[:0], "event: "...), name...), "\nid: "...)
	w.buf = append(w.at.append(w.buf), "\ndata: "...)
	w.feed.renew(w)
	for _, part := range [][]byte{w.buf, doc, []byte("\n\n")} {
		if _, err := w.w.Write(part); err != nil {
			return err
		}
	}
	w.sent, w.unflushed = time.Now(), true
	w.feed.events.WithLabelValues(name).Inc()
	return nil
}

// write writes what is no event.
func (w *watcher) write(text []byte) error {
	w.feed.renew(w)
	if _, err := w.w.Write(text); err != nil {
		return err
	}
	w.sent = time.Now()
	return w.flush()
}

func (w *watcher) flush() error {
	w.unflushed = false
	return w.rc.Flush()
}
