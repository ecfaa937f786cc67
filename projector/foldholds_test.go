package projector_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
)

// hold publishes a hold and returns its verdict, as its writer gets it.
func (s *scene) hold(key, request, connection string, leaseMs int, estimate string) *projector.Expected {
	s.Helper()
	id := fmt.Sprint("h", s.seq+1)
	x := expect(s.State, id)
	s.publish("quota.hold", fmt.Sprintf(`{"id":%q,"apiKeyId":%q,"requestId":%q,"connectionId":%q,"leaseMs":%d,"estimate":{%s},"decisionId":%[1]q}`,
		id, key, request, connection, leaseMs, estimate))
	told(s, x)
	return x
}

func expect(s *projector.State, id string) *projector.Expected {
	x := &projector.Expected{ID: id, Done: make(chan struct{}, 1)}
	s.Expect(x)
	return x
}

func told(t fataler, x *projector.Expected) {
	t.Helper()
	select {
	case <-x.Done:
	default:
		t.Fatalf("nobody is told what became of %s", x.ID)
	}
}

// TestAHoldIsJudgedAsAQuestion: the verdict on a hold is the answer to the same
// question just before it, at its instant, whatever happened before.
func TestAHoldIsJudgedAsAQuestion(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := projector.NewState(memstore.New())
		log := append(tightPool(t), histories(6).Draw(t, "log")...)
		for i := range log {
			log[i].Seq = uint64(i + 1)
		}
		clock := log[len(log)-1].Time
		fold(t, s, log, 3)
		for i := range rapid.IntRange(1, 25).Draw(t, "more") {
			clock += rapid.SampledFrom([]int64{0, 0, 1, 999, 1_000, 60_000, 3_600_000}).Draw(t, "gap")
			m := events.Message{Seq: uint64(len(log) + i + 1), Time: clock}
			switch rapid.IntRange(0, 15).Draw(t, "what") {
			case 0:
				fillRichPool(t, &m)
			case 1:
				fillRichPlan(t, &m)
			case 2, 3, 4:
				fillUsage(t, &m)
			default:
				e := hold(t)
				e.ID = fmt.Sprint("held ", i)
				m.Subject, m.Data = "quota.hold", events.AppendJSON(nil, &e)
				seen[foldOne(t, s, m)]++
				continue
			}
			fold(t, s, []events.Message{m}, 1)
		}
	})
	for _, want := range []string{"no-pool", "ok", "global-saturated"} {
		if seen[want] == 0 {
			t.Errorf("no hold was %s, of %v", want, seen)
		}
	}
}

// tightPool is a pool on whose connections a few holds are many.
func tightPool(t *rapid.T) []events.Message {
	var log []events.Message
	put := map[string][]string{"Quota-Config": {"put"}}
	for _, c := range []string{"c1", "c2", "c3"} {
		log = append(log, events.Message{Subject: "quota.config.plan." + c, Header: put, Data: fmt.Appendf(nil,
			`{"connectionId":%q,"dimensions":[{"unit":"requests","window":"hourly","limit":%d},{"unit":"tokens","window":"5h","limit":%d}]}`,
			c, rapid.IntRange(1, 5).Draw(t, "requests"), rapid.IntRange(20, 9_000).Draw(t, "tokens"))})
	}
	log = append(log, events.Message{Subject: "quota.config.pool.p", Header: put, Data: fmt.Appendf(nil,
		`{"id":"p","name":"P","provider":"kimi","mode":%q,"connections":[%s],"allocations":[`+
			`{"apiKeyId":"alice","weight":%d,"policy":"hard"},{"apiKeyId":"bob","weight":30,"policy":%q,"caps":[{"unit":"tokens","window":"daily","value":%d}]}%s],`+
			`"modelCaps":[{"apiKeyId":"bob","model":"gpt","capUnit":"requests","capValue":1}]}`,
		rapid.SampledFrom([]string{"enforce", "enforce", "observe"}).Draw(t, "mode"),
		rapid.SampledFrom([]string{`{"connectionId":"c1"},{"connectionId":"c2"}`, `{"connectionId":"c1","maxConcurrent":1},{"connectionId":"c2","maxConcurrent":1}`, `{"connectionId":"c1","maxConcurrent":1},{"connectionId":"c2","weight":7,"maxConcurrent":2}`}).Draw(t, "connections"), rapid.IntRange(0, 40).Draw(t, "weight"),
		rapid.SampledFrom([]string{"hard", "soft", "burst"}).Draw(t, "policy"), rapid.SampledFrom([]int{1, 20, 4_000}).Draw(t, "cap"),
		rapid.SampledFrom([]string{"", `,{"apiKeyId":"*","weight":10,"policy":"hard"}`}).Draw(t, "others"))})
	for i := range log {
		log[i].Time = start
	}
	return log
}

