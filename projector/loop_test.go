package projector_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
)

// script is a source that gives what it is told to.
type script chan projector.Messages

func (s script) Next(ctx context.Context) (projector.Messages, error) {
	select {
	case m, ok := <-s:
		if !ok {
			return m, projector.ErrLogChanged
		}
		return m, nil
	case <-ctx.Done():
		return projector.Messages{}, ctx.Err()
	}
}

// slowStore is a store whose commits wait for leave.
type slowStore struct {
	projector.Store
	leave   chan error
	mu      sync.Mutex
	commits int
}

func (s *slowStore) Commit(b projector.Batch) error {
	if s.leave != nil {
		if err := <-s.leave; err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.commits++
	s.mu.Unlock()
	return s.Store.Commit(b)
}

func (s *slowStore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commits
}

// looped runs a loop inside a bubble until the test function returns.
func looped(t *testing.T, store *slowStore, test func(t *testing.T, l *projector.Loop, s *projector.State, in script)) error {
	t.Helper()
	var err error
	synctest.Test(t, func(t *testing.T) {
		in := make(script, 8)
		s := load(t, store)
		l := projector.NewLoop(s, store, in)
		began := time.Now()
		l.Clock = func() int64 { return start + time.Since(began).Milliseconds() }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		test(t, l, s, in)
		cancel()
		err = <-done
	})
	return err
}

func one(seq uint64, pending uint64) projector.Messages {
	return projector.Messages{List: []events.Message{usageAt(seq, start, "")}, Pending: pending}
}

// TestLoopFoldsAndCommits: what is read becomes visible at once and is in the
// store soon after; many changes make one commit.
func TestLoopFoldsAndCommits(t *testing.T) {
	store := &slowStore{Store: memstore.New()}
	err := looped(t, store, func(t *testing.T, l *projector.Loop, s *projector.State, in script) {
		in <- one(1, 1)
		in <- one(2, 0)
		must(t, l.Wait(t.Context(), 2))
		if got := store.count(); got != 0 {
			t.Errorf("%d commits before any time has passed, want 0", got)
		}
		time.Sleep(time.Second) // the bubble's clock
		synctest.Wait()
		if got := store.count(); got != 1 {
			t.Errorf("%d commits, want 1 for two messages", got)
		}
		if got := load(t, store).Position().Seq; got != 2 {
			t.Errorf("the store is at %d, want 2", got)
		}
		in <- one(3, 0)
		must(t, l.Wait(t.Context(), 3))
	})
	must(t, err)
	if got := load(t, store).Position().Seq; got != 3 {
		t.Errorf("after the end the store is at %d, want 3", got)
	}
}

// TestNobodyWaitsForACommit: answers come from what is folded, and the fold
// goes on, while a commit takes its time.
func TestNobodyWaitsForACommit(t *testing.T) {
	store := &slowStore{Store: memstore.New()}
	err := looped(t, store, func(t *testing.T, l *projector.Loop, s *projector.State, in script) {
		store.leave = make(chan error) // of the bubble, so that its clock goes on
		in <- one(1, 0)
		time.Sleep(time.Second) // the commit has begun and waits
		in <- one(2, 0)
		must(t, l.Wait(t.Context(), 2))
		seq, _ := s.Gather([]questions.Question{{APIKeyID: "alice", ConnectionID: "c"}}, start, make([]projector.Asked, 1))
		if seq != 2 {
			t.Errorf("asked of message %d, want 2", seq)
		}
		time.Sleep(time.Second) // the next cut falls due meanwhile
		close(store.leave)
		synctest.Wait()
		if got := load(t, store).Position().Seq; got != 2 {
			t.Errorf("once the first commit has landed the store is at %d, want 2", got)
		}
	})
	must(t, err)
	if got := load(t, store).Position().Seq; got != 2 {
		t.Errorf("the store is at %d, want 2", got)
	}
}

// TestLoopEndsWithWhatFailed: a failing commit and a changed log.
func TestLoopEndsWithWhatFailed(t *testing.T) {
	full := errors.New("no space left on device")
	store := &slowStore{Store: memstore.New(), leave: make(chan error, 4)}
	for range cap(store.leave) {
		store.leave <- full
	}
	err := looped(t, store, func(_ *testing.T, _ *projector.Loop, _ *projector.State, in script) {
		in <- one(1, 0)
		time.Sleep(time.Second)
	})
	if !errors.Is(err, full) {
		t.Errorf("a failing commit: %v", err)
	}
	err = looped(t, &slowStore{Store: memstore.New()}, func(t *testing.T, l *projector.Loop, _ *projector.State, in script) {
		waited := make(chan error)
		go func() { waited <- l.Wait(context.Background(), 9) }()
		synctest.Wait()
		close(in)
		if err := <-waited; !errors.Is(err, projector.ErrEnded) {
			t.Errorf("who waits is told %v, want that the projection has ended", err)
		}
		if err := l.Do(context.Background(), func() error { return nil }); !errors.Is(err, projector.ErrEnded) {
			t.Errorf("who wants something done is told %v, want that the projection has ended", err)
		}
	})
	if !errors.Is(err, projector.ErrLogChanged) {
		t.Errorf("a changed log: %v", err)
	}
}

// TestCaughtUpAndLag: level with the log means nothing pending; a message that
// is known to wait has an age; silence is measured.
func TestCaughtUpAndLag(t *testing.T) {
	err := looped(t, &slowStore{Store: memstore.New()}, func(t *testing.T, l *projector.Loop, _ *projector.State, in script) {
		in <- one(1, 5)
		must(t, l.Wait(t.Context(), 1))
		select {
		case <-l.CaughtUp():
			t.Error("caught up with 5 messages pending")
		default:
		}
		if behind, _ := l.Lag(start + 700); behind != 700 || l.Behind() != 5 {
			t.Errorf("5 pending: %d ms and %d messages behind, want 700", behind, l.Behind())
		}
		in <- one(2, 0)
		<-l.CaughtUp()
		if behind, _ := l.Lag(start + 700); behind != 0 || l.Behind() != 0 {
			t.Errorf("level, and the last message is old: %d ms and %d messages behind, want 0", behind, l.Behind())
		}
		now := l.Clock()
		if behind, silent := l.Lag(now); behind != 0 || silent != 0 {
			t.Errorf("level: %d ms behind, %d ms silent, want 0 and 0", behind, silent)
		}
		time.Sleep(3 * time.Second)
		if _, silent := l.Lag(now + 3000); silent != 3000 {
			t.Errorf("%d ms silent, want 3000", silent)
		}
		in <- projector.Messages{Pending: 3} // a new connection
		synctest.Wait()
		if behind, _ := l.Lag(start + 700); behind != 700 || l.Behind() != 3 {
			t.Errorf("3 pending after a new connection: %d ms and %d messages behind, want 700", behind, l.Behind())
		}
		in <- projector.Messages{} // a heartbeat
		synctest.Wait()
		if _, silent := l.Lag(now + 3000); silent != 0 {
			t.Errorf("after a heartbeat %d ms silent, want 0", silent)
		}
	})
	must(t, err)
}

// TestClocksThatAreOff find nothing late that is not, and what is late not sooner or
// later than others do.
func TestClocksThatAreOff(t *testing.T) {
	for _, off := range []int64{-300_000, 0, 300_000} {
		err := looped(t, &slowStore{Store: memstore.New()}, func(t *testing.T, l *projector.Loop, _ *projector.State, in script) {
			right := l.Clock
			l.Clock = func() int64 { return right() + off }
			in <- one(1, 0)
			must(t, l.Wait(t.Context(), 1))
			in <- projector.Messages{Pending: 3}
			synctest.Wait()
			if behind, _ := l.Lag(l.Clock() + 700); behind != 700 || l.Ahead() != off {
				t.Errorf("a clock %d ms off: %d ms behind, want 700, and off by %d", off, behind, l.Ahead())
			}
		})
		must(t, err)
	}
}

// TestDoSeesWhatIsCommitted: work between runs finds everything folded in the
// store, and its error reaches the one who asked.
func TestDoSeesWhatIsCommitted(t *testing.T) {
	store := &slowStore{Store: memstore.New()}
	err := looped(t, store, func(t *testing.T, l *projector.Loop, _ *projector.State, in script) {
		in <- one(1, 0)
		must(t, l.Wait(t.Context(), 1))
		must(t, l.Do(t.Context(), func() error {
			if got := load(t, store).Position().Seq; got != 1 {
				t.Errorf("the store is at %d, want 1", got)
			}
			return nil
		}))
		sour := errors.New("sour")
		if err := l.Do(t.Context(), func() error { return sour }); !errors.Is(err, sour) {
			t.Errorf("Do: %v", err)
		}
		seq, digest, err := l.Digest(t.Context())
		must(t, err)
		if want := plain(t, []events.Message{usageAt(1, start, "")}).Digest; seq != 1 || digest != want {
			t.Errorf("digest %x at %d, want %x at 1", digest, seq, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Wait(ctx, 99); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait for what never comes: %v", err)
		}
	})
	must(t, err)
}

// TestRejectionsRingTheBell after their commit, once for each.
func TestRejectionsRingTheBell(t *testing.T) {
	store := &slowStore{Store: memstore.New()}
	err := looped(t, store, func(t *testing.T, l *projector.Loop, _ *projector.State, in script) {
		rung := 0
		l.OnRejected = func() {
			list, err := projector.Rejections(store, 10)
			must(t, err)
			rung = len(list)
		}
		bad := events.Message{Subject: "quota.consumption", Data: []byte("{}"), Seq: 1, Time: start}
		in <- projector.Messages{List: []events.Message{bad}}
		time.Sleep(time.Second)
		synctest.Wait()
		if rung != 1 {
			t.Errorf("%d rejections in the store when the bell rang, want 1", rung)
		}
	})
	must(t, err)
	list, err := projector.Rejections(store, 10)
	must(t, err)
	must(t, projector.ForgetRejections(store, list))
	if list, _ := projector.Rejections(store, 10); len(list) != 0 {
		t.Errorf("%d rejections left, want 0", len(list))
	}
}

// TestReadersAndFoldTogether is for the race detector.
func TestReadersAndFoldTogether(t *testing.T) {
	store := memstore.New()
	s := projector.NewState(store)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			asked := make([]projector.Asked, 2)
			qs := []questions.Question{{APIKeyID: "alice", ConnectionID: "c"}, {APIKeyID: "bob", Pool: "p", Model: "m"}}
			for {
				select {
				case <-stop:
					return
				default:
				}
				s.Gather(qs, start, asked)
				for i := range asked {
					asked[i].Facts.Decide(asked[i].Now)
				}
				s.Pools()
				s.Plan("c")
				s.Counts()
				s.Connections()
				s.Keys()
				s.Settings()
				s.Verdict(1)
			}
		})
	}
	pool := events.Message{
		Subject: "quota.config.pool.p", Time: start, Header: map[string][]string{"Quota-Config": {"put"}},
		Data: []byte(`{"id":"p","name":"P","provider":"kimi","connectionIds":["c"],"allocations":[{"apiKeyId":"*","weight":1}]}`),
	}
	for seq := uint64(1); seq < 2000; seq += 2 {
		pool.Seq = seq
		use := usageAt(seq+1, start, `,"model":"m"`)
		if seq%7 == 0 { // the same key on a connection that is new
			use.Data = fmt.Appendf(nil, `{"apiKeyId":"alice","connectionId":"c%d"}`, seq)
		}
		fold(t, s, []events.Message{pool, use}, 2)
		if seq%101 == 0 {
			cut(t, s, store)
		}
	}
	close(stop)
	readers.Wait()
}

