package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Bounds of GET /api/quota/stream.
const (
	maxWatchers = 256
	// signEvery is the longest silence of a stream, so that both ends, and the
	// proxies between them, know that it is alive.
	signEvery = 15 * time.Second
	// cutAfter is how long a client may take nothing of what it is sent.
	cutAfter = 30 * time.Second
	// stopWatching is how long a client has to take what it is being sent when
	// the server stops.
	stopWatching = 500 * time.Millisecond
)

// feed has the open streams of what happens, and the board they read while there
// are any.
type feed struct {
	engine Engine
	log    *slog.Logger
	most   int // of open streams
	watch  sync.Once

	// gathering is held while usage is made for a board, also for one that nobody
	// reads any more: clients that come and go must not have it made many times
	// at once.
	gathering sync.Mutex

	streams prometheus.Gauge
	events  *prometheus.CounterVec
	cut     prometheus.Counter

	mu      sync.Mutex
	open    map[*watcher]bool
	board   *board
	stopped chan struct{} // closed when the server stops
	stopBy  time.Time     // by when the last write must be over, once it does
}

func newFeed(c *Config) (*feed, error) {
	f := &feed{
		engine: c.Engine, log: c.Log, most: maxWatchers, open: map[*watcher]bool{}, stopped: make(chan struct{}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "quotashare_http_streams", Help: "Open streams of what happens.",
		}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "quotashare_http_stream_events_total", Help: "Events sent to those who watch, by name.",
		}, []string{"event"}),
		cut: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "quotashare_http_streams_cut_total", Help: "Streams of what happens that were cut because nobody read them.",
		}),
	}
	for _, m := range []prometheus.Collector{f.streams, f.events, f.cut} {
		if err := c.Registry.Register(m); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// enter gives the watcher a place before the board. The first one asks the
// server to say when it ends.
func (f *feed) enter(w *watcher, r *http.Request) error {
	f.watch.Do(func() {
		if srv, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
			srv.RegisterOnShutdown(f.stop)
		}
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.stopBy.IsZero():
		return unavailable("stopping", "the server is stopping: try again")
	case len(f.open) >= f.most:
		return unavailable("too-many-streams", "as many streams are open as this server has room for: close one, or try again")
	}
	begins := f.board == nil || closed(f.board.over)
	if begins {
		f.board = newBoard(f)
	}
	w.board = f.board
	w.board.enter(w)
	if begins { // when there is somebody to look for
		ctx, cancel := context.WithCancel(context.Background())
		f.board.end = cancel
		go f.board.run(ctx)
	}
	f.open[w] = true
	f.streams.Set(float64(len(f.open)))
	return nil
}

// leave gives the place back. A board that nobody reads is not written on.
func (f *feed) leave(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, w)
	f.streams.Set(float64(len(f.open)))
	if w.board.leave(w) {
		w.board.end()
		if f.board == w.board {
			f.board = nil
		}
	}
}

// stop ends all streams, now and later.
func (f *feed) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.stopBy.IsZero() {
		return
	}
	f.stopBy = time.Now().Add(stopWatching)
	close(f.stopped)
	for w := range f.open {
		w.deadline(f.stopBy)
	}
}

// renew gives a watcher's client its time anew.
func (f *feed) renew(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopBy.IsZero() {
		w.deadline(time.Now().Add(cutAfter))
	}
}

func (f *feed) isStopped() bool { return closed(f.stopped) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
