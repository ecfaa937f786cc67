package decider

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// listed is a page of the decision log, and all that follow.
func (r *running) listed(q httpapi.DecisionQuery) (list []questions.Record) {
	r.t.Helper()
	q.Limit = max(q.Limit, 1)
	for {
		page, next, err := r.Decisions(r.within(), &q)
		r.must(err)
		if len(page) > q.Limit {
			r.t.Errorf("a page of %d rows, want at most %d", len(page), q.Limit)
		}
		list = append(list, page...)
		if next == nil {
			return list
		}
		q.Before = next
	}
}

// stored waits until the decision log has n messages.
func (r *running) stored(n int) []jetstream.Msg {
	r.t.Helper()
	c, err := r.js.OrderedConsumer(r.within(), ingest.DecisionsStream, jetstream.OrderedConsumerConfig{})
	r.must(err)
	messages, err := c.Messages()
	r.must(err)
	defer messages.Stop()
	var list []jetstream.Msg
	for range n {
		m, err := messages.Next(jetstream.NextContext(r.within()))
		r.must(err)
		list = append(list, m)
	}
	return list
}

// row is a record in a line.
func line(c *questions.Record) string {
	asked := c.Question.ConnectionID
	if asked == "" {
		asked = "pool " + c.Question.Pool
	}
	return fmt.Sprintf("%s asked %s: %s %s by %q about %q ×%d", c.Question.APIKeyID, asked, c.Reply.Kind(), c.Reply.Reason, c.PoolID, c.ConnectionID, c.Count)
}

func lined(list []questions.Record) (all []string) {
	for i := range list {
		all = append(all, line(&list[i]))
	}
	return all
}

// blocking is a pool whose limit is used up: it blocks everybody.
func (r *running) blocking(pool string, connections ...string) *plans.Pool {
	r.t.Helper()
	p := team(pool, connections[0])
	for _, c := range connections[1:] {
		p.Connections = append(p.Connections, plans.Connection{ConnectionID: c, Weight: 100})
	}
	for _, c := range connections {
		_, err := r.PutPlan(r.within(), c, []plans.Dimension{{Unit: quota.Requests, Window: quota.Daily, Limit: quota.Amount(quota.Requests.Scale())}}, httpapi.Meta{})
		r.must(err)
		// More than the limit: what is of yesterday by the time of a question counts less.
		r.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":"alice","connectionId":%q,"cost":{"requests":2}}`, c))
	}
	_, err := r.putPool(r.within(), p, httpapi.Meta{})
	r.must(err)
	return p
}

// sampling sets the part of the allows that is recorded.
func (r *running) sampling(part quota.Ratio) {
	r.t.Helper()
	_, err := r.ChangeSettings(r.within(), func(s plans.Settings) (plans.Settings, error) {
		s[plans.DecisionSampleRate] = plans.SettingValue{N: int64(part), Origin: plans.Stored}
		return s, nil
	}, httpapi.Meta{})
	r.must(err)
}

// atClock makes an engine go by a clock of the test's, and publish soon.
func atClock(now *clock) func(*Engine) {
	return func(e *Engine) {
		e.now = now.ms
		e.changeDecisions = soon
	}
}

