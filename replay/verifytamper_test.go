package replay_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay"
)

// given are rows that somebody has in memory.
type given []questions.Record

func (g given) Each(_ context.Context, fn func(*questions.Record) error) error {
	for i := range g {
		if err := fn(&g[i]); err != nil {
			return err
		}
	}
	return nil
}

// recorded is every answer in a row of its own: answers of one second that are equal
// share one, so the rows of a fast machine are fewer than those of a slow one.
func (c *town) recorded() (list given) {
	c.t.Helper()
	c.must(c.rows().Each(c.t.Context(), func(r *questions.Record) error {
		named, _ := r.Split()
		list = append(list, named...)
		return nil
	}))
	return list
}

// tampering is what rules that are broken, or a liar, would have recorded. It returns
// the field that gives it away, "" when it does not alter the record.
type tampering struct {
	name string
	do   func(c *questions.Record) (field string)
}

var tamperings = []tampering{
	{"passes what the rules block", func(c *questions.Record) string {
		if c.Reply.Allow {
			return ""
		}
		c.Reply.Allow, c.Reply.HTTPStatus, c.Reply.Message = true, 200, ""
		return "decision"
	}},
	{"blocks what the rules let pass", func(c *questions.Record) string {
		if !c.Reply.Allow {
			return ""
		}
		c.Reply.Allow, c.Reply.HTTPStatus = false, 429
		return "decision"
	}},
	{"another reason", func(c *questions.Record) string {
		if c.Reply.Reason == "fair-share" {
			c.Reply.Reason = "global-saturated"
		} else {
			c.Reply.Reason = "fair-share"
		}
		return "reason"
	}},
	{"a millisecond later", func(c *questions.Record) string {
		if c.Reply.RetryAt == 0 {
			return ""
		}
		c.Reply.RetryAfterMs, c.Reply.RetryAt = c.Reply.RetryAfterMs+1, c.Reply.RetryAt+1
		return "retryAfterMs"
	}},
	{"never", func(c *questions.Record) string {
		if c.Reply.RetryAt == 0 {
			return ""
		}
		c.Reply.RetryAfterMs, c.Reply.RetryAt = 0, 0
		return "retryAt"
	}},
	{"not deprioritized", func(c *questions.Record) string {
		c.Reply.Deprioritize = !c.Reply.Deprioritize
		return "deprioritize"
	}},
	{"another factor", func(c *questions.Record) string { c.Reply.ScoreFactor -= 1; return "scoreFactor" }},
	{"another window", func(c *questions.Record) string {
		if !c.Reply.HasBinding || c.Reply.Binding.Model != "" {
			return ""
		}
		c.Reply.Binding.Window = (c.Reply.Binding.Window + 1) % quota.NumWindows
		return "binding"
	}},
	{"another scope", func(c *questions.Record) string {
		if c.Reply.Scope == "pool" {
			c.Reply.Scope = "key"
		} else {
			c.Reply.Scope = "pool"
		}
		return "scope"
	}},
	{"another detail", func(c *questions.Record) string {
		if c.Reply.Detail == "yield" {
			c.Reply.Detail = "reserved"
		} else {
			c.Reply.Detail = "yield"
		}
		return "detail"
	}},
	{"one alternative less", func(c *questions.Record) string {
		if len(c.Reply.Alternatives) == 0 {
			return ""
		}
		c.Reply.Alternatives = c.Reply.Alternatives[1:]
		return "alternatives"
	}},
	{"an observation left out", func(c *questions.Record) string {
		c.Reply.WouldBlock = !c.Reply.WouldBlock
		return "wouldBlock"
	}},
	{"another number in the message", func(c *questions.Record) string {
		if c.Reply.Message == "" {
			return ""
		}
		c.Reply.Message += "1"
		return "message"
	}},
	{"another account", func(c *questions.Record) string {
		if c.Reply.ConnectionID == "" {
			return ""
		}
		c.Reply.ConnectionID = "elsewhere"
		return "connectionId"
	}},
	{"the place of another hold", func(c *questions.Record) string {
		if c.Index == questions.FromView {
			return ""
		}
		c.Index++
		return "index"
	}},
	{"a question that was not asked", func(c *questions.Record) string {
		if c.Index == questions.FromView {
			return ""
		}
		c.Question.Estimate[quota.Tokens] += 1000
		return "question"
	}},
	{"a time before the log's", func(c *questions.Record) string { c.Reply.AsOf.Time -= 3_600_000; return "asOf.time" }},
	{"late for nothing", func(c *questions.Record) string { c.Reply.AsOf.LagMs = 60_000; return "degraded" }},
	{"the rules of another pool", func(c *questions.Record) string { c.PoolID += "x"; return "row.poolId" }},
	{"about another account", func(c *questions.Record) string { c.ConnectionID += "x"; return "row.connectionId" }},
}