// foldOne folds a message with one hold, compares its verdict with that of the
// question, and returns its reason.
func foldOne(t *rapid.T, s *projector.State, m events.Message) string {
	e := events.Decode(&m, nil)[0].Event
	q := questions.Question{
		APIKeyID: e.APIKeyID, ConnectionID: e.ConnectionID, Model: e.Model, Estimate: e.Cost, Reserve: true, RequestID: e.RequestID, Explain: true,
	}
	want := make([]projector.Asked, 1)
	var route projector.Route
	if q.Routed() {
		q.Pool = e.Pool
		for _, c := range e.Candidates {
			q.Candidates = append(q.Candidates, questions.Candidate(c))
		}
		s.GatherRoute(&q, m.Time, &want[0], &route)
	} else {
		s.Gather([]questions.Question{q}, m.Time, want)
	}
	x := expect(s, e.ID)
	x.Question.Explain = true
	fold(t, s, []events.Message{m}, 1)
	told(t, x)
	if d := cmp.Diff(route, x.Route); d != "" {
		t.Fatalf("the choice is another (-question +hold):\n%s", d)
	}
	if d := cmp.Diff(answerOf(&want[0]), answerOf(&x.Asked)); d != "" || x.Seq != m.Seq || x.Index != 0 {
		t.Fatalf("at %d.%d the verdict is another (-question +hold):\n%s", x.Seq, x.Index, d)
	}
	settled := s.Settled(e.APIKeyID, e.RequestID)
	a := x.Asked.Facts.Decide(x.Asked.Now)
	if held := a.Allowed() && !settled && !x.Asked.UnknownPool; x.Held != held || s.HoldOpen(e.APIKeyID, e.RequestID) != held {
		t.Fatalf("held %t, open %t, want %t", x.Held, s.HoldOpen(e.APIKeyID, e.RequestID), held)
	}
	switch {
	case q.Routed() && x.Asked.UnknownPool != (len(route.Candidates) == 0):
		t.Fatalf("unknown pool %t, candidates %v", x.Asked.UnknownPool, route.Candidates)
	case q.Routed() && !x.Asked.UnknownPool && a.Allowed() != (route.ConnectionID != ""):
		t.Fatalf("%s, and chosen %q", a.Reason, route.ConnectionID)
	case settled:
		return "late"
	}
	return a.Reason.String()
}

// answerOf tells all of an answer.
func answerOf(a *projector.Asked) []string {
	answer := a.Facts.Decide(a.Now)
	list := []string{fmt.Sprintf("%d %+v", a.Now, answer), fmt.Sprint(a.MaxLagMs, a.SampleRate, a.Pool)}
	if a.Pool != nil {
		for _, d := range a.Facts.Explain(answer.Connection, a.Now, nil) {
			list = append(list, fmt.Sprintf("%+v", d))
		}
	}
	return list
}

