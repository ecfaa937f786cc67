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

// TestWhoRoamsHasItsTurnAtHome: places of both pools come free by one message, round
// after round. A request that likes the place elsewhere better is served at home in its
// turn, and does not leave that place to others for one that it never gets.
func TestWhoRoamsHasItsTurnAtHome(t *testing.T) {
	s := newScene(t)
	s.narrow()
	s.publish("quota.config.pool.q", `{"id":"q","name":"Q","provider":"custom","connections":[{"connectionId":"d","maxConcurrent":1}]}`)
	s.publish("quota.saturation", fmt.Sprintf(`{"connectionId":"c","readings":[{"window":"rate","usedPercent":100,"resetAt":%d}]}`, start+80_000_000))
	ask := func(n int) {
		s.ask("busy", fmt.Sprint("p", n), `"pool":"p"`, 1_000)
		s.ask("busy", fmt.Sprint("q", n), `"pool":"q"`, 1_000)
	}
	for n := range 3 {
		ask(n)
	}
	roamer := s.ask("roams", "r", `"candidates":[{"connectionId":"c"},{"connectionId":"d"}]`, 1)
	for n := 0; n < 2; n++ {
		ask(n + 3)
		s.publish("quota.release", fmt.Sprintf(`[{"apiKeyId":"busy","requestId":"p%d"},{"apiKeyId":"busy","requestId":"q%[1]d"}]`, n))
	}
	if len(roamer.Done) != 1 || roamer.Route.ConnectionID != "c" {
		t.Fatalf("after two rounds it is told %d times of %q", len(roamer.Done), roamer.Route.ConnectionID)
	}
	var tried []string
	for _, c := range roamer.Route.Candidates {
		tried = append(tried, c.ConnectionID+" "+c.Gate)
	}
	if d := cmp.Diff([]string{"c saturated", "d "}, tried); d != "" {
		t.Errorf("candidates (-want +got):\n%s", d)
	}
}

// single puts pools of one connection that takes so many, named like them with a 1, where
// k has a cap of 100 tokens an hour; and takes all places.
func (s *scene) single(takes int, pools ...string) {
	s.Helper()
	for _, p := range pools {
		s.publish("quota.config.pool."+p, fmt.Sprintf(`{"id":%q,"name":"P","provider":"custom","connections":[{"connectionId":"%[1]s1","maxConcurrent":%d}],
			"allocations":[{"apiKeyId":"k","weight":50,"policy":"hard","caps":[{"unit":"tokens","window":"hourly","value":100}]}]}`, p, takes))
		for i := range takes {
			s.ask("h", fmt.Sprint(p, i), fmt.Sprintf(`"candidates":[{"connectionId":"%s1"}]`, p), 1)
		}
	}
}

func (s *scene) release(key, request string) {
	s.Helper()
	s.publish("quota.release", fmt.Sprintf(`{"apiKeyId":%q,"requestId":%q}`, key, request))
}

// TestWhoWasBehindIsNotForgotten: when an earlier request of the key goes, be it to
// another pool or by time alone, one that it kept back passes by the same message, in
// whichever lane it waits.
func TestWhoWasBehindIsNotForgotten(t *testing.T) {
	for _, lane := range []string{"a", "m"} { // before and after that in which the earlier one waits
		s := newScene(t)
		s.single(1, lane, "b", "z")
		large := s.ask("k", "large", `"candidates":[{"connectionId":"b1"},{"connectionId":"z1"}]`, 60)
		small := s.ask("k", "small", fmt.Sprintf(`"candidates":[{"connectionId":"%s1"},{"connectionId":"b1"}]`, lane), 1)
		s.use("k", "b1", `"tokens":50`)
		s.release("h", "b0")
		if len(large.Done)+len(small.Done) != 0 {
			t.Errorf("lane %s: the large one is above its cap and the small one behind it: %d and %d told", lane, len(large.Done), len(small.Done))
		}
		s.release("h", "z0")
		if told(t, large); large.Route.ConnectionID != "z1" {
			t.Errorf("lane %s: the large one has %q", lane, large.Route.ConnectionID)
		}
		if len(small.Done) != 1 || small.Route.ConnectionID != "b1" {
			t.Errorf("lane %s: the small one is told %d times of %q", lane, len(small.Done), small.Route.ConnectionID)
		}
	}
	s := newScene(t)
	s.single(2, "p")
	s.single(1, "a")
	large := s.ask("k", "large", `"pool":"p"`, 50)
	small := s.ask("k", "small", `"candidates":[{"connectionId":"a1"},{"connectionId":"p1"}]`, 1)
	s.use("k", "p1", `"tokens":60`)
	s.release("h", "p0")
	s.release("h", "p1")
	for n := 0; n < 100 && len(large.Done)*len(small.Done) == 0; n++ {
		s.now = s.Due()
		s.publish("quota.due", "{}")
	}
	if len(large.Done) != 1 || len(small.Done) != 1 || small.Route.ConnectionID != "p1" {
		t.Errorf("by time: the large one is told %d times, the small one %d times of %q", len(large.Done), len(small.Done), small.Route.ConnectionID)
	}
}

// TestClaimHidesNoOther: a request that is kept from the connection whose turn it is, for
// an earlier one of its key, takes another one that is nobody's, and pays for that alone.
func TestClaimHidesNoOther(t *testing.T) {
	s := newScene(t)
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connections":[{"connectionId":"c","weight":9,"maxConcurrent":1},{"connectionId":"d","weight":1,"maxConcurrent":1}],
		"allocations":[{"apiKeyId":"k","weight":50,"policy":"hard","caps":[{"unit":"tokens","window":"hourly","value":100}]}]}`)
	for _, c := range []string{"c", "d"} {
		s.ask("h", c, fmt.Sprintf(`"candidates":[{"connectionId":%q}]`, c), 1)
	}
	s.ask("k", "large", `"candidates":[{"connectionId":"c"}]`, 60)
	small := s.ask("k", "small", `"pool":"p"`, 1)
	s.use("k", "c", `"tokens":50`)
	s.publish("quota.release", `[{"apiKeyId":"h","requestId":"c"},{"apiKeyId":"h","requestId":"d"}]`)
	if told(t, small); small.Route.ConnectionID != "d" || len(s.Waiting()) != 1 {
		t.Errorf("it has %q, and %d wait", small.Route.ConnectionID, len(s.Waiting()))
	}
	if d := cmp.Diff([]int64{0, 0}, s.Credits("p")); d != "" {
		t.Errorf("credits (-want +got):\n%s", d)
	}
}

// TestPlaceTakenElsewhereIsDueAgain: the place that another one takes of a pool where a
// request roams is the one that it is looked at for when it ends.
func TestPlaceTakenElsewhereIsDueAgain(t *testing.T) {
	s := newScene(t)
	s.single(1, "a", "b")
	s.ask("k", "large", `"candidates":[{"connectionId":"a1"},{"connectionId":"b1"}]`, 60)
	s.use("k", "b1", `"tokens":50`)
	s.release("h", "b0")
	s.publish("quota.hold", `{"id":"x","apiKeyId":"h","requestId":"x","candidates":[{"connectionId":"b1"}],"leaseMs":10000,"estimate":{},"decisionId":"x"}`)
	if got := s.Due(); got != s.now+10_000 {
		t.Errorf("due in %d", got-s.now)
	}
	s.restart()
}