// firstAlone are the fields of which a row has those of its first answer alone.
var firstAlone = []string{
	"retryAfterMs", "retryAt", "deprioritize", "scoreFactor", "scope", "detail", "alternatives", "message", "connectionId", "asOf.time",
}

// TestNothingThatIsRecordedOtherwiseIsMissed: each recorded decision, altered in each
// way, is found by the field that was altered.
func TestNothingThatIsRecordedOtherwiseIsMissed(t *testing.T) {
	c := newTown(t)
	c.live(60)
	recorded := c.recorded()
	var rows given
	want := map[string]string{}
	done := map[string]int{}
	for i := range recorded {
		if recorded[i].Local || slices.Contains(recorded[i].Reply.Degraded, answers.NoHold) {
			continue // the next test's
		}
		for _, tamper := range tamperings {
			row := recorded[i]
			row.Reply.Alternatives = slices.Clone(row.Reply.Alternatives)
			field := tamper.do(&row)
			if field == "" || tamper.name == "late for nothing" && row.Index != questions.FromView {
				continue // how late a verdict is told does not matter
			}
			if row.ReplyOf != "" && slices.Contains(firstAlone, field) {
				continue
			}
			done[tamper.name]++
			row.Process = fmt.Sprint("p", len(rows))
			want[row.Process] = field
			rows = append(rows, row)
		}
	}
	v, list := c.verify(replay.VerifyOptions{Rows: rows})
	waited := 0
	for i := range list {
		d := &list[i]
		if !slices.ContainsFunc(d.Fields, func(f replay.FieldDifference) bool {
			return f.Name == want[d.Record.Process] && f.Recorded != f.Derived
		}) {
			t.Errorf("%s: found as %+v", want[d.Record.Process], d.Fields)
		}
		delete(want, d.Record.Process)
	}
	for i := range rows {
		if field := want[rows[i].Process]; field == "degraded" && rows[i].Question.Routed() {
			waited++ // the verdict on one that waited: it may be told late too
		} else if field != "" {
			t.Errorf("not found: %s in %s", field, rows[i].AppendJSON(nil))
		}
	}
	for _, tamper := range tamperings {
		if done[tamper.name] < 3 {
			t.Errorf("%s: only %d of %d rows were altered", tamper.name, done[tamper.name], len(recorded))
		}
	}
	t.Logf("%+v, %d late verdicts", v.Rows, waited)
}

// TestARowOfAStrangerIsFound: one that somebody publishes by hand, among what is no row.
// TestBlocksThatShareARowAreDerivedEach at its place; those of which there is the number
// alone are counted as such.
func TestBlocksThatShareARowAreDerivedEach(t *testing.T) {
	c := newTown(t)
	c.live(60)
	list := c.recorded()
	at := slices.IndexFunc(list, func(row questions.Record) bool {
		return !row.Reply.Allow && row.Index == questions.FromView && !row.Local && row.Reply.Degraded == nil && row.PoolID != ""
	})
	if at < 0 {
		t.Fatal("nothing was blocked")
	}
	shared := list[at]
	shared.Count, shared.Others = 1, nil
	again := shared.First()
	again.DecisionID = "again-1" // the same question at the same place
	shared.Join(again)
	old := shared
	shared.Count += 7
	n := uint64(len(shared.Others))
	old.Others = []questions.Answered{{DecisionID: "p-1", Index: questions.FromView}}
	old.Count = 2
	v, found := c.verify(replay.VerifyOptions{Rows: given{shared, old}})
	show(t, found)
	if want := (replay.RowCounts{Rows: 2, Answers: n + 10, Same: n + 2, Counted: 8}); v.Rows != want {
		t.Errorf("counted %+v, want %+v", v.Rows, want)
	}
	moved := shared
	moved.Others = slices.Clone(shared.Others)
	moved.Others[0].AsOf.Seq = 1 // when there was no pool
	if _, list := c.verify(replay.VerifyOptions{Rows: given{moved}}); len(list) != 1 || list[0].DecisionID != moved.Others[0].DecisionID {
		t.Errorf("one at another place is found as %+v", list)
	}
}

