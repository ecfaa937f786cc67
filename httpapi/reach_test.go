package httpapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/usage"
)

// slow is an engine that works out a reach until it is told to end.
type slow struct {
	*double
	begun chan context.Context
	end   chan struct{}
}

func (s *slow) Reach(ctx context.Context, _ *plans.Pool, _, _ int) (*usage.Reach, error) {
	s.begun <- ctx
	<-s.end
	return &usage.Reach{}, nil
}

// TestOneReachAtATime: who asks meanwhile waits for its turn, and may leave.
func TestOneReachAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &slow{double: newDouble(), begun: make(chan context.Context, 3), end: make(chan struct{})}
		a := &api{engine: e, reaching: make(chan struct{}, 1)}
		errs := make(chan error, 3)
		ask := func(ctx context.Context) {
			_, err := a.reached(ctx, nil, 0, 1)
			errs <- err
		}
		gone, leave := context.WithCancel(t.Context())
		go ask(t.Context())
		synctest.Wait()
		go ask(gone)
		go ask(t.Context())
		synctest.Wait()
		if n := len(e.begun); n != 1 {
			t.Errorf("%d are worked out at a time", n)
		}
		leave()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("who left has %v", err)
		}
		for range 2 {
			e.end <- struct{}{}
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}
