package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/replay"
)

// differences prints what does not follow from the log, as it is found.
type differences struct {
	w      io.Writer
	left   int // to list
	unsaid uint64
	asJSON bool
	err    error
}

type fieldView struct {
	Name     string `json:"field"`
	Recorded string `json:"recorded"`
	Derived  string `json:"derived"`
}

type differenceView struct {
	Seq        uint64          `json:"seq"`
	Index      *int            `json:"index,omitempty"`
	Hold       bool            `json:"hold,omitempty"`
	DecisionID string          `json:"decisionId"`
	Time       string          `json:"time,omitempty"`
	Question   json.RawMessage `json:"question"`
	Fields     []fieldView     `json:"fields"`
}

func (x *differences) say(d *replay.Difference) {
	switch {
	case x.left <= 0:
		x.unsaid++
	case x.asJSON:
		x.left--
		x.sayJSON(d)
	default:
		x.left--
		x.sayText(d)
	}
}

func (x *differences) sayJSON(d *replay.Difference) {
	v := differenceView{Seq: d.Seq, Hold: d.Hold, DecisionID: d.DecisionID, Question: questions.AppendQuestion(nil, &d.Question)}
	if d.Index != questions.FromView {
		v.Index = &d.Index
	}
	if d.Record != nil {
		v.Time = instantOf(d.Record.Time)
	}
	for _, f := range d.Fields {
		v.Fields = append(v.Fields, fieldView(f))
	}
	if err := json.NewEncoder(x.w).Encode(v); x.err == nil {
		x.err = err
	}
}

// sayText shows both values of each field. Texts of an event are of anybody, so what
// would move the cursor is not shown as it is.
func (x *differences) sayText(d *replay.Difference) {
	what, one, other := "decision", "recorded", "the log"
	if d.Hold {
		what, one, other = "verdict on hold", "the fold", "the view"
	}
	fmt.Fprintf(x.w, "%s %s at %d: key %s\n", what, configfile.Show(d.DecisionID), d.Seq, configfile.Show(d.Question.APIKeyID))
	for _, f := range d.Fields {
		fmt.Fprintf(x.w, "  %s\n    %-9s %s\n    %-9s %s\n", f.Name, one, configfile.Show(f.Recorded), other, configfile.Show(f.Derived))
	}
}

type verificationView struct {
	From         uint64            `json:"from"`
	To           uint64            `json:"to"`
	Began        uint64            `json:"snapshot"`
	Messages     uint64            `json:"messages"`
	Ms           int64             `json:"ms"`
	PerSecond    uint64            `json:"messagesPerSecond"`
	Missing      uint64            `json:"missing"`
	MissingFirst uint64            `json:"missingFrom,omitempty"`
	MissingLast  uint64            `json:"missingTo,omitempty"`
	Beyond       uint64            `json:"beyond,omitempty"`
	Since        string            `json:"decisionsSince,omitempty"` // absent: since before the range
	Decisions    replay.RowCounts  `json:"decisions"`
	Holds        replay.HoldCounts `json:"holds"`
}

// result prints what was derived, and returns what could not be written.
func (x *differences) result(v *replay.Verification, took time.Duration) error {
	if x.err != nil {
		return x.err
	}
	if x.asJSON {
		return json.NewEncoder(x.w).Encode(viewOfVerification(v, took))
	}
	if x.unsaid > 0 {
		fmt.Fprintf(x.w, "and %d more: --most lists them\n", x.unsaid)
	}
	r, h := &v.Rows, &v.Holds
	n := func(n uint64) string { return fmt.Sprint(n) }
	if err := table(x.w,
		[]string{"", "ALL", "SAME", "DIFFERENT", "NOT PROVABLE"},
		[]string{"decisions", n(r.Answers), n(r.Same), n(r.Different), n(r.Local + r.Unproved + r.Counted)},
		[]string{"verdicts on holds", n(h.Verdicts), n(h.Agreed), n(h.Different), n(h.Alone)},
	); err != nil {
		return err
	}
	x.notes(v, took)
	return nil
}

func viewOfVerification(v *replay.Verification, took time.Duration) verificationView {
	view := verificationView{
		From: v.From, To: v.To, Began: v.Began, Messages: v.Messages, Ms: took.Milliseconds(), PerSecond: perSecond(v.Messages, took),
		Missing: v.Missing.Count, MissingFirst: v.Missing.First, MissingLast: v.Missing.Last, Beyond: v.Beyond, Decisions: v.Rows, Holds: v.Holds,
	}
	if v.NotKept != 0 {
		view.Since = instantOf(v.NotKept)
	}
	return view
}

// notes say what the table has no room for.
func (x *differences) notes(v *replay.Verification, took time.Duration) {
	say := func(n uint64, text string) {
		if n > 0 {
			fmt.Fprintf(x.w, text+"\n", n)
		}
	}
	if v.Rows.Rows+v.Holds.Verdicts+v.Holds.Waiting == 0 {
		fmt.Fprintf(x.w, "\nno recorded decision and no hold is in the range\n")
	}
	fmt.Fprintf(x.w, "\nfolded %d messages, up to %d, in %s: %d a second\n", v.Messages, v.To, took.Round(time.Millisecond), perSecond(v.Messages, took))
	if v.NotKept != 0 {
		fmt.Fprintf(x.w, "decisions before %s are not recorded any more: they are not among these\n", instantOf(v.NotKept))
	}
	say(v.Rows.Local, "%d decisions counted holds that the log did not have")
	say(v.Rows.Counted, "%d decisions are only counted, in the rows of equal ones of their second")
	say(v.Rows.Unproved, "%d decisions are of what the log does not have any more")
	say(v.Holds.Alone, "%d verdicts are the fold's alone: something happened between the message before and their place")
	say(v.Holds.Waiting, "%d holds waited for room")
	say(v.Beyond, "decisions name messages up to %d, which the log never had: they are of another log, or it was rolled back")
	if m := v.Missing; m.Count > 0 {
		fmt.Fprintf(x.w, "the log lacks %d of the messages %d to %d\n", m.Count, m.First, m.Last)
	}
}