func TestARowOfAStrangerIsFound(t *testing.T) {
	c := newTown(t)
	c.live(20)
	list := c.recorded()
	at := slices.IndexFunc(list, func(r questions.Record) bool { return !r.Reply.Allow })
	forged := list[at]
	forged.Reply.Reason = "suspended"
	c.publish(ingest.DecisionsPrefix+"a", "hello")
	c.publish(ingest.DecisionsPrefix+"a", string(questions.AppendRecords(nil, []questions.Record{forged})))
	v, found := c.verify(replay.VerifyOptions{Rows: c.rows()})
	if len(found) != 1 || v.Rows.Different != 1 || !v.Differs() || found[0].DecisionID != forged.Reply.DecisionID {
		show(t, found)
		t.Fatalf("%+v", v.Rows)
	}
	if got, want := found[0].Fields[0], (replay.FieldDifference{Name: "reason", Recorded: "suspended", Derived: list[at].Reply.Reason}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestAHoldAtAPlaceWhereThereIsNone: of a verdict that the log did not give.
func TestAHoldAtAPlaceWhereThereIsNone(t *testing.T) {
	c := newTown(t)
	c.live(20)
	list := c.recorded()
	at := slices.IndexFunc(list, func(r questions.Record) bool { return r.Index >= 0 })
	list[at].Reply.DecisionID = "nobody-1"
	v, found := c.verify(replay.VerifyOptions{Rows: list})
	if v.Rows.Different != 1 || len(found) != 1 || found[0].Fields[0].Name != "index" || v.Beyond != 0 {
		t.Errorf("%+v: %+v", v.Rows, found)
	}
	list[0].Reply.AsOf.Seq = v.To + 3 // which the log never had
	if of, _ := c.verify(replay.VerifyOptions{Rows: list}); of.Beyond != of.To+3 || of.Rows.Answers != v.Rows.Answers-1 {
		t.Errorf("of another log: %+v", of)
	}
}

// TestWhatTheLogDidNotHaveIsNotProvable: while the log takes nothing, holds count that
// it never sees, or sees later. Answers that counted them are not called wrong.
func TestWhatTheLogDidNotHaveIsNotProvable(t *testing.T) {
	c := newTown(t)
	c.configure(300, 2, "observe", byThreshold)
	e, stop := c.engine("first")
	limit := func(n int32) {
		cfg := ingest.Configs(14, 1)[0]
		cfg.MaxMsgSize = n
		_, err := c.js.UpdateStream(t.Context(), cfg)
		c.must(err)
	}
	limit(1)
	asks := func(request string, wait int64) questions.Reply {
		q := questions.Question{APIKeyID: "k0", ConnectionID: "a", Reserve: true, RequestID: request, MaxWaitMs: wait, LeaseMs: 60_000}
		q.Estimate[quota.Tokens], q.Estimate[quota.Requests] = 400_000, 1000
		if request == "" {
			q.Reserve, q.RequestID = false, ""
		}
		rs := make([]questions.Reply, 1)
		rs[0].Reset()
		e.Decide(t.Context(), []questions.Question{q}, rs)
		return rs[0]
	}
	if first := asks("r1", 1); !first.Allow || !slices.Contains(first.Degraded, answers.NoHold) {
		t.Fatalf("%+v", first)
	}
	if block := asks("", 1); block.Allow {
		t.Fatalf("it counts no local hold: %+v", block)
	}
	limit(-1)
	if last := asks("r2", 20_000); last.Allow {
		t.Fatalf("%+v", last)
	}
	stop()
	v, found := c.verify(replay.VerifyOptions{Rows: c.rows()})
	show(t, found)
	if v.Rows.Local < 2 || v.Rows.Same+v.Rows.Local != v.Rows.Answers {
		t.Errorf("%+v", v.Rows)
	}
}

// TestRangesFromSnapshots: the rows of all parts are those of the whole, wherever a
// part begins.
func TestRangesFromSnapshots(t *testing.T) {
	c := newTown(t)
	c.live(40)
	all, _ := c.verify(replay.VerifyOptions{Rows: c.rows()})
	for _, name := range []string{"first", "second"} {
		var rows, verdicts, began uint64
		for from := uint64(0); from <= all.To; from += 150 {
			v, found := c.verify(replay.VerifyOptions{
				Options: replay.Options{Start: c.start(name)}, Rows: c.rows(), From: from, To: min(from+149, all.To),
			})
			show(t, found)
			rows, verdicts, began = rows+v.Rows.Answers, verdicts+v.Holds.Verdicts, max(began, v.Began)
			if v.Rows.Unproved > v.Rows.Answers/10 || v.Began >= max(from, 1) {
				t.Errorf("%s, from %d: began at %d, %+v", name, from, v.Began, v.Rows)
			}
		}
		if rows != all.Rows.Answers || began == 0 || verdicts > all.Holds.Verdicts {
			t.Errorf("%s: %d rows, %d verdicts from %d, want %+v", name, rows, verdicts, began, all)
		}
	}
}

// TestWhatIsGoneIsSaid: rows behind a message that the log lost are not provable, and
// not wrong, until a snapshot has what it was.
func TestWhatIsGoneIsSaid(t *testing.T) {
	c := newTown(t)
	c.live(40)
	var s jetstream.Stream
	s, err := c.js.Stream(t.Context(), "QUOTA")
	c.must(err)
	c.must(s.DeleteMsg(t.Context(), 4)) // the pool's document
	v, found := c.verify(replay.VerifyOptions{Rows: c.rows()})
	show(t, found)
	if v.Rows.Same != 0 || v.Rows.Unproved != v.Rows.Answers || v.Missing.Count != 1 || v.Missing.First != 4 {
		t.Errorf("without a snapshot: %+v", v)
	}
	v, found = c.verify(replay.VerifyOptions{Rows: c.rows(), Options: replay.Options{Start: c.start("first")}})
	show(t, found)
	if v.Rows.Same == 0 || v.Rows.Unproved == 0 || v.Rows.Same+v.Rows.Unproved+v.Rows.Local != v.Rows.Answers || v.Missing.Count != 0 {
		t.Errorf("with snapshots: %+v", v)
	}
}

// TestALateAnswerIsDerivedAsOne: how late the state was is taken as recorded, and what
// follows from it is derived.
func TestALateAnswerIsDerivedAsOne(t *testing.T) {
	c := newTown(t)
	c.configure(3000, 2, "observe", byThreshold)
	closed := plans.Pool{Mode: plans.Enforce, OnDegraded: plans.Closed, Provider: "kimi"}
	c.publish("quota.config.pool.z", `{"id":"z","name":"Z","provider":"kimi","onDegraded":"closed","connections":[{"connectionId":"z1"}],"allocations":[]}`)
	e, stop := c.engine("first")
	for _, q := range []questions.Question{{ConnectionID: "a"}, {ConnectionID: "z1"}, {ConnectionID: "z1", Reserve: true, RequestID: "r"}} {
		q.APIKeyID, q.MaxWaitMs = "k0", 20_000
		rs := make([]questions.Reply, 1)
		rs[0].Reset()
		e.Decide(t.Context(), []questions.Question{q}, rs)
	}
	stop()
	list := c.recorded()
	if len(list) != 3 {
		t.Fatalf("%d rows", len(list))
	}
	allowed := 0
	for i := range list {
		r := &list[i].Reply
		if list[i].Index != questions.FromView {
			r.AsOf.LagMs = 60_000 // a verdict is true however late it is told
			continue
		}
		r.Degraded, r.AsOf.LagMs = []string{answers.Lag}, int64(i)*6000 // silent, and behind
		if list[i].PoolID == "z" {
			answers.CloseIfDegraded(r, &closed, "has a state too old to decide")
		}
		if r.Allow {
			allowed++
		}
	}
	v, found := c.verify(replay.VerifyOptions{Rows: list})
	show(t, found)
	if v.Rows.Same != 3 || allowed != 1 {
		t.Errorf("%+v, %d allowed", v.Rows, allowed)
	}
}