// TestThereIsRoomForSoManyHolds: one more is blocked until the first lease ends,
// unless it replaces another; a pool that only observes lets it pass, and nothing is
// held.
func TestThereIsRoomForSoManyHolds(t *testing.T) {
	s := newScene(t)
	s.SetMaxHolds(2)
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","mode":"observe","connectionIds":["watched"]}`)
	s.hold("alice", "r1", "c", 60_000, "")
	s.hold("alice", "r2", "c", 30_000, "")
	s.now++
	judged := func(x *projector.Expected, want string, held bool) {
		t.Helper()
		a := x.Asked.Facts.Decide(x.Asked.Now)
		if got := fmt.Sprint(a.Reason, a.Allowed(), a.RetryMs); got != want || x.Held != held {
			t.Errorf("%s, held %t, want %s, %t", got, x.Held, want, held)
		}
	}
	judged(s.hold("alice", "r3", "c", 1_000, ""), "capacity false 29999", false)
	judged(s.hold("alice", "r3", "watched", 1_000, ""), "capacity true 29999", false)
	judged(s.hold("alice", "r1", "d", 60_000, ""), "no-pool true 0", true)
	if got, want := s.Counts().Holds, (projector.HoldCounts{Opened: 3, Replaced: 1, Refused: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	s.now = start + 29_999
	judged(s.hold("alice", "r3", "c", 1_000, ""), "capacity false 1", false)
	q := []questions.Question{{APIKeyID: "alice", ConnectionID: "c", Reserve: true, RequestID: "r3"}}
	asked := make([]projector.Asked, 1)
	for later, want := range []bool{false, true} {
		s.Gather(q, s.now+int64(later), asked)
		if got := asked[0].Facts.Judge(s.now + int64(later)).Allowed(); got != want {
			t.Errorf("asked %d ms later: allowed %t", later, got)
		}
	}
	s.now = start + 30_000
	judged(s.hold("alice", "r3", "c", 1_000, ""), "no-pool true 0", true)
}

// TestWhoWaitsForAVerdictIsToldOnce: when the hold is folded for the first time, by
// its place; and never, when he gave up before.
func TestWhoWaitsForAVerdictIsToldOnce(t *testing.T) {
	s := newScene(t)
	x, gone := expect(s.State, "1"), expect(s.State, "2")
	if s.Unexpect(gone) {
		t.Error("who gives up before the fold is told that there is a verdict")
	}
	body := `{"id":"%d","apiKeyId":"a","requestId":"r%[1]d","connectionId":"c","leaseMs":1,"estimate":{},"decisionId":"%[1]d"}`
	for range 2 {
		s.publish("quota.hold", "["+fmt.Sprintf(body, 0)+","+fmt.Sprintf(body, 1)+","+fmt.Sprintf(body, 2)+"]")
	}
	if !s.Unexpect(x) {
		t.Error("who gives up after the fold is told that there is no verdict")
	}
	told(t, x)
	if len(x.Done)+len(gone.Done) != 0 || x.Seq != 1 || x.Index != 1 || !x.Held {
		t.Errorf("told again, or of another place: %d.%d, held %t", x.Seq, x.Index, x.Held)
	}
}

// TestATrialSeesWhatIsHeld: a limit below what is in flight blocks until that ends.
func TestATrialSeesWhatIsHeld(t *testing.T) {
	s := newScene(t)
	s.plan("c", "tokens", "hourly", "1000")
	s.pool(`"c"`, `,"allocations":[{"apiKeyId":"alice","weight":90,"policy":"hard"},{"apiKeyId":"bob","weight":10,"policy":"hard"}]`)
	s.hold("alice", "r1", "c", 60_000, `"tokens":700`)
	if now, _ := s.Pool("p"); len(now.Doc.Allocations) != 2 {
		t.Fatal("there is no pool of two")
	}
	draft := projector.Draft{ConnectionID: "c", Plan: &plans.Plan{Dimensions: []plans.Dimension{{Unit: 1, Window: 0, Limit: 700_000}}}}
	blocked, freed := s.Try(&draft, s.now+10_000)
	var got []string
	for _, e := range blocked {
		got = append(got, fmt.Sprint(e.APIKeyID, " ", e.Reason, " ", e.RetryAfterMs))
	}
	want := []string{"alice global-saturated 50000", "bob global-saturated 50000", "* global-saturated 50000"}
	if d := cmp.Diff(want, got); d != "" || len(freed) != 0 {
		t.Errorf("freed %v, blocked (-want +got):\n%s", freed, d)
	}
}

// TestHoldsAreReadWhileTheyChange is for the race detector: questions, usage and
// figures beside a fold that opens, lowers, settles and cuts.
func TestHoldsAreReadWhileTheyChange(t *testing.T) {
	s := newScene(t)
	s.plan("c0", "tokens", "hourly", "1000")
	s.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connections":[{"connectionId":"c0","maxConcurrent":2},{"connectionId":"c1","maxConcurrent":1}],`+
		`"allocations":[{"apiKeyId":"k0","weight":1,"policy":"hard"},{"apiKeyId":"*","weight":1}]}`)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for _, read := range []func(i int){
		func(i int) {
			asked := make([]projector.Asked, 2)
			s.Gather([]questions.Question{
				{APIKeyID: fmt.Sprint("k", i%4), ConnectionID: "c0", Reserve: true, RequestID: fmt.Sprint("r", i%9)}, {APIKeyID: "x", Pool: "p"},
			}, start+int64(i), asked)
			asked[0].Facts.Decide(asked[0].Now)
		},
		func(int) { s.Usage("p", start) },
		func(i int) {
			var a projector.Asked
			var r projector.Route
			s.GatherRoute(&questions.Question{APIKeyID: "k0", Pool: "p", Reserve: true, RequestID: fmt.Sprint("r", i%9)}, start+int64(i), &a, &r)
			s.InFlight(func(string, int64, int64) bool { return s.Due() > 0 })
			for _, b := range s.Backlogs(start) {
				_ = b.Waiting
			}
		},
		func(i int) { s.HoldOpen("k0", fmt.Sprint("r", i%9)); s.State.Holds() },
	} {
		readers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					read(i)
				}
			}
		})
	}
	for i := range 600 {
		key, request, conn := fmt.Sprint("k", i%4), fmt.Sprint("r", i%9), fmt.Sprint("c", i%3)
		s.now += int64(i % 2)
		s.hold(key, request, conn, 5+i%50, fmt.Sprintf(`"tokens":%d`, i%7*300))
		s.route(key, request+" too", `"pool":"p","maxWaitMs":9`)
		if i%3 > 0 {
			s.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":%q,"requestId":%q,"partial":%t,"cost":{"tokens":1}}`, key, conn, request, i%3 == 1))
		}
		if i%20 == 0 {
			cut(t, s.State, s.store)
		}
	}
	close(stop)
	readers.Wait()
}
