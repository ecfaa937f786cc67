package projector_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/routing"
)

// TestWhoRoamsHasItsTurn: under steady load on both pools a request with candidates in
// both never finds a place in the other pool, whose own backlog takes every one. In its
// own it is served as any other: a key that has something waiting there all the time
// goes no more often before it than in the rounds that pay for it, and once.
func TestWhoRoamsHasItsTurn(t *testing.T) {
	for _, c := range []struct{ tokens, rounds int }{{1, 1}, {1_000, 1}, {1_001, 2}, {5_500, 6}} {
		s := newScene(t)
		s.narrow()
		s.publish("quota.config.pool.q", `{"id":"q","name":"Q","provider":"custom","connections":[{"connectionId":"d","maxConcurrent":1}]}`)
		last, served := map[string]int{}, map[string]int{}
		ask := func(pool string) {
			last[pool]++
			s.ask("busy", fmt.Sprint(pool, last[pool]), fmt.Sprintf(`"pool":%q`, pool), 1_000)
		}
		for range 3 {
			ask("p")
			ask("q")
		}
		roamer := s.ask("roams", "r", `"candidates":[{"connectionId":"d"},{"connectionId":"c"}]`, c.tokens)
		for n := 1; len(roamer.Done) == 0 && n < 20; n++ {
			for _, pool := range []string{"p", "q"} {
				ask(pool)
				s.publish("quota.release", fmt.Sprintf(`{"apiKeyId":"busy","requestId":"%s%d"}`, pool, n))
				if s.HoldOpen("busy", fmt.Sprint(pool, n+1)) {
					served[pool]++
				}
			}
		}
		if len(roamer.Done) != 1 || roamer.Route.ConnectionID != "d" || served["q"] > c.rounds+1 || served["p"] <= served["q"] {
			t.Errorf("%d tokens: told %d times of %s, %d went before it in its pool and %d in the other",
				c.tokens, len(roamer.Done), roamer.Route.ConnectionID, served["q"], served["p"])
		}
	}
}

// ask publishes a hold that costs so many tokens, and has all the time to wait.
func (s *scene) ask(key, request, of string, tokens int) *projector.Expected {
	s.Helper()
	x := expect(s.State, request)
	s.publish("quota.hold", fmt.Sprintf(`{"id":%q,"apiKeyId":%q,"requestId":%[1]q,%[3]s,"leaseMs":3600000,"maxWaitMs":3600000,"estimate":{"tokens":%d},"decisionId":%[1]q}`, request, key, of, tokens))
	return x
}

// notLookedAt is two pools, all of whose connections are taken, and two requests that
// wait for c in p, which is of q by now. They were not looked at while it was of none,
// behind so many of their key.
func (s *scene) notLookedAt() (of [2]*projector.Expected) {
	s.Helper()
	pools := func(p, q string) {
		for i, connections := range []string{p, q} {
			s.publish("quota.config.pool."+"pq"[i:i+1], fmt.Sprintf(`{"id":%q,"name":"N","provider":"custom","connections":[%s]}`, "pq"[i:i+1], connections))
		}
	}
	one := func(id string) string { return fmt.Sprintf(`{"connectionId":%q,"maxConcurrent":1}`, id) }
	pools(one("c"), one("d"))
	for _, c := range []string{"c", "d", "e"} {
		told(s, s.route("b", c, fmt.Sprintf(`"candidates":[{"connectionId":%q}]`, c)))
	}
	for i := range 64 {
		s.ask("a", fmt.Sprint("before ", i), `"pool":"p"`, 1)
	}
	for i, wait := range []int{60_000, 5_000} {
		of[i] = s.route("a", fmt.Sprint("roams ", i), fmt.Sprintf(`"candidates":[{"connectionId":"c"}],"maxWaitMs":%d`, wait))
	}
	pools(one("e"), one("d")+","+one("c"))
	return of
}

// TestWhoRoamsWaitsOnElsewhere: when the pool is deleted in which it waits, a request
// waits on in that which has a candidate of its own, the last of its key there, for the
// time that it has left.
func TestWhoRoamsWaitsOnElsewhere(t *testing.T) {
	s := newScene(t)
	roams := s.notLookedAt()
	s.ask("a", "there", `"pool":"q"`, 1)
	s.restart()
	s.now += 1_000
	s.publish("quota.config.pool.p", "")
	want := projector.HoldCounts{Opened: 3, Waited: 67, Left: 64}
	if got := s.Counts().Holds; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	var waiting []string
	for _, w := range s.Waiting() {
		waiting = append(waiting, fmt.Sprintf("%s %d %d", w.Pool, w.Arrived-start, w.Deadline-start))
	}
	if d := cmp.Diff([]string{"q 0 3600000", "q 0 60000", "q 0 5000"}, waiting); d != "" {
		t.Fatalf("who waits (-want +got):\n%s", d)
	}
	s.restart()
	s.publish("quota.release", `{"apiKeyId":"b","requestId":"c"}`)
	s.publish("quota.release", `{"apiKeyId":"a","requestId":"there"}`)
	if !s.HoldOpen("a", "roams 0") || len(s.Waiting()) != 1 {
		t.Errorf("%d wait", len(s.Waiting()))
	}
	s.now = start + 5_000
	s.publish("quota.due", "{}")
	want.Opened, want.Released, want.Granted, want.TimedOut = 5, 2, 2, 1
	if got := s.Counts().Holds; got != want || len(roams[0].Done) != 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestWhoRoamsIsToldWhereItMoved, and is refused when there is no room for it.
func TestWhoRoamsIsToldWhereItMoved(t *testing.T) {
	for _, full := range []bool{false, true} {
		s := newScene(t)
		roams := s.notLookedAt()
		for i := 0; full && i < routing.MaxWaiting/2; i++ {
			s.ask("a", fmt.Sprint("there ", i), `"pool":"q"`, 1)
		}
		s.publish("quota.config.pool.p", "")
		if len(roams[0].Done) == 0 == full {
			t.Errorf("full %t: it is told %d times", full, len(roams[0].Done))
		}
		s.publish("quota.release", `{"apiKeyId":"b","requestId":"c"}`)
		if told(t, roams[0]); roams[0].Held == full || !roams[0].Route.Waited || roams[0].Route.PoolDeleted {
			t.Errorf("full %t: held %t, %+v", full, roams[0].Held, roams[0].Route)
		}
	}
}

// restart goes on from the store.
func (s *scene) restart() {
	s.Helper()
	before := finish(s, s.State, s.store)
	s.State = load(s, s.store)
	same(s, before, finish(s, s.State, s.store), "restarting")
}