// TestWhatIsRecorded: every block, and would-be block, with what was asked and
// answered; equal ones within a second are one row, on the subject of their
// connection.
func TestWhatIsRecorded(t *testing.T) {
	now := newClock()
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", atClock(now))
	p := r.blocking("p", "c.1", "c.2")
	r.sampling(0)
	q := questions.Question{APIKeyID: "alice", ConnectionID: "c.1", Model: "m", RequestID: "r-1", MinSeq: 1, MaxWaitMs: 50}
	q.Estimate[quota.Tokens] = 7000
	first := r.ask(q)
	again := q
	again.RequestID = "r-2"
	later := q
	later.At = now.ms() + 3_600_000*25
	var second questions.Reply
	for i, q := range []questions.Question{again, later, {APIKeyID: "alice", Pool: "p", Explain: true}, {APIKeyID: "bob", ConnectionID: "none"}} {
		if reply := r.ask(q); i == 0 {
			second = reply
		}
	}
	want := []string{
		`alice asked pool p: block global-saturated by "p" about "c.1" ×1`,
		`alice asked c.1: block global-saturated by "p" about "c.1" ×2`,
	}
	if diff := cmp.Diff(want, lined(r.listed(httpapi.DecisionQuery{Limit: 10}))); diff != "" {
		t.Errorf("before it is stored (-want +got):\n%s", diff)
	}
	now.add(blockSpan)
	m := r.stored(1)[0]
	if m.Subject() != "quota.decisions.c%2E1" {
		t.Errorf("stored on %s", m.Subject())
	}
	rows, err := questions.ParseRecords(m.Data())
	r.must(err)
	if len(rows) != 2 {
		t.Fatalf("%d rows in the message, want both", len(rows))
	}
	wanted := questions.Record{
		Time: now.ms() - blockSpan, Index: questions.FromView, Count: 2, ConnectionID: "c.1", PoolID: "p", Process: r.Process(), Question: q, Reply: first,
		Others: []questions.Answered{{DecisionID: second.DecisionID, RequestID: "r-2", Time: now.ms() - blockSpan, Index: questions.FromView, AsOf: second.AsOf}},
	}
	if diff := cmp.Diff(wanted, rows[0]); diff != "" {
		t.Errorf("the row (-want +got):\n%s", diff)
	}
	if rows[1].Reply.Dimensions != nil || rows[1].Reply.Explained || !rows[1].Question.Explain {
		t.Errorf("of the explained answer is stored %+v", rows[1])
	}

	observed := *p
	observed.Mode = plans.Observe
	_, err = r.putPool(r.within(), &observed, httpapi.Meta{})
	r.must(err)
	r.ask(q)
	if got := lined(r.listed(httpapi.DecisionQuery{Kind: questions.WouldBlock, Limit: 10})); len(got) != 1 || !strings.HasPrefix(got[0], "alice asked c.1: would-block global-saturated") {
		t.Errorf("observed: %v", got)
	}
}

// TestAHoldIsRecordedAtItsPlace in the log, under its name; a block of the view
// has no place.
func TestAHoldIsRecordedAtItsPlace(t *testing.T) {
	now := newClock()
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", atClock(now))
	r.sampling(quota.RatioOne)
	_, err := r.PutPlan(r.within(), "c", []plans.Dimension{{Unit: quota.Requests, Window: quota.Daily, Limit: quota.Amount(quota.Requests.Scale())}}, httpapi.Meta{})
	r.must(err)
	_, err = r.putPool(r.within(), team("p", "c"), httpapi.Meta{})
	r.must(err)
	q := questions.Question{APIKeyID: "alice", ConnectionID: "c", Reserve: true, MaxWaitMs: 20_000, Estimate: quota.Amounts{quota.Requests: 1000}}
	held, blocked := r.ask(q), r.ask(q)
	if !held.Allow || blocked.Allow {
		t.Fatalf("the first is %+v, the second %+v", held, blocked)
	}
	list := r.listed(httpapi.DecisionQuery{Limit: 9})
	if len(list) != 2 {
		t.Fatalf("recorded are %v", lined(list))
	}
	asked := q
	asked.RequestID, held.Opened = held.DecisionID, false // that is in no row
	want := questions.Record{Time: now.ms(), Count: 1, ConnectionID: "c", PoolID: "p", Process: r.Process(), Question: asked, Reply: held}
	if diff := cmp.Diff(want, list[1], cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the hold (-want +got):\n%s", diff)
	}
	if list[0].Index != questions.FromView || list[0].Reply.DecisionID != blocked.DecisionID {
		t.Errorf("the block is %+v", list[0])
	}
}