// fullStore has no room while full is set.
type fullStore struct {
	projector.Store
	full    atomic.Bool
	commits atomic.Int64
}

func (s *fullStore) Commit(b projector.Batch) error {
	if s.full.Load() {
		return projector.ErrFull
	}
	s.commits.Add(1)
	return s.Store.Commit(b)
}

// TestFullStore: a commit that finds no room is tried again, and what is folded
// meanwhile is visible; a stop does not wait for room.
func TestFullStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fullStore{Store: memstore.New()}
		in := make(script, 8)
		l := projector.NewLoop(load(t, store), store, in)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		store.full.Store(true)
		in <- one(1, 0)
		time.Sleep(time.Minute)
		in <- one(2, 0)
		must(t, l.Wait(ctx, 2))
		for range 2 {
			if _, _, err := l.Digest(ctx); !errors.Is(err, projector.ErrFull) {
				t.Errorf("a digest without room: %v, want ErrFull", err)
			}
		}
		store.full.Store(false)
		time.Sleep(time.Minute)
		if n := store.commits.Load(); n != 2 {
			t.Errorf("%d commits when there was room again, want 2", n)
		}
		if _, _, err := l.Digest(ctx); err != nil {
			t.Errorf("a digest with room again: %v", err)
		}
		store.full.Store(true)
		in <- one(3, 0)
		must(t, l.Wait(ctx, 3))
		if _, _, err := l.Digest(ctx); !errors.Is(err, projector.ErrFull) {
			t.Errorf("a digest that is asked for before the commit: %v, want ErrFull", err)
		}
		cancel()
		must(t, <-done) // what is not written is folded again
	})
}
