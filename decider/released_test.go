package decider

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// TestAThousandExplained: as many as a message can have, whose dimensions are more
// than the broker takes. They are all held, and who asked is told so.
func TestAThousandExplained(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	oneLimit(r, 2000)
	var dims []plans.Dimension
	for _, w := range []quota.Window{quota.Hourly, quota.Daily, quota.Weekly, quota.Monthly} {
		dims = append(dims, plans.Dimension{Unit: quota.Requests, Window: w, Limit: 2_000_000})
	}
	dims = append(dims, plans.Dimension{Unit: quota.Tokens, Window: quota.Hourly, Limit: 2_000_000})
	_, err := r.PutPlan(r.within(), "c", dims, httpapi.Meta{})
	r.must(err)
	var all []string
	for i := range questions.MaxItems {
		all = append(all, fmt.Sprintf(`{"apiKeyId":"alice","connectionId":"c","requestId":"%d","reserve":true,"explain":true,"maxWaitMs":20000}`, i))
	}
	m, err := nc.Request(questions.Subject, []byte("["+strings.Join(all, ",")+"]"), 20*time.Second)
	r.must(err)
	replies, err := questions.ParseReplies(m.Data, wire.JSON)
	r.must(err)
	if len(replies) != questions.MaxItems || r.open() != questions.MaxItems {
		t.Fatalf("%d replies and %d open: %.300s", len(replies), r.open(), m.Data)
	}
	for i, got := range replies {
		if got.Err != nil || !got.Allow || got.Explained || !strings.HasPrefix(got.Detail, "without dimensions: ") {
			t.Fatalf("reply %d is %+v", i, got)
		}
	}
}

// foldedElsewhere asks for a hold behind all that was written, where there is room.
func (r *running) foldedElsewhere(request string) {
	r.t.Helper()
	q := held(request)
	q.ConnectionID = "elsewhere"
	r.folded(q)
}

// TestOnlyWhatWasOpenedIsReleased: a hold that was open before is that of a running
// request, and stands, whether the verdict came or not.
func TestOnlyWhatWasOpenedIsReleased(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	oneLimit(r, 4)
	r.folded(held("running"))
	r.folded(held("settled"))
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c","requestId":"settled","cost":{"requests":1}}`)
	plain := questions.Question{APIKeyID: "alice", ConnectionID: "c", MaxWaitMs: -1}
	qs := []questions.Question{held("running"), held(""), plain, held("settled"), held("2"), held("3")}
	judged := r.askAll(qs...)
	for i, opened := range []bool{false, true, false, false, true, false} {
		if got := judged[i]; got.Err != nil || len(got.Degraded) > 0 || got.Opened != opened || got.Allow != (i < 5) {
			t.Errorf("answer %d is %+v, want opened %v", i, got, opened)
		}
	}
	if r.open() != 3 {
		t.Errorf("%d are open, want 3", r.open())
	}
	r.Release(qs, judged)
	r.foldedElsewhere("last")
	if r.open() != 2 {
		t.Errorf("%d are open, want the running and the last", r.open())
	}
	again := []questions.Question{held("running"), held("4")}
	r.refuse()
	hurried := r.askHurried(again...)
	if hurried[0].Opened || !hurried[1].Opened {
		t.Errorf("without verdicts: opened %v %v, want the second", hurried[0].Opened, hurried[1].Opened)
	}
	r.Release(again, hurried)
	r.take()
	r.foldedElsewhere("late")
	if r.open() != 3 || r.locally() != 0 {
		t.Errorf("%d are open and %d count, want the running, the last and the late, and none", r.open(), r.locally())
	}
}
