package projector_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// busy is a pool of two connections, c that takes one at a time and d that takes two.
// Both are full, r1 is on c, and of alice two wait and of bob one, who came first. For
// another pool somebody waits since long.
func busy(t *testing.T) *scene {
	s := newScene(t)
	s.Locals = new(projector.Locals)
	s.publish("quota.config.pool.q", `{"id":"q","name":"Q","provider":"custom","connections":[{"connectionId":"elsewhere","maxConcurrent":1}]}`)
	s.hold("alice", "r0", "elsewhere", 600_000, "")
	s.route("alice", "w0", `"pool":"q","maxWaitMs":600000`)
	s.now += 9_000
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connections":[{"connectionId":"c","maxConcurrent":1},{"connectionId":"d","maxConcurrent":2}]}`)
	for i, c := range []string{"c", "d", "d"} {
		s.hold("alice", fmt.Sprint("r", i+1), c, 60_000, "")
	}
	for i, key := range []string{"bob", "alice", "alice"} {
		s.route(key, fmt.Sprint("w", i+1), `"pool":"p","maxWaitMs":600000`)
		s.now += 1000
	}
	return s
}

// TestTrafficIsShown with the verdict, as it is at the time of the answer.
func TestTrafficIsShown(t *testing.T) {
	s := busy(t)
	atC := questions.Traffic{InFlight: 1, MaxConcurrent: 1, Waiting: 3, OldestMs: 3000, KeyWaiting: 2, KeyOldestMs: 2000}
	atD, carols, later := atC, atC, atC
	atD.InFlight, atD.MaxConcurrent = 2, 2
	carols.KeyWaiting, carols.KeyOldestMs = 0, 0
	later.InFlight, later.OldestMs, later.KeyOldestMs = 0, 60_000, 59_000
	renewed := atC
	renewed.InFlight = 0
	for _, c := range []struct {
		what string
		q    questions.Question
		now  int64
		want questions.Traffic
	}{
		{"a connection", questions.Question{APIKeyID: "alice", ConnectionID: "c"}, s.now, atC},
		{"another one of the pool", questions.Question{APIKeyID: "alice", ConnectionID: "d"}, s.now, atD},
		{"a key that does not wait", questions.Question{APIKeyID: "carol", ConnectionID: "c"}, s.now, carols},
		{"the pool, whose first answers", questions.Question{APIKeyID: "alice", Pool: "p"}, s.now, atC},
		{"a lease that is over by now", questions.Question{APIKeyID: "alice", ConnectionID: "c"}, s.now - 3_000 + 60_000, later},
		{"a hold of its own that is renewed", questions.Question{APIKeyID: "alice", ConnectionID: "c", RequestID: "r1", Reserve: true}, s.now, renewed},
		{"a choice that is a block", questions.Question{APIKeyID: "alice", Pool: "p", RequestID: "r9", Reserve: true}, s.now, atC},
		{"a choice", questions.Question{APIKeyID: "alice", Pool: "p", RequestID: "r2", Reserve: true}, s.now, with(atD, 1)},
	} {
		c.q.Explain = true
		if got := s.traffic(&c.q, c.now); got != c.want {
			t.Errorf("%s (-want +got):\n%s", c.what, cmp.Diff(c.want, got))
		}
	}
	s.Locals.Add(&projector.LocalHold{
		ID: "x", APIKeyID: "bob", ConnectionID: "c", RequestID: "r", Amounts: quota.Amounts{quota.Requests: 1_000}, End: s.now + 60_000,
	}, s.now)
	if got := s.traffic(&questions.Question{APIKeyID: "alice", ConnectionID: "c", Explain: true}, s.now); got != with(atC, 2) {
		t.Errorf("beside a local hold: %+v", got)
	}
}

func with(t questions.Traffic, inFlight int64) questions.Traffic {
	t.InFlight = inFlight
	return t
}

// TestTrafficIsOfOneMoment: nothing is left of the moment before, in memory that is
// used again.
func TestTrafficIsOfOneMoment(t *testing.T) {
	s := busy(t)
	asked := make([]projector.Asked, 1)
	look := func() (oldest, freeAt int64) {
		s.Gather([]questions.Question{{APIKeyID: "alice", ConnectionID: "d", RequestID: "r9", Reserve: true, Explain: true}}, s.now, asked)
		return asked[0].Traffic(1).OldestMs, asked[0].FreeAt - start
	}
	if oldest, freeAt := look(); oldest != 3000 || freeAt != 9_000+2*60_000 {
		t.Errorf("waiting for %d ms, free at %d", oldest, freeAt)
	}
	s.publish("quota.release", `{"apiKeyId":"bob","requestId":"w1"}`)
	if oldest, freeAt := look(); oldest != 2000 || freeAt != 9_000+60_000 {
		t.Errorf("waiting for %d ms, free at %d after one has left", oldest, freeAt)
	}
}

