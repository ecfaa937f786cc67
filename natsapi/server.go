package natsapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/questions"
)

// Name is the name of the micro service and of its queue group.
const Name = "quotashare"

// DefaultMaxWaiting is the Config.MaxWaiting of a Config that sets none. A question
// that waits for its verdict takes about 5 KB with its answer, so these are 80 MB; at
// 50,000 questions a second they are a third of a second, three times what a question
// waits unless it says otherwise.
const DefaultMaxWaiting = 16_384

// DefaultMaxBehind is the Config.MaxBehind of a Config that sets none. A question that
// waits for a sequence has a goroutine besides, so these are about 50 MB.
const DefaultMaxBehind = 4096

// stopTimeout bounds Stop when its context does not.
const stopTimeout = 5 * time.Second

// DefaultMaxRouted is the Config.MaxRouted of a Config that sets none. A route may wait
// in the backlog of its pool for minutes, and is no larger than what waits for a verdict.
const DefaultMaxRouted = 16_384

// ErrStarted is Start of a server that runs.
var ErrStarted = errors.New("the service is started already")

// ErrHurried is the cause of a context that is done because an answer may not wait,
// or not any longer. It is given all the same: nobody has gone away.
var ErrHurried = errors.New("the answer may not wait")

// Decider gives the answers.
type Decider interface {
	// Applied returns the last folded stream sequence. It is called for every
	// message.
	Applied() uint64
	// Decide answers qs, in order and from one state, in rs, which has the same
	// length and was Reset. It may wait for the highest MinSeq among qs and for the
	// verdicts on what they reserve, each as long as the question says; when ctx is
	// done it waits no longer and answers with what it has. It does not wait at all
	// when no question reserves and every MinSeq is at most Applied. It keeps
	// nothing of qs and rs.
	Decide(ctx context.Context, qs []questions.Question, rs []questions.Reply)
	// Begin is Decide that does not wait, for questions that reserve. No MinSeq is
	// waited for. It reports whether rs are the answers; if not, they are when done is
	// called, later and from another goroutine.
	Begin(qs []questions.Question, rs []questions.Reply, done func()) (answered bool)
	// Hurry makes all that was begun be answered at once.
	Hurry()
	// Release ends the holds that the answers rs to qs opened, because nobody is told
	// of them. It does not wait.
	Release(qs []questions.Question, rs []questions.Reply)
}

// Config is what a Server needs.
type Config struct {
	Conn       *nats.Conn
	Decider    Decider
	Version    string       // of the program, as semantic version
	MaxWaiting int          // messages that wait for verdicts at once; 0 is DefaultMaxWaiting
	MaxBehind  int          // messages that wait for a sequence at once; 0 is DefaultMaxBehind
	MaxRouted  int          // messages of quota.route that wait at once; 0 is DefaultMaxRouted
	Logger     *slog.Logger // nil logs nothing
}

// Server answers questions from Start to Stop.
type Server struct {
	conn    *nats.Conn
	decider Decider
	version string
	log     *slog.Logger
	counts  Counts
	took    [2]prometheus.Histogram // answers: at once, and after a wait
	calls   sync.Pool               // of *call

	// One for each message that waits. Whoever asks for a sequence that never comes
	// can fill the room for sequences, and routes to full accounts theirs; the one for
	// verdicts has only what the log will answer.
	verdicts, sequences, routes chan struct{}
	waiting                     sync.WaitGroup

	mu      sync.Mutex // serializes Start and Stop
	service micro.Service
	cancel  func() // ends all waiting
}

// New returns a server that is not started.
func New(c Config) *Server {
	s := &Server{
		conn:    c.Conn,
		decider: c.Decider,
		version: c.Version,
		log:     c.Logger,
		took:    [2]prometheus.Histogram{newLatency("no"), newLatency("yes")},
	}
	s.calls.New = func() any {
		c := new(call)
		c.done = func() { s.finish(c) }
		return c
	}
	s.verdicts = make(chan struct{}, cmp.Or(c.MaxWaiting, DefaultMaxWaiting))
	s.sequences = make(chan struct{}, cmp.Or(c.MaxBehind, DefaultMaxBehind))
	s.routes = make(chan struct{}, cmp.Or(c.MaxRouted, DefaultMaxRouted))
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// Counts returns the server's counters, which live as long as it does.
func (s *Server) Counts() *Counts { return &s.counts }

// Start subscribes. It returns when the broker routes questions here. A stopped
// server may be started again.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.service != nil {
		return ErrStarted
	}
	service, err := micro.AddService(s.conn, micro.Config{
		Name:         Name,
		Version:      s.version,
		Description:  "decides whether an API key may use its provider now, and chooses the account",
		QueueGroup:   Name,
		StatsHandler: func(*micro.Endpoint) any { return json.RawMessage(s.counts.appendJSON(nil)) },
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			s.log.Warn("questions are lost", "subject", err.Subject, "error", err.Description)
		},
	})
	if err != nil {
		return err
	}
	ctx, hurry := context.WithCancelCause(context.Background())
	cancel := func() {
		hurry(ErrHurried)
		s.decider.Hurry()
	}
	if err := s.subscribe(ctx, service); err != nil {
		cancel()
		return errors.Join(err, service.Stop())
	}
	s.service, s.cancel = service, cancel
	return nil
}

// subscribe adds the endpoints, and returns when the broker knows them.
func (s *Server) subscribe(ctx context.Context, service micro.Service) error {
	for _, e := range [...]struct {
		name, subject string
		endpoint
	}{
		{"decide", questions.Subject, endpoint{(*questions.Request).Decode, s.sequences, s.verdicts}},
		{"route", questions.RouteSubject, endpoint{(*questions.Request).DecodeRoute, s.routes, s.routes}},
	} {
		handler := micro.HandlerFunc(func(r micro.Request) { s.handle(ctx, r, &e.endpoint) })
		if err := service.AddEndpoint(e.name, handler, micro.WithEndpointSubject(e.subject)); err != nil {
			return err
		}
	}
	return s.conn.Flush()
}

// Stop unsubscribes, answers everything that was routed here, what waits at
// once, and returns when the broker has the answers. A context that is done
// before that makes it return with the context's error. Stop of a server that is
// not started does nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.service == nil {
		return nil
	}
	defer s.cancel()
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	err := s.service.Stop()
	s.service = nil
	if err == nil {
		err = s.drain(ctx)
	}
	if errors.Is(err, nats.ErrConnectionClosed) {
		return nil // then there is nobody to answer
	}
	return err
}

func (s *Server) drain(ctx context.Context) error {
	// After this round trip the broker sends no more questions, and what it sent is
	// in the queues of the subscriptions, in front of the barrier.
	if err := s.conn.FlushWithContext(ctx); err != nil {
		return err
	}
	handled := make(chan struct{})
	if err := s.conn.Barrier(func() { close(handled) }); err != nil {
		return err
	}
	if err := wait(ctx, handled); err != nil {
		return err
	}
	s.cancel()
	answered := make(chan struct{})
	go func() {
		s.waiting.Wait()
		close(answered)
	}()
	if err := wait(ctx, answered); err != nil {
		return err
	}
	return s.conn.FlushWithContext(ctx)
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
