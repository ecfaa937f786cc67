package projector_test

import (
	"testing"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// TestPreviewsAreOfTheLogsTime when that of who asks is behind it.
func TestPreviewsAreOfTheLogsTime(t *testing.T) {
	s := newScene(t)
	s.narrow()
	s.now += 30_000
	told(t, s.route("b", "r1", `"pool":"p"`))
	for _, clock := range []int64{start - 30_000, s.now, s.now + 10_000} {
		a, r := s.preview("p", clock)
		now := max(clock, s.now)
		if d := a.Facts.Decide(a.Now); a.Now != now || d.RetryMs != s.now+60_000-now || r.FreeAt != s.now+60_000 {
			t.Errorf("at %d it is %d, again in %d ms, room at %d", clock-start, a.Now-start, d.RetryMs, r.FreeAt-start)
		}
	}
}

// preview asks what key a would be told that wants any connection of a pool.
func (s *scene) preview(pool string, clock int64) (a projector.Asked, r projector.Route) {
	q := questions.Question{APIKeyID: "a", Pool: pool, RequestID: "r", Reserve: true}
	s.GatherRoute(&q, clock, &a, &r)
	return a, r
}

// TestPreviewsKnowWhenThereIsRoom for one more hold.
func TestPreviewsKnowWhenThereIsRoom(t *testing.T) {
	s := newScene(t)
	s.SetMaxHolds(1)
	s.narrow()
	told(t, s.route("b", "r1", `"candidates":[{"connectionId":"d"}]`))
	end := s.now + 60_000
	for _, clock := range []int64{s.now, end - 1} {
		a, r := s.preview("p", clock)
		if d := a.Facts.Decide(a.Now); d.Allowed() || d.RetryMs != end-clock || r.ConnectionID != "" || r.FreeAt != end {
			t.Errorf("%d ms before there is room: %s, again in %d ms, %+v", end-clock, d.Reason, d.RetryMs, r)
		}
	}
	if a, r := s.preview("p", end); !a.Facts.Decide(a.Now).Allowed() || r.ConnectionID != "c" || r.FreeAt != 0 {
		t.Errorf("when there is room: %+v", r)
	}
}