// TestSampling: none, all, and exactly those that the hash chooses.
func TestSampling(t *testing.T) {
	for _, part := range []quota.Ratio{0, quota.RatioOne, quota.RatioOne / 100} {
		now := newClock()
		r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", atClock(now))
		r.sampling(part)
		var want, got []string
		for i := range 2000 {
			q := questions.Question{APIKeyID: "alice", ConnectionID: "c"}
			if i%2 == 0 {
				q.RequestID = fmt.Sprint("request ", i)
			}
			id := r.ask(q).DecisionID
			chosen := id
			if q.RequestID != "" {
				chosen = q.RequestID
			}
			if questions.Sampled("alice", chosen, part) {
				want = append(want, id)
			}
		}
		for _, c := range r.listed(httpapi.DecisionQuery{Limit: 1000}) {
			got = append([]string{c.Reply.DecisionID}, got...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("part %s (-want +got):\n%s", part, diff)
		}
		if r.decisions.missedAllows.Load() != 0 {
			t.Errorf("%d missed", r.decisions.missedAllows.Load())
		}
		r.stop()
	}
}

// TestReasonsAreThoseOfTheRules: what callers may filter by is what there is.
func TestReasonsAreThoseOfTheRules(t *testing.T) {
	all := []string{answers.Degraded}
	for reason := range fairshare.Suspended + 1 {
		all = append(all, reason.String())
	}
	sorted := cmp.Transformer("set", func(list []string) map[string]bool {
		set := map[string]bool{}
		for _, s := range list {
			set[s] = true
		}
		return set
	})
	if diff := cmp.Diff(all, httpapi.DecisionReasons, sorted); diff != "" {
		t.Errorf("reasons (-rules +filter):\n%s", diff)
	}
}

// TestRowsMakeWay for newer ones when too many wait, and that is counted.
func TestRowsMakeWay(t *testing.T) {
	d := newDecisions("p")
	for i := range int64(maxWaiting + 3) {
		d.blocked(1000, fmt.Sprint("key ", i), "cap", "")
	}
	d.blocked(1000, "key 0", "cap", "") // its row made way, and is no more
	list, _ := d.unstored()
	if len(list) != maxWaiting || d.displaced.Load() != 4 || list[0].Question.APIKeyID != "key 0" || list[0].Count != 1 {
		t.Errorf("%d rows, %d made way, the newest is of %s ×%d", len(list), d.displaced.Load(), list[0].Question.APIKeyID, list[0].Count)
	}
	if len(d.open) != maxWaiting {
		t.Errorf("%d rows are open, want those that wait", len(d.open))
	}
	if got := d.after(d.recent.last-1, 5000); len(got) != 1 || got[0].APIKeyID != "key 0" {
		t.Errorf("who watches sees %+v", got)
	}
}

// TestWhatIsListedStaysAsItIs, whatever joins its row meanwhile, and so does what
// the row names.
func TestWhatIsListedStaysAsItIs(t *testing.T) {
	d := newDecisions("p")
	for n := int64(1); n <= 3*questions.MostIDs; n += 2 {
		d.blocked(1000+n, "alice", "cap", "")
		list, _ := d.unstored()
		d.blocked(1001+n, "alice", "cap", "")
		c := &list[0]
		if len(list) != 1 || c.Count != int(n) || len(c.Others) > questions.MostIDs || !c.Names("d1001") || !c.Names(fmt.Sprint("d", 1000+n)) {
			t.Fatalf("%d rows, of %d blocks the first names %+v", len(list), c.Count, c.Others)
		}
	}
}

// TestATakenRowTakesNothingIn: an answer whose clock was read before it was taken
// begins another.
func TestATakenRowTakesNothingIn(t *testing.T) {
	d := newDecisions("p")
	d.blocked(1000, "alice", "cap", "")
	if flight, _ := d.take(1999, false); len(flight) != 0 {
		t.Error("taken before its second is over")
	}
	d.landed()
	flight, number := d.take(2000, false)
	d.blocked(1999, "alice", "cap", "")
	if len(flight) != 1 || flight[0].Count != 1 {
		t.Errorf("the flight is %+v", flight)
	}
	list, from := d.unstored()
	if len(list) != 2 || from != number {
		t.Errorf("%d rows are not stored, from flight %d; want both from %d", len(list), from, number)
	}
	d.landed()
	if list, from = d.unstored(); len(list) != 1 || from != number+1 {
		t.Errorf("%d rows are not stored, from flight %d; want one from %d", len(list), from, number+1)
	}
}

// BenchmarkUnsampled is what an allow costs that is not recorded.
func BenchmarkUnsampled(b *testing.B) {
	e := &Engine{decisions: newDecisions("p")}
	q := questions.Question{APIKeyID: "key-0017", ConnectionID: "codex-main", RequestID: "01JD9Q8ZK3W0XYZABCDEFGHIJK"}
	a := projector.Asked{SampleRate: 1}
	r := questions.Reply{Allow: true, DecisionID: "k3f9x2ab-1c"}
	b.ReportAllocs()
	for b.Loop() {
		e.record(&q, &a, &r, 0, questions.FromView)
	}
}
