package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// audit goes through a log; before is called with the state before its first message.
func audit(t *testing.T, log Log, before func(*projector.State)) (v *Verification, list []Difference) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, last, err := log.Bounds(t.Context())
	must(err)
	a := &auditor{made: new(Verification)}
	a.o = VerifyOptions{Options: Options{Log: log, Store: inMemory}, To: last, Told: func(d *Difference) { list = append(list, *d) }}
	must(a.open(t.Context(), 0))
	defer func() { must(a.p.Close()) }()
	if before != nil {
		before(a.p.State())
	}
	must(a.to(t.Context(), last))
	return a.made, list
}

func held(id, request string, tokens int) string {
	return fmt.Sprintf(`{"id":%q,"apiKeyId":"a","requestId":%q,"connectionId":"c","estimate":{"tokens":%d,"requests":1},"leaseMs":300000,"decisionId":%q}`, id, request, tokens, id)
}

func routed(id string, wait int) string {
	return fmt.Sprintf(`{"id":%q,"apiKeyId":"a","requestId":%q,"pool":"q","estimate":{"tokens":1,"requests":1},"leaseMs":300000,"maxWaitMs":%d,"decisionId":%q}`, id, id, wait, id)
}

// TestHoldsOfOneMessageSeeEachOther, for the view as well, as far as it can know.
func TestHoldsOfOneMessageSeeEachOther(t *testing.T) {
	l := shared(100, 0)
	l.add(0, "quota.config.pool.q", `{"id":"q","name":"Q","provider":"kimi","connections":[{"connectionId":"d","maxConcurrent":2},{"connectionId":"e","maxConcurrent":2}],"allocations":[]}`)
	for _, c := range []struct {
		name   string
		at     int64 // ms
		free   string
		events []string
		want   HoldCounts
	}{
		{"the third has no room", 1, "", []string{held("1", "1", 500), held("2", "2", 500), held("3", "3", 1)}, HoldCounts{Verdicts: 3, Agreed: 3}},
		{"one takes the place of another", 2, "", []string{held("4", "1", 10), held("5", "5", 400)}, HoldCounts{Verdicts: 2, Agreed: 1, Alone: 1}},
		{"the log has one already", 3, "5", []string{held("5", "5", 400), held("6", "6", 480)}, HoldCounts{Verdicts: 1, Alone: 1}},
		{"choices pay for their turns", 4, "", []string{routed("7", 0), routed("8", 0), routed("9", 0)}, HoldCounts{Verdicts: 3, Agreed: 1, Alone: 2}},
		{"the last place, and two that wait", 5, "", []string{routed("10", 900_000), routed("11", 900_000), routed("12", 900_000)}, HoldCounts{Verdicts: 1, Agreed: 1, Waiting: 2}},
		{"who does not wait", 6, "", []string{routed("13", 0)}, HoldCounts{Verdicts: 1, Agreed: 1}},
		{"behind those whose turn came with the time", 300_010, "", []string{routed("14", 0), routed("15", 0), routed("16", 0)}, HoldCounts{Verdicts: 5, Alone: 5, Waited: 2}},
		{"one that is refused ends another of its message", 900_000, "", []string{held("17", "17", 300), held("18", "18", 300), held("19", "17", 900), held("20", "20", 600)}, HoldCounts{Verdicts: 4, Agreed: 3, Alone: 1}},
	} {
		before, _ := audit(t, l, nil)
		if c.free != "" {
			l.add(c.at, "quota.release", fmt.Sprintf(`{"apiKeyId":"a","requestId":%q}`, c.free))
		}
		l.add(c.at, "quota.hold", "["+strings.Join(c.events, ",")+"]")
		v, list := audit(t, l, nil)
		h, b := v.Holds, before.Holds
		got := HoldCounts{h.Verdicts - b.Verdicts, h.Agreed - b.Agreed, h.Different - b.Different, h.Alone - b.Alone, h.Waited - b.Waited, h.Waiting - b.Waiting}
		if got != c.want || len(list) > 0 {
			t.Errorf("%s: %+v, want %+v, %+v", c.name, got, c.want, list)
		}
	}
}

// TestAViewThatDisagreesIsFound: one that counts what the fold does not.
func TestAViewThatDisagreesIsFound(t *testing.T) {
	r := newRig(t)
	r.everything()
	v, list := audit(t, r.log, nil)
	if h := v.Holds; h.Different != 0 || h.Agreed == 0 || h.Agreed+h.Alone != h.Verdicts || len(list) > 0 {
		t.Fatalf("%+v %+v", h, list)
	}
	phantom := func(connection string, amounts quota.Amounts) func(*projector.State) {
		return func(s *projector.State) {
			s.Locals.Add(&projector.LocalHold{ID: "?", APIKeyID: "b", RequestID: "?", ConnectionID: connection, Amounts: amounts, End: 1 << 60}, 0)
		}
	}
	wrong, list := audit(t, r.log, phantom("c", quota.Amounts{quota.Tokens: 950_000}))
	if h := wrong.Holds; h.Different == 0 || h.Different != uint64(len(list)) || h.Verdicts != v.Holds.Verdicts || !wrong.Differs() {
		t.Errorf("%+v, %d told", h, len(list))
	}
	for _, d := range list {
		if !d.Hold || d.DecisionID == "" || len(d.Fields) == 0 || d.Fields[0].Recorded == d.Fields[0].Derived {
			t.Errorf("%+v", d)
		}
	}
	wrong, list = audit(t, r.log, phantom("d", quota.Amounts{quota.Requests: 9_000_000}))
	if n := len(list); n == 0 || list[n-1].Fields[0] != (FieldDifference{"decision", "waits for room", "global-saturated"}) {
		t.Errorf("a wait: %+v %+v", wrong.Holds, list)
	}
}

// TestTheMessageOfASnapshotIsNotJudgedAgain: a verdict that was given in it cannot be
// derived from the state after it. It is not called wrong.
func TestTheMessageOfASnapshotIsNotJudgedAgain(t *testing.T) {
	r := newRig(t)
	list := r.everything()
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	r.snapshot(dir, list[:9])
	s, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	r.must(s.DeleteMsg(t.Context(), 5))
	row := questions.Record{Index: 0, Count: 1, Process: "p", Time: list[8].Time, Question: questions.Question{APIKeyID: "a", ConnectionID: "c", Reserve: true, RequestID: "r", MaxWaitMs: -1}}
	row.Reply = questions.Reply{DecisionID: "h", Reason: "ok", HTTPStatus: 200, AsOf: questions.AsOf{Seq: 9, Time: list[8].Time}}
	v, err := Verify(r.within(), VerifyOptions{Options: Options{Log: r.log, Store: inMemory, Start: starts.Local{Dir: dir}}, Rows: &memory{rows: []questions.Record{row}}})
	r.must(err)
	if v.Began != 9 || v.Rows.Unproved != 1 || v.Differs() {
		t.Errorf("%+v", v)
	}
}
