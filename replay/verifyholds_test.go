package replay

import (
	"context"
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
)

// audit goes through the rig's log; before is called with the state before its first
// message.
func (r *rig) audit(before func(*projector.State)) (v *Verification, list []Difference) {
	r.t.Helper()
	_, last, err := r.log.Bounds(r.within())
	r.must(err)
	a := &auditor{made: new(Verification)}
	a.o = VerifyOptions{Options: Options{Log: r.log, Store: inMemory}, To: last, Told: func(d *Difference) { list = append(list, *d) }}
	r.must(a.open(r.within(), 0))
	defer func() { r.must(a.p.Close()) }()
	if before != nil {
		before(a.p.State())
	}
	r.must(a.to(context.Background(), last))
	return a.made, list
}

// holds publishes several holds in one message.
func (r *rig) holds(events ...string) {
	r.t.Helper()
	body := "["
	for i, e := range events {
		if i > 0 {
			body += ","
		}
		body += e
	}
	r.publish("quota.hold", body+"]")
}

func held(id, request string, tokens int) string {
	return fmt.Sprintf(`{"id":%q,"apiKeyId":"a","requestId":%q,"connectionId":"c","estimate":{"tokens":%d,"requests":1},"leaseMs":300000,"decisionId":%q}`, id, request, tokens, id)
}

func routed(id string, wait int) string {
	return fmt.Sprintf(`{"id":%q,"apiKeyId":"a","requestId":%q,"pool":"q","estimate":{"tokens":1,"requests":1},"leaseMs":300000,"maxWaitMs":%d,"decisionId":%q}`, id, id, wait, id)
}

// TestHoldsOfOneMessageSeeEachOther, for the view as well, as far as it can know.
func TestHoldsOfOneMessageSeeEachOther(t *testing.T) {
	r := newRig(t)
	r.publish("quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":1000}]}`)
	r.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"kimi","connections":[{"connectionId":"c"}],"allocations":[{"apiKeyId":"a","weight":50}]}`)
	r.publish("quota.config.pool.q", `{"id":"q","name":"Q","provider":"kimi","connections":[{"connectionId":"d","maxConcurrent":2},{"connectionId":"e","maxConcurrent":2}],"allocations":[]}`)
	for _, c := range []struct {
		name   string
		events []string
		want   HoldCounts
	}{
		{"the third has no room", []string{held("1", "1", 500), held("2", "2", 500), held("3", "3", 1)}, HoldCounts{Verdicts: 3, Agreed: 3}},
		{"one takes the place of another", []string{held("4", "1", 10), held("5", "5", 400)}, HoldCounts{Verdicts: 2, Agreed: 1, Alone: 1}},
		{"the log has one already", []string{held("5", "5", 400), held("6", "6", 80)}, HoldCounts{Verdicts: 1, Agreed: 1}},
		{"choices pay for their turns", []string{routed("7", 0), routed("8", 0), routed("9", 0)}, HoldCounts{Verdicts: 3, Agreed: 1, Alone: 2}},
		{"the last place, and two that wait", []string{routed("10", 9000), routed("11", 9000), routed("12", 9000)}, HoldCounts{Verdicts: 1, Agreed: 1, Waiting: 2}},
		{"who does not wait", []string{routed("13", 0)}, HoldCounts{Verdicts: 1, Agreed: 1}},
	} {
		before, _ := r.audit(nil)
		r.holds(c.events...)
		v, list := r.audit(nil)
		h, b := v.Holds, before.Holds
		got := HoldCounts{h.Verdicts - b.Verdicts, h.Agreed - b.Agreed, h.Different - b.Different, h.Alone - b.Alone, h.Waited - b.Waited, h.Waiting - b.Waiting}
		if got != c.want || len(list) > 0 {
			t.Errorf("%s: %+v, want %+v, %+v", c.name, got, c.want, list)
		}
	}
	// Two are given up: those that wait come, and who is in that message is of the fold alone.
	r.publish("quota.release", `[{"apiKeyId":"a","requestId":"7"},{"apiKeyId":"a","requestId":"8"}]`)
	if v, list := r.audit(nil); v.Holds.Waited != 2 || len(list) > 0 {
		t.Errorf("after the releases: %+v, %+v", v.Holds, list)
	}
}

// TestAViewThatDisagreesIsFound: one that counts what the fold does not.
func TestAViewThatDisagreesIsFound(t *testing.T) {
	r := newRig(t)
	r.everything()
	v, list := r.audit(nil)
	if h := v.Holds; h.Different != 0 || h.Agreed == 0 || h.Agreed+h.Alone != h.Verdicts || len(list) > 0 {
		t.Fatalf("%+v %+v", h, list)
	}
	phantom := func(connection string, amounts quota.Amounts) func(*projector.State) {
		return func(s *projector.State) {
			s.Locals.Add(&projector.LocalHold{ID: "?", APIKeyID: "b", RequestID: "?", ConnectionID: connection, Amounts: amounts, End: 1 << 60}, 0)
		}
	}
	wrong, list := r.audit(phantom("c", quota.Amounts{quota.Tokens: 950_000}))
	if h := wrong.Holds; h.Different == 0 || h.Different != uint64(len(list)) || h.Verdicts != v.Holds.Verdicts || !wrong.Differs() {
		t.Errorf("%+v, %d told", h, len(list))
	}
	for _, d := range list {
		if !d.Hold || d.DecisionID == "" || len(d.Fields) == 0 || d.Fields[0].Recorded == d.Fields[0].Derived {
			t.Errorf("%+v", d)
		}
	}
	wrong, list = r.audit(phantom("d", quota.Amounts{quota.Requests: 9_000_000}))
	if n := len(list); n == 0 || list[n-1].Fields[0] != (FieldDifference{"decision", "waits for room", "global-saturated"}) {
		t.Errorf("a wait: %+v %+v", wrong.Holds, list)
	}
}
