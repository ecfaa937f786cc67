package httpapi

import (
	"net/http"
	"sync"
	"time"
)

// streams knows the streams in progress. They may have no end of their own, so
// a server that shuts down ends them: what has come is published and answered,
// and the client is told to begin anew. Cut off instead, it would not know what
// was taken.
type streams struct {
	most  int // that may be open
	watch sync.Once

	mu       sync.Mutex
	stopping bool
	open     map[*streamAnswer]bool
}

// enter remembers a stream, if there is a place for it. The first one asks the server to say when it ends;
// that it is asked through the request makes it work behind any wrapper.
func (s *streams) enter(ans *streamAnswer, r *http.Request) error {
	s.watch.Do(func() {
		if srv, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
			srv.RegisterOnShutdown(s.stop)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= s.most {
		return busy("as many streams of events are open as this server has room for: send arrays, or try again")
	}
	if s.open == nil {
		s.open = map[*streamAnswer]bool{}
	}
	s.open[ans] = true
	return nil
}

func (s *streams) leave(ans *streamAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, ans)
}

// stop ends the reading of all streams, now and later.
func (s *streams) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for ans := range s.open {
		ans.setDeadlines(past, time.Now().Add(writeTimeout))
	}
}

// renew gives both directions of a stream their time anew. The client's sending
// renews the time to take the answer too: it may well do one after the other.
func (s *streams) renew(ans *streamAnswer, idle time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := time.Now().Add(idle)
	if s.stopping {
		ans.setDeadlines(past, end)
	} else {
		ans.setDeadlines(end, end)
	}
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

func (s *streams) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}
