package questions

import (
	"slices"
	"strconv"

	"github.com/quotashare/quotashare/wire"
)

// MostIDs is how many of the first equal answers a record names, beside the last:
// thousands of them in a second are one loop, and whoever asks about it has seen
// one of the first or the last.
const MostIDs = 100

// Answered is all in which one of equal answers may differ from the others, and from
// which it is derived: the question but for the name of the request is the same.
type Answered struct {
	DecisionID string
	RequestID  string // of the reply; "" = the request has no name
	Time       int64  // as Record.Time
	Index      int    // as Record.Index
	AsOf       AsOf   // zero in rows of earlier versions: it is not known where it was given
}

// Placed reports whether it is known where and when the answer was given.
func (a *Answered) Placed() bool { return a.AsOf != AsOf{} }

// Join counts an equal answer.
func (c *Record) Join(a Answered) {
	if c.Count++; c.Count > MostIDs+1 {
		c.Others[MostIDs-1] = a
		return
	}
	c.Others = append(c.Others, a)
}

// First is the answer whose reply the record has.
func (c *Record) First() Answered {
	return Answered{c.Reply.DecisionID, c.Reply.RequestID, c.Time, c.Index, c.Reply.AsOf}
}

// Names reports whether the record says that it is of the answer of that id.
func (c *Record) Names(decisionID string) bool {
	return c.Reply.DecisionID == decisionID || c.other(decisionID) >= 0
}

func (c *Record) other(decisionID string) int {
	return slices.IndexFunc(c.Others, func(a Answered) bool { return a.DecisionID == decisionID })
}

// Of returns the record of the answer of that id. Of the first one it is the row; and
// so it is of one of which it is not known where it was given, or which the row does
// not name.
func (c *Record) Of(decisionID string) Record {
	if at := c.other(decisionID); at >= 0 && c.Others[at].Placed() {
		return c.alone(&c.Others[at])
	}
	return *c
}

// alone is the record of one of the others. Its reply is the first one's where equal
// answers are equal; the message and the instant to come back at are none of that.
func (c *Record) alone(a *Answered) Record {
	one := *c
	one.Time, one.Index, one.Count, one.Others, one.ReplyOf = a.Time, a.Index, 1, nil, c.Reply.DecisionID
	one.Reply.DecisionID, one.Reply.RequestID, one.Reply.AsOf = a.DecisionID, a.RequestID, a.AsOf
	one.Question.RequestID = a.RequestID
	return one
}

// Split returns a record of each answer that is placed, in the order they came, and how
// many the row counts beside them. Those that it does not name came before the last.
func (c *Record) Split() (list []Record, counted int) {
	one := *c
	one.Count, one.Others = 1, nil
	list = append(list, one)
	for i := range c.Others {
		if c.Others[i].Placed() {
			list = append(list, c.alone(&c.Others[i]))
		}
	}
	return list, c.Count - len(list)
}

// jsonAnswers appends the ids of all answers, and where each was given if that is known.
func (c *Record) jsonAnswers(dst []byte) []byte {
	if len(c.Others) == 0 {
		return dst
	}
	dst = jsonString(dst, `,"decisionIds":[`, c.Reply.DecisionID)
	for i := range c.Others {
		dst = jsonString(dst, ",", c.Others[i].DecisionID)
	}
	dst = append(dst, ']')
	if !c.Others[0].Placed() {
		return dst
	}
	first := c.First()
	dst = first.append(append(dst, `,"answers":[`...))
	for i := range c.Others {
		dst = c.Others[i].append(append(dst, ','))
	}
	return append(dst, ']')
}

// append appends the answer as a JSON object without its id. What is as usual is absent.
func (a *Answered) append(dst []byte) []byte {
	dst = strconv.AppendUint(append(dst, `{"seq":`...), a.AsOf.Seq, 10)
	if a.Index != FromView {
		dst = jsonInt(dst, `,"index":`, int64(a.Index))
	}
	dst = jsonInstant(dst, `,"time":"`, a.Time)
	if a.AsOf.Time != a.Time {
		dst = jsonInstant(dst, `,"asOf":"`, a.AsOf.Time)
	}
	if a.AsOf.LagMs != 0 {
		dst = jsonInt(dst, `,"lagMs":`, a.AsOf.LagMs)
	}
	return append(jsonOptional(dst, `,"requestId":`, a.RequestID), '}')
}

// readAnswers reads what jsonAnswers wrote, when the reply is read.
func (c *Record) readAnswers(in wire.Reader) {
	ids, _ := in.IDs("decisionIds", MostIDs+1)
	places, placed := in.Objects("answers", MostIDs+1)
	if placed && len(places) != len(ids) {
		in.Fault("answers", "has "+strconv.Itoa(len(places))+" items, and decisionIds has "+strconv.Itoa(len(ids)))
		return
	}
	for i := 1; i < len(ids); i++ {
		a := Answered{DecisionID: ids[i], Index: FromView}
		if placed {
			a.read(places[i])
		}
		c.Others = append(c.Others, a)
	}
}

func (a *Answered) read(in wire.Reader) {
	a.AsOf.Seq = uint64(in.NeedInt("seq", 0, 1<<63-1))
	if i, ok := in.Int("index", 0, MaxItems-1); ok {
		a.Index = int(i)
	}
	in.Need("time")
	a.Time = in.Instant("time")
	if a.AsOf.Time = a.Time; in.Has("asOf") {
		a.AsOf.Time = in.Instant("asOf")
	}
	a.AsOf.LagMs, _ = in.Int("lagMs", 0, 1<<53)
	a.RequestID = in.ID("requestId")
}
