package replay

import (
	"slices"
	"strconv"
	"strings"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

// derive answers the question of a record as the log has it, and returns what differs;
// verdict says that the fold gave the answer.
//
// What is no matter of the log is taken from the record: the instant of an answer of
// the view, how late the state was, and the word "lag", which says that the log had
// been silent. What these lead to is derived: a closed pool blocks.
func (a *auditor) derive(c *questions.Record) (fields []FieldDifference, verdict bool) {
	q := c.Question
	q.At, q.Explain = 0, false
	view := answers.View{Seq: c.Reply.AsOf.Seq, Behind: c.Reply.AsOf.LagMs}
	if says(&c.Reply, answers.Lag) {
		view.Silent = 1 << 62
	}
	asked, to := &a.asked[0], &a.route
	x := a.verdicts[c.Reply.DecisionID]
	switch {
	case x != nil && x.Seq == c.Reply.AsOf.Seq:
		asked, to, view.Folded, verdict = &x.Asked, &x.Route, true, true
		if x.Index != c.Index {
			fields = append(fields, FieldDifference{"index", place(c.Index), place(x.Index)})
		}
		fields = append(fields, a.otherQuestion(c)...)
	case c.Index != questions.FromView:
		return []FieldDifference{{"index", place(c.Index), "no hold of this decision was judged there"}}, false
	case q.Routed():
		a.p.State().GatherRoute(&q, c.Reply.AsOf.Time, asked, to)
	default:
		a.p.State().Gather([]questions.Question{q}, c.Reply.AsOf.Time, a.asked[:])
	}
	r := &a.reply
	r.Reset()
	r.DecisionID = c.Reply.DecisionID
	d := answers.Make(&q, asked, to, r, &view, nil, &a.scratch)
	fields = append(fields, differing(c, r)...)
	return append(fields, a.aboutOther(c, asked, d.Connection)...), verdict
}

// place shows a hold's place in its message.
func place(index int) string {
	if index == questions.FromView {
		return "none"
	}
	return strconv.Itoa(index)
}

// otherQuestion compares the question of a record with that of the hold's event. Of
// one that began to wait before the range the event was not seen.
func (a *auditor) otherQuestion(c *questions.Record) []FieldDifference {
	e := a.holds[c.Reply.DecisionID]
	if e == nil {
		return nil
	}
	asked := c.Question
	asked.At, asked.MinSeq, asked.Explain, asked.LeaseMs = 0, 0, false, 0
	asked.MaxWaitMs, asked.Route = e.MaxWaitMs, ""
	if asked.Routed() {
		asked.MaxWaitMs = c.Question.Wait()
	}
	recorded, derived := string(questions.AppendQuestion(nil, &asked)), string(questions.AppendQuestion(nil, e))
	if recorded == derived {
		return nil
	}
	return []FieldDifference{{"question", recorded, derived}}
}

// aboutOther compares what the record says that it is about.
func (a *auditor) aboutOther(c *questions.Record, asked *projector.Asked, connection int) (fields []FieldDifference) {
	connectionID, poolID := answers.About(&c.Question, asked, &a.reply, connection)
	if c.ConnectionID != connectionID {
		fields = append(fields, FieldDifference{"row.connectionId", c.ConnectionID, connectionID})
	}
	if c.PoolID != poolID {
		fields = append(fields, FieldDifference{"row.poolId", c.PoolID, poolID})
	}
	return fields
}

// differing are the fields in which two answers differ; of one that shares its row, those
// that are recorded of it.
func differing(c *questions.Record, derived *questions.Reply) (fields []FieldDifference) {
	recorded := &c.Reply
	if derived.Err != nil {
		return []FieldDifference{{"error", "none", derived.Err.Message}}
	}
	if recorded.RequestID != derived.RequestID {
		fields = append(fields, FieldDifference{"requestId", recorded.RequestID, derived.RequestID})
	}
	names := Differences
	if c.ReplyOf != "" {
		names = commonDifferences
	}
	for _, name := range names(recorded, derived) {
		fields = append(fields, FieldDifference{name, valueOf(recorded, name), valueOf(derived, name)})
	}
	return fields
}

// valueOf shows a field of an answer as the answer has it.
func valueOf(r *questions.Reply, field string) string {
	v, err := wire.ParseJSON(questions.AppendReply(nil, wire.JSON, r))
	if err != nil {
		return err.Error()
	}
	for _, name := range strings.Split(field, ".") {
		at := slices.IndexFunc(v.Fields, func(f wire.Field) bool { return f.Name == name })
		if at < 0 {
			return "absent"
		}
		v = v.Fields[at].Value
	}
	return shown(v)
}

// shown is a value for people.
func shown(v wire.Value) string {
	switch v.Kind {
	case wire.Bool:
		return strconv.FormatBool(v.Bool)
	case wire.Array:
		list := make([]string, len(v.Items))
		for i := range v.Items {
			list[i] = shown(v.Items[i])
		}
		return "[" + strings.Join(list, ", ") + "]"
	case wire.Object:
		list := make([]string, len(v.Fields))
		for i := range v.Fields {
			list[i] = v.Fields[i].Name + " " + shown(v.Fields[i].Value)
		}
		return strings.Join(list, ", ")
	}
	return v.Text
}
