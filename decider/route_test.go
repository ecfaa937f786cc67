package decider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// lanes is a pool of these connections, each of which takes so many at a time, 0 = as
// many as come.
func (r *running) lanes(most int64, connections ...string) {
	r.t.Helper()
	p := team("p", "")
	p.Connections = nil
	for _, id := range connections {
		p.Connections = append(p.Connections, plans.Connection{ConnectionID: id, Weight: 100, MaxConcurrent: most})
	}
	_, err := r.putPool(r.within(), p, httpapi.Meta{})
	r.must(err)
}

// routed is a question for any connection of the pool that waits as long as a test does.
func routed(request string) questions.Question {
	return questions.Question{
		APIKeyID: "alice", Pool: "p", RequestID: request, Reserve: true, MaxWaitMs: 15_000, Estimate: quota.Amounts{quota.Requests: 1000},
	}
}

// impatient is one that does not wait.
func impatient(request string) questions.Question {
	q := routed(request)
	q.MaxWaitMs = 0
	return q
}

// route asks for a connection, as it is: with a maxWaitMs of 0 too.
func (r *running) route(q questions.Question) questions.Reply {
	r.t.Helper()
	return r.askAll(q)[0]
}

// routing asks without waiting for the answer.
func (r *running) routing(q questions.Question) <-chan questions.Reply {
	answer := make(chan questions.Reply, 1)
	go func() { answer <- r.askAll(q)[0] }()
	return answer
}

// queue returns who waits, as key:number.
func (r *running) queue() (list []string) {
	state := r.current.Load().state
	_, now := state.At() // the log's: by ours a wait may be over before that
	for _, b := range state.Backlogs(now) {
		list = append(list, fmt.Sprintf("%s:%d", b.APIKeyID, b.Waiting))
	}
	return list
}

// awaitQueue waits until these wait.
func (r *running) awaitQueue(want ...string) {
	r.t.Helper()
	ctx := r.within()
	for {
		next := r.Applied() + 1
		if slices.Equal(r.queue(), want) {
			return
		}
		if err := r.current.Load().loop.Wait(ctx, next); err != nil {
			r.t.Fatalf("%v wait, want %v: %v", r.queue(), want, err)
		}
	}
}

func (r *running) release(key, request string) {
	r.t.Helper()
	r.publish("quota.release", fmt.Sprintf(`{"apiKeyId":%q,"requestId":%q}`, key, request))
}

// TestARouteIsChosenAndHeld, turn by turn, whichever way it is asked for.
func TestARouteIsChosenAndHeld(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.lanes(0, "a", "b")
	byName, byCandidates := routed("2"), routed("3")
	byName.Pool, byName.Route, byName.Model = "p", questions.RouteName("p", "kimi", "k2/fast"), "k2/fast"
	byCandidates.Pool, byCandidates.Candidates = "", []questions.Candidate{{ConnectionID: "a"}, {ConnectionID: "b", Score: 500_000, HasScore: true}}
	for i, q := range []questions.Question{routed("1"), byName, byCandidates, routed("4")} {
		got := r.folded(q)
		want := []string{"a", "b"}[i%2]
		if !got.Allow || got.ConnectionID != want || len(got.Candidates) != 2 || got.Candidates[0].ConnectionID != want || got.Candidates[0].Order != 1 {
			t.Errorf("answer %d is %+v, want %s", i, got, want)
		}
		if second := got.Candidates[1]; second.HasScore != (i == 2) || i == 2 && (second.ConnectionID != "b" || second.Score != 500_000) {
			t.Errorf("answer %d has the scores of %+v", i, got.Candidates)
		}
	}
	if n := r.open(); n != 4 {
		t.Errorf("%d are held, want 4", n)
	}
}

// TestASoftKeyLowersScores, last of all.
func TestASoftKeyLowersScores(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.limit("c", 10)
	p := team("p", "c")
	p.Allocations[0].Policy = plans.Soft
	_, err := r.putPool(r.within(), p, httpapi.Meta{})
	r.must(err)
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c","cost":{"requests":6}}`)
	q := routed("1")
	q.Pool, q.Candidates = "", []questions.Candidate{{ConnectionID: "c", Score: 900_000, HasScore: true}, {ConnectionID: "elsewhere", Score: 100_000, HasScore: true}}
	got := r.folded(q)
	if !got.Deprioritize || got.ConnectionID != "c" || got.Candidates[0].Score != 630_000 || got.Candidates[1].Score != 100_000 {
		t.Errorf("answered %+v", got)
	}
}