// traffic asks, in one message with a question about another pool's connection.
func (s *scene) traffic(q *questions.Question, now int64) questions.Traffic {
	asked := make([]projector.Asked, 2)
	if q.Routed() {
		var r projector.Route
		s.GatherRoute(q, now, &asked[1], &r)
	} else {
		s.Gather([]questions.Question{{APIKeyID: "alice", ConnectionID: "elsewhere", Explain: true}, *q}, now, asked)
	}
	a := &asked[1]
	return a.Traffic(a.Facts.Decide(a.Now).Connection)
}

// TestTrafficOfAVerdict is that of the hold's place, without the request itself,
// whether it waited or not.
func TestTrafficOfAVerdict(t *testing.T) {
	s := busy(t)
	waits := &projector.Expected{ID: "late", Question: questions.Question{Explain: true}, Done: make(chan struct{}, 1)}
	s.Expect(waits)
	s.publish("quota.hold", `{"id":"late","apiKeyId":"carol","requestId":"r","candidates":[{"connectionId":"d"}],"maxWaitMs":60000,"leaseMs":60000,"estimate":{},"decisionId":"late"}`)
	s.now += 500
	s.publish("quota.release", `{"apiKeyId":"alice","requestId":"r2"}`) // which bob gets
	s.publish("quota.release", `{"apiKeyId":"alice","requestId":"r3"}`)
	s.publish("quota.release", `{"apiKeyId":"bob","requestId":"w1"}`)
	told(t, waits)
	a := &waits.Asked
	if got, want := a.Traffic(a.Facts.Decide(a.Now).Connection), (questions.Traffic{InFlight: 1, MaxConcurrent: 2, Waiting: 1, OldestMs: 1500}); got != want {
		t.Errorf("who waited (-want +got):\n%s", cmp.Diff(want, got))
	}
	decide := &projector.Expected{ID: "now", Question: questions.Question{Explain: true}, Done: make(chan struct{}, 1)}
	s.Expect(decide)
	s.publish("quota.hold", `{"id":"now","apiKeyId":"alice","requestId":"r1","connectionId":"c","leaseMs":60000,"estimate":{},"decisionId":"now"}`)
	told(t, decide)
	a = &decide.Asked
	if got, want := a.Traffic(a.Facts.Decide(a.Now).Connection), (questions.Traffic{MaxConcurrent: 1, Waiting: 1, OldestMs: 1500, KeyWaiting: 1, KeyOldestMs: 1500}); got != want {
		t.Errorf("who renews (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// TestWaitsThatAreOverAreNotShown, though the log has not come to their ends: not beside
// a verdict, not in the snapshot, and not as figures.
func TestWaitsThatAreOverAreNotShown(t *testing.T) {
	s := newScene(t)
	s.narrow()
	s.hold("alice", "r", "c", 3_600_000, "")
	for i, key := range []string{"alice", "alice", "bob"} {
		s.route(key, fmt.Sprint("w", i), fmt.Sprintf(`"pool":"p","maxWaitMs":%d`, 1_000*(i+1)))
		s.now += 10
	}
	q := questions.Question{APIKeyID: "alice", ConnectionID: "c", Explain: true}
	for _, c := range []struct {
		at         int64
		all, alice int64
		since      int64 // when the first came
	}{{0, 3, 2, 0}, {999, 3, 2, 0}, {1_000, 2, 1, 10}, {2_009, 2, 1, 10}, {2_010, 1, 0, 20}, {3_020, 0, 0, 0}} {
		now := start + max(c.at, 30)
		got := s.traffic(&q, now)
		want := questions.Traffic{InFlight: 1, MaxConcurrent: 1, Waiting: c.all, KeyWaiting: c.alice}
		if c.all > 0 {
			want.OldestMs = now - start - c.since
		}
		if c.alice > 0 {
			want.KeyOldestMs = want.OldestMs
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("after %d ms (-want +got):\n%s", c.at, d)
		}
		u, _ := s.Usage("p", now)
		listed, figures := 0, 0
		for _, k := range u.Backlog.Keys {
			listed += k.Waiting
		}
		for _, b := range s.Backlogs(now) {
			figures += b.Waiting
		}
		if int64(u.Backlog.Waiting) != c.all || int64(listed) != c.all || int64(figures) != c.all {
			t.Errorf("after %d ms: %+v waits in the snapshot, %d by figures, want %d", c.at, u.Backlog, figures, c.all)
		}
	}
}
