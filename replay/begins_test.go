package replay

import (
	"context"
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// TestAVerdictIsNotExplainedFromItsOwnMessage: a snapshot of that message has the hold, and
// no verdict on it, however near it is.
func TestAVerdictIsNotExplainedFromItsOwnMessage(t *testing.T) {
	l := shared(50, 50)
	l.use(1000, "a", 460)
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	l.snapshot(t, dir)
	l.hold(2000, "h1", "a", 30)
	l.snapshot(t, dir)
	seq := uint64(len(l.list))
	row := questions.Record{Time: began + 2000, Count: 1, ConnectionID: "c", PoolID: "p", Process: "p"}
	row.Question = questions.Question{APIKeyID: "a", ConnectionID: "c", RequestID: "r-h1", Reserve: true, MaxWaitMs: -1, Estimate: quota.Amounts{quota.Requests: 1000, quota.Tokens: 30_000}}
	row.Reply = questions.Reply{DecisionID: "h1", Allow: true, Reason: "ok", ScoreFactor: quota.RatioOne, HTTPStatus: 200, AsOf: questions.AsOf{Seq: seq, Time: began + 2000}}
	o := Options{Log: l, Start: starts.Local{Dir: dir}, Store: inMemory}
	x, err := Explain(t.Context(), o, &Ask{Recorded: &row, Top: 1})
	must(t, err)
	if x.Replay.Snapshot != seq-1 || len(x.Differs) > 0 {
		t.Errorf("explained from the snapshot of message %d, the hold is in %d; differs %v", x.Replay.Snapshot, seq, x.Differs)
	}
	// An answer of the view is one of the state after its message.
	row.Question.Reserve = false
	if x, err = Explain(t.Context(), o, &Ask{Recorded: &row, Top: 1}); err != nil || x.Replay.Snapshot != seq {
		t.Errorf("explained from the snapshot of message %d, want %d: %v", x.Replay.Snapshot, seq, err)
	}
}

// TestAQuickReplayBeginsBeforeTheEngine: of a snapshot newer than what the engine said
// nothing could be held to that.
func TestAQuickReplayBeginsBeforeTheEngine(t *testing.T) {
	r := newRig(t)
	list := r.everything()
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	for _, at := range []int{10, 20} {
		r.snapshot(dir, list[:at])
	}
	for live, want := range map[int]uint64{15: 10, 19: 10, 20: 20, 21: 20} {
		d := r.digests(DigestOptions{Options: Options{Start: starts.Local{Dir: dir}}, Quick: true, Live: &LiveDigest{Seq: uint64(live), Digest: r.digest(list[:live])}})
		if got := fmt.Sprint(results(d)); d.Began != want || got != fmt.Sprintf("[%d live equal]", live) {
			t.Errorf("of an engine at %d: began at %d, %s", live, d.Began, got)
		}
	}
}

// keptSince are rows that are kept since an instant.
type keptSince int64

func (k keptSince) KeptSince(context.Context) (int64, error) { return int64(k), nil }

// TestWhichAnswersMayBeGone: those of the last message before the instant since which all
// are kept were given before it too; those of the next were not.
func TestWhichAnswersMayBeGone(t *testing.T) {
	l := shared(50, 50)
	first := uint64(len(l.list)) + 1
	for i := range int64(3) {
		l.use(1000+i*1000, "a", 1)
	}
	for _, c := range []struct {
		since  int64
		from   uint64
		fromAt int64
		gone   bool
	}{
		{2000, first, 0, true},
		{2000, first + 1, 0, false}, // the message of that millisecond is not before it
		{2001, first + 1, 0, true},
		{2001, first + 2, 0, false},
		{3001, first + 2, 0, true},
		{3001, first + 3, 0, false},
		{-1, 0, 0, false}, // before the log began
		{2001, first + 2, 2000, true},
		{2001, 0, 2001, false},
	} {
		at := c.fromAt
		if at != 0 {
			at += began
		}
		got, err := notKept(t.Context(), &Options{Log: l}, keptSince(began+c.since), c.from, at)
		must(t, err)
		if (got != 0) != c.gone {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestOneOfEqualBlocksThatDiffers: of a reply that does not follow from the log nothing else
// is made up, and the first one's is shown.
func TestOneOfEqualBlocksThatDiffers(t *testing.T) {
	l := shared(50, 50)
	l.use(1000, "a", 600)
	row := blockedRow(l, 1500, 60, "")
	row.Reply.Message = "the first one's"
	row.Reply.Binding, row.Reply.HasBinding = questions.Binding{Unit: quota.Tokens, Window: quota.Hourly}, true
	row.Join(questions.Answered{DecisionID: "e", Time: began + 1600, Index: questions.FromView, AsOf: questions.AsOf{Seq: uint64(len(l.list)), Time: began + 1600}})
	row.Join(questions.Answered{DecisionID: "f", Time: began + 1600, Index: questions.FromView, AsOf: questions.AsOf{Seq: 1, Time: began + 1600}}) // there was no pool
	o := Options{Log: l, Store: inMemory}
	x, err := Explain(t.Context(), o, &Ask{Recorded: row, DecisionID: "e", Top: 1})
	must(t, err)
	if r := &x.Recorded.Reply; len(x.Differs) > 0 || r.DecisionID != "e" || r.Message != x.Reply.Message || r.RetryAt != x.Reply.RetryAt || r.RetryAt == 0 {
		t.Errorf("one that follows differs in %v, recorded is %+v", x.Differs, r)
	}
	x, err = Explain(t.Context(), o, &Ask{Recorded: row, DecisionID: "f", Top: 1})
	must(t, err)
	if r := &x.Recorded.Reply; fmt.Sprint(x.Differs) != "[decision reason binding]" || r.Message != "the first one's" || r.AsOf.Seq != 1 || x.Recorded.ReplyOf != row.Reply.DecisionID {
		t.Errorf("one that does not differs in %v, recorded is %+v", x.Differs, x.Recorded)
	}
}