func TestRoutesThatCannotBeAnswered(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.lanes(0, "a")
	named := func(name string) questions.Question {
		q := impatient("1")
		q.Route = name
		q.Pool, _, q.Model, _ = questions.SplitRoute(name)
		return q
	}
	unknown := impatient("1")
	unknown.Pool = "q"
	for want, q := range map[string]questions.Question{
		`pool: there is no pool "q"; list the pools for their ids`:                  unknown,
		`route: there is no pool "q r"; list the pools for their ids`:               named("qtSd/q%20r/kimi/m"),
		`route: the provider of pool "p" is kimi: use qtSd/p/kimi/anthropic/claude`: named("qtSd/p/codex/anthropic/claude"),
	} {
		if got := r.route(q); got.Err == nil || got.Err.Code != questions.CodeInvalid || got.Err.Message != want {
			t.Errorf("answered %+v, want %s", got, want)
		}
	}
	if n := r.written("quota.hold"); n != 0 {
		t.Errorf("%d holds are written", n)
	}
}

// TestOneAtATime: three at once for one place are let in one after the other, in the
// order in which they came, and no more than one is ever in flight.
func TestOneAtATime(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.lanes(1, "a")
	if got := r.folded(routed("1")); got.ConnectionID != "a" {
		t.Fatalf("answered %+v", got)
	}
	second := r.routing(routed("2"))
	r.awaitQueue("alice:1")
	third := r.routing(routed("3"))
	r.awaitQueue("alice:2")
	for i, answer := range []<-chan questions.Reply{second, third} {
		select {
		case got := <-answer:
			t.Fatalf("answer %d came before its turn: %+v", i, got)
		default:
		}
		if i == 0 {
			r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"a","requestId":"1"}`)
		} else {
			r.release("alice", "2")
		}
		if got, _ := came(t, answer, "its turn"); !got.Allow || got.ConnectionID != "a" || len(got.Degraded) > 0 || r.open() != 1 {
			t.Errorf("answer %d is %+v, %d are open", i, got, r.open())
		}
	}
	r.awaitQueue()
}

// TestNoRoomAndNoTime: who does not wait is told when there is room, and is not
// written; decide with reserve never waits.
func TestNoRoomAndNoTime(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.lanes(1, "a")
	first := routed("1")
	first.LeaseMs = 60_000
	r.folded(first)
	ends := r.current.Load().state.Holds().FirstEnd
	decide := held("2")
	decide.ConnectionID = "a"
	for what, q := range map[string]questions.Question{"route": impatient("2"), "decide": decide} {
		got := r.route(q)
		if got.Err != nil || got.Allow || got.Reason != "capacity" || got.Scope != "connection" || got.HTTPStatus != 429 || got.ConnectionID != "" {
			t.Errorf("%s is answered %+v", what, got)
		}
		if got.RetryAt != ends || !strings.Contains(got.Message, "no room for another request in flight: it takes 1 at a time; try again at ") {
			t.Errorf("%s: again at %d and %q, want %d", what, got.RetryAt, got.Message, ends)
		}
	}
	if n := r.written("quota.hold"); n != 1 {
		t.Errorf("%d holds are written, want the first alone", n)
	}
}

// TestACallerLeaves: its place in the backlog is given up.
func TestACallerLeaves(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.lanes(1, "a")
	r.folded(routed("1"))
	ctx, leave := context.WithCancel(context.Background())
	gone := returned(func() { r.Decide(ctx, []questions.Question{routed("2")}, make([]questions.Reply, 1)) })
	r.awaitQueue("alice:1")
	stays := r.routing(routed("3"))
	r.awaitQueue("alice:2")
	leave()
	await(t, gone, "the end of the call")
	r.awaitQueue("alice:1")
	r.release("alice", "1")
	if got, _ := came(t, stays, "its turn"); !got.Allow || r.open() != 1 {
		t.Errorf("answered %+v, %d open", got, r.open())
	}
}

// TestAPreviewChooses, and leaves no trace.
func TestAPreviewChooses(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.lanes(1, "a", "b")
	r.folded(routed("1"))
	rs := make([]questions.Reply, 1)
	for range 2 {
		r.Preview(r.within(), []questions.Question{routed("2")}, rs)
		if got := &rs[0]; !got.Allow || got.ConnectionID != "b" || got.Candidates[1].Gate != "capacity" || got.Candidates[1].InFlight != 1 {
			t.Errorf("answered %+v", got)
		}
		rs[0].Reset()
	}
	if r.open() != 1 || r.written("quota.hold") != 1 {
		t.Errorf("%d are open, %d written", r.open(), r.written("quota.hold"))
	}
}

// TestARouteWithoutAVerdict is that of the view. What is chosen counts on both
// deciders and is what the log gets when it is back.
func TestARouteWithoutAVerdict(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
	a.lanes(1, "a", "b")
	b.level(a)
	a.refuse()
	q := routed("1")
	q.MaxWaitMs = 1
	if got := a.noHold(q, "ok"); got.ConnectionID != "a" || len(got.Candidates) != 2 {
		t.Errorf("answered %+v", got)
	}
	heard(t, nc)
	q.RequestID = "2"
	if got := b.noHold(q, "ok"); got.ConnectionID != "b" || got.Candidates[1].InFlight != 1 {
		t.Errorf("the other decider answered %+v", got)
	}
	heard(t, nc)
	q.RequestID = "3"
	if got := a.ask(q); got.Allow || got.Reason != "capacity" || got.ConnectionID != "" || !slices.Equal(got.Degraded, []string{answers.NoHold}) {
		t.Errorf("a third for two places: %+v", got)
	}
	a.take()
	for _, r := range []*running{a, b} {
		r.awaitOpen(2)
	}
	if n := a.written("quota.hold"); n != 2 {
		t.Errorf("%d holds are written, want those two: what left the connection open is not worth it any more", n)
	}
}

// awaitOpen waits until so many holds are open.
func (r *running) awaitOpen(want int) {
	r.t.Helper()
	ctx := r.within()
	for {
		next := r.Applied() + 1
		if r.open() == want {
			return
		}
		if err := r.current.Load().loop.Wait(ctx, next); err != nil {
			r.t.Fatalf("%d are open, want %d: %v", r.open(), want, err)
		}
	}
}

// TestARouteIsRecorded with the connection that was chosen, or would be first.
func TestARouteIsRecorded(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.lanes(1, "a")
	r.folded(routed("1"))
	r.route(impatient("2"))
	blocks, _ := r.decisions.unstored()
	if len(blocks) == 0 || blocks[0].ConnectionID != "a" || blocks[0].PoolID != "p" || !blocks[0].Question.Routed() || blocks[0].Reply.Candidates != nil {
		t.Errorf("recorded are %+v", blocks)
	}
	var asked projector.Asked
	reply := questions.Reply{Allow: true, ConnectionID: "elsewhere", RequestID: "x"}
	asked.SampleRate = quota.RatioOne
	q := routed("x")
	r.record(&q, &asked, &reply, -1, questions.FromView)
	if list, _ := r.decisions.unstored(); list[0].ConnectionID != "elsewhere" {
		t.Errorf("recorded is %+v", list[0])
	}
}

// TestRouteFigures: what is in flight, what waits and how long, and what became of it.
func TestRouteFigures(t *testing.T) {
	c := newClock()
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) { e.now = c.ms })
	r.lanes(1, "a")
	r.folded(routed("1"))
	ctx, leave := context.WithCancel(context.Background())
	gone := returned(func() { r.Decide(ctx, []questions.Question{routed("2")}, make([]questions.Reply, 1)) })
	r.awaitQueue("alice:1")
	_, arrived := r.current.Load().state.At()
	c.Store(arrived + 2_000)
	r.showing(map[string]float64{
		"connection_in_flight a": 1, "connection_max_concurrent a": 1, "backlog_waiting p": 1, "backlog_oldest_seconds p": 2,
		"route_series_left_out connections": 0, "route_series_left_out pools": 0, "hold_verdict_seconds": 1, "backlog_wait_seconds": 0, "holds_total waited": 1,
	})
	leave()
	await(t, gone, "the end of the call")
	r.awaitQueue()
	third := r.routing(routed("3"))
	r.awaitQueue("alice:1")
	r.release("alice", "1")
	came(t, third, "its turn")
	r.showing(map[string]float64{
		"connection_in_flight a": 1, "backlog_waiting p": 0, "hold_verdict_seconds": 1, "backlog_wait_seconds": 1,
		"holds_total waited": 2, "holds_total granted": 1, "holds_total left": 1,
	})
}

// TestManyHaveNoFiguresOfTheirOwn.
func TestManyHaveNoFiguresOfTheirOwn(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	var ids []string
	for i := range maxListed + 3 {
		ids = append(ids, fmt.Sprintf("c%04d", i))
	}
	r.lanes(2, ids...)
	got, n := r.gathered(), 0
	for name := range got {
		if strings.HasPrefix(name, "connection_in_flight ") {
			n++
		}
	}
	if n != maxListed || got["route_series_left_out connections"] != 3 {
		t.Errorf("%d connections have figures, %v are left out", n, got["route_series_left_out connections"])
	}
}

// TestAHurriedRouteIsWrittenAsItWasChosen: the log need not choose again for a call
// that is on its way.
func TestAHurriedRouteIsWrittenAsItWasChosen(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.lanes(1, "a", "b")
	for i, want := range []string{"a", "b", ""} {
		got := r.askHurried(routed(fmt.Sprint(i)))[0]
		if got.ConnectionID != want || got.Allow != (want != "") || !slices.Equal(got.Degraded, []string{answers.NoHold}) {
			t.Errorf("answer %d is %+v, want %q", i, got, want)
		}
	}
	r.awaitOpen(2)
	s, err := r.js.Stream(r.within(), events.Stream)
	r.must(err)
	m, err := s.GetLastMsgForSubject(r.within(), "quota.hold")
	r.must(err)
	if e := events.Decode(&events.Message{Subject: m.Subject, Data: m.Data}, nil)[0].Event; e.ConnectionID == "" || e.Pool != "" {
		t.Errorf("the log has %s", m.Data)
	}
}

// TestABlockEndsAWait: who asks again and is refused waits no more.
func TestABlockEndsAWait(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", unhurried)
	r.lanes(1, "a")
	r.folded(routed("1"))
	let := r.routing(routed("2"))
	r.awaitQueue("alice:1")
	if got := r.route(impatient("2")); got.Allow || got.Reason != "capacity" || len(got.Degraded) > 0 {
		t.Errorf("answered %+v", got)
	}
	if list := r.queue(); list != nil {
		t.Errorf("%v wait", list)
	}
	if got, _ := came(t, let, "its end"); got.Allow {
		t.Errorf("the first of them is answered %+v", got)
	}
}

// TestAPoolDeletedMeanwhile is no fault of the question that waits for it.
func TestAPoolDeletedMeanwhile(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.lanes(1, "a")
	r.folded(routed("1"))
	let := r.routing(routed("2"))
	r.awaitQueue("alice:1")
	r.must(r.DeletePool(r.within(), "p", httpapi.Meta{}))
	got, _ := came(t, let, "its end")
	if got.Err != nil || got.Allow || got.Reason != "capacity" || got.HTTPStatus != 429 || got.RetryAt != 0 || !strings.Contains(got.Message, "was deleted while the request waited") {
		t.Errorf("answered %+v", got)
	}
	if got := r.route(routed("3")); got.Err == nil {
		t.Errorf("the next one is answered %+v", got)
	}
}

// TestAClosedPoolChoosesNothing without a verdict.
func TestAClosedPoolChoosesNothing(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 2, func(p *plans.Pool) { p.OnDegraded = plans.Closed })
	if got := r.askHurried(routed("1"))[0]; got.Allow || got.Reason != answers.Degraded || got.ConnectionID != "" || got.HTTPStatus != 503 {
		t.Errorf("answered %+v", got)
	}
}

// TestBlocksOfDifferentChoicesAreRows of their own.
func TestBlocksOfDifferentChoicesAreRows(t *testing.T) {
	clock := newClock() // all is in one second
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) { e.now = clock.ms })
	r.lanes(1, "a")
	r.folded(routed("1"))
	ofCandidates := func(ids ...string) questions.Question {
		q := impatient("")
		q.Pool = ""
		for _, id := range ids {
			q.Candidates = append(q.Candidates, questions.Candidate{ConnectionID: id})
		}
		return q
	}
	p := team("p", "a")
	p.Connections[0].MaxConcurrent, p.Allocations[1].Suspended = 1, true
	_, err := r.putPool(r.within(), p, httpapi.Meta{})
	r.must(err)
	bob := impatient("")
	bob.APIKeyID = "bob"
	plain := bob
	plain.Reserve = false
	for _, q := range []questions.Question{impatient(""), impatient(""), ofCandidates("a"), ofCandidates("a"), bob, plain} {
		if got := r.route(q); got.Allow {
			t.Errorf("answered %+v", got)
		}
	}
	rows, _ := r.decisions.unstored()
	var counts []int
	for _, row := range rows {
		if !row.Reply.Allow {
			counts = append(counts, row.Count)
		}
	}
	if !slices.Equal(counts, []int{1, 1, 2, 2}) {
		t.Errorf("rows are of %v blocks, want 1, 1, 2 and 2", counts)
	}
}
