package client

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// sayEvery is how often one thing is in the log. A gateway with a thousand requests a
// second would otherwise write as many lines.
const sayEvery = 10 * time.Second

// said says what goes wrong: each thing when it begins, and then at most every
// sayEvery, with the number since.
type said struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	since map[string]*silence
}

// silence is what has not been said of a thing.
type silence struct {
	said  time.Time
	count int
}

func newSaid(log *slog.Logger) *said {
	return &said{log: log, now: time.Now, since: map[string]*silence{}}
}

// warn says it, or counts it for the next time.
func (s *said) warn(cause, what string, err error) {
	if count := s.due(cause); count > 0 {
		s.log.Warn(what, "cause", cause, "count", count, "err", err)
	}
}

// unreached says why there is no connection. To wait does not help who is not let in.
func (s *said) unreached(err error) {
	if errors.Is(err, nats.ErrAuthorization) {
		s.warn("login", "the quota engine's broker does not let us in: it does not know the login or the token, or has another password; trying again", err)
		return
	}
	s.warn("connect", "there is no way to the quota engine's broker; trying again", err)
}

// due returns how often it happened since it was said, 0 when it is not to be said
// again yet.
func (s *said) due(cause string) (count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.since[cause]
	if x == nil {
		x = new(silence)
		s.since[cause] = x
	}
	x.count++
	now := s.now()
	if !x.said.IsZero() && now.Sub(x.said) < sayEvery {
		return 0
	}
	count = x.count
	x.said, x.count = now, 0
	return count
}
