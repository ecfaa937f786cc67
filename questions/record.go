package questions

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Record is one row of the decision log: an answer as it was given, with all
// that deriving it again from the log needs. It lives here because it is a
// question and a reply side by side, in the forms that this package reads and
// writes; who records what is not its business.
type Record struct {
	Time int64 // when it was answered, by the clock of who did, epoch ms
	// Index is the place of the hold's event in its message, whose sequence is
	// Reply.AsOf.Seq; FromView = no event of it was folded, and the answer is of
	// the state after that message.
	Index int
	// Local says that holds counted which the log did not have: of those no fold can
	// know, so the answer need not follow from the log.
	Local bool
	// Count is how many equal answers of one second this row is for. The question
	// and the reply are the first one's.
	Count int
	// Others are those after the first in the order they came, up to the MostIDs-th,
	// and the last; nil when there is one answer. The person behind a key was told the
	// id of any of them.
	Others []Answered
	// ReplyOf is the decision id of the first of equal answers when this is another one,
	// taken out of its row: the reply that the log has is that one's. "" = it is its own.
	ReplyOf      string
	ConnectionID string // that the answer is about; "" = none: the pool has none
	PoolID       string // "" = the connection was in none
	Process      string // that answered: small letters and digits
	Question     Question
	Reply        Reply // without dimensions, traffic and candidates
}

// FromView is the Index of an answer that the view gave, not the fold.
const FromView = -1

// Kinds of decisions, as Reply.Kind says them.
const (
	Allow      = "allow"
	Block      = "block"
	WouldBlock = "would-block" // allowed because the pool observes
)

// Kind says what was decided, with what would have been a block told apart.
func (r *Reply) Kind() string {
	switch {
	case r.WouldBlock:
		return WouldBlock
	case r.Allow:
		return Allow
	}
	return Block
}

// Keep returns a record of the two that shares no memory with what their owner
// uses again: texts of the question are parts of a message, and lists of the
// reply are filled anew.
func Keep(q *Question, r *Reply) Record {
	c := Record{Index: FromView, Count: 1, Question: *q, Reply: *r}
	for _, text := range []*string{
		&c.Question.APIKeyID, &c.Question.ConnectionID, &c.Question.Pool, &c.Question.Model, &c.Question.RequestID, &c.Question.Route,
		&c.Reply.RequestID, &c.Reply.Binding.Model, &c.Reply.ConnectionID,
	} {
		*text = strings.Clone(*text)
	}
	c.Question.Candidates = slices.Clone(q.Candidates) // whose texts are no parts of a message
	c.Reply.Alternatives, c.Reply.Degraded = slices.Clone(r.Alternatives), slices.Clone(r.Degraded)
	c.Reply.Dimensions, c.Reply.Explained, c.Reply.Candidates = nil, false, nil
	c.Reply.Traffic, c.Reply.HasTraffic = Traffic{}, false
	return c
}

// AppendJSON appends the record as a JSON object. What is not set is absent.
func (c *Record) AppendJSON(dst []byte) []byte {
	dst = jsonString(dst, `{"decisionId":`, c.Reply.DecisionID)
	dst = jsonInstant(dst, `,"time":"`, c.Time)
	dst = strconv.AppendUint(append(dst, `,"seq":`...), c.Reply.AsOf.Seq, 10)
	if c.Index != FromView {
		dst = jsonInt(dst, `,"index":`, int64(c.Index))
	}
	if c.Local {
		dst = append(dst, `,"local":true`...)
	}
	dst = jsonInt(dst, `,"count":`, int64(c.Count))
	dst = c.jsonAnswers(dst)
	dst = jsonOptional(dst, `,"replyOf":`, c.ReplyOf)
	dst = jsonOptional(dst, `,"connectionId":`, c.ConnectionID)
	dst = jsonOptional(dst, `,"poolId":`, c.PoolID)
	dst = jsonString(dst, `,"process":`, c.Process)
	dst = AppendQuestion(append(dst, `,"question":`...), &c.Question)
	dst = appendJSON(append(dst, `,"reply":`...), &c.Reply)
	return append(dst, '}')
}

// AppendRecords appends the records as a JSON array.
func AppendRecords(dst []byte, list []Record) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = list[i].AppendJSON(dst)
	}
	return append(dst, ']')
}

// AppendQuestion appends the question as JSON, in the one form that all equal
// questions have: units of which nothing is estimated are left out. A question
// that holds is for one request unless it says otherwise, so there it is said. One
// of quota.route is known by its holding what it does not name.
func AppendQuestion(dst []byte, q *Question) []byte {
	dst = jsonString(dst, `{"apiKeyId":`, q.APIKeyID)
	dst = jsonOptional(dst, `,"connectionId":`, q.ConnectionID)
	if q.Route != "" {
		dst = jsonString(dst, `,"route":`, q.Route)
	} else {
		dst = jsonOptional(dst, `,"pool":`, q.Pool)
		dst = jsonOptional(dst, `,"model":`, q.Model)
	}
	dst = jsonCandidates(dst, q.Candidates)
	dst = jsonEstimate(dst, q)
	dst = jsonOptional(dst, `,"requestId":`, q.RequestID)
	if q.Reserve {
		dst = append(dst, `,"reserve":true`...)
	}
	if q.LeaseMs != 0 {
		dst = jsonInt(dst, `,"leaseMs":`, q.LeaseMs)
	}
	if q.At != 0 {
		dst = jsonInstant(dst, `,"at":"`, q.At)
	}
	if q.MinSeq != 0 {
		dst = strconv.AppendUint(append(dst, `,"minSeq":`...), q.MinSeq, 10)
	}
	if q.MaxWaitMs >= 0 {
		dst = jsonInt(dst, `,"maxWaitMs":`, q.MaxWaitMs)
	}
	if q.Explain {
		dst = append(dst, `,"explain":true`...)
	}
	return append(dst, '}')
}

func jsonEstimate(dst []byte, q *Question) []byte {
	open := `,"estimate":{"`
	for u, a := range q.Estimate {
		unit := quota.Unit(u)
		if a == 0 && (unit != quota.Requests || !q.Reserve) {
			continue
		}
		dst = append(append(dst, open...), unit.String()...)
		dst = a.Append(append(dst, `":`...), unit)
		open = `,"`
	}
	if open == `,"` {
		dst = append(dst, '}')
	}
	return dst
}

func jsonOptional(dst []byte, name, s string) []byte {
	if s == "" {
		return dst
	}
	return jsonString(dst, name, s)
}

// ParseRecords reads the JSON array of AppendRecords. The error names every
// field that is not as it should be; then none of the records is returned.
func ParseRecords(data []byte) ([]Record, error) {
	v, err := wire.ParseJSON(data)
	if err != nil {
		return nil, err
	}
	var faults wire.Faults
	if v.Kind != wire.Array {
		faults.Add("", "is "+v.Kind.String()+", not an array of records")
	}
	list := make([]Record, len(v.Items))
	for i := range v.Items {
		if in, ok := wire.Read(v.Items[i], "["+strconv.Itoa(i)+"]", &faults); ok {
			list[i].read(in)
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return list, nil
}

func (c *Record) read(in wire.Reader) {
	in.Need("time")
	c.Time = in.Instant("time")
	c.Index = FromView
	if i, ok := in.Int("index", 0, MaxItems-1); ok {
		c.Index = int(i)
	}
	c.Local, _ = in.Flag("local")
	c.Count = int(in.NeedInt("count", 1, math.MaxInt32))
	c.ReplyOf = in.ID("replyOf")
	c.ConnectionID = in.ID("connectionId")
	c.PoolID = in.ID("poolId")
	c.Process = in.NeedID("process")
	if in.Need("question") {
		if q, ok := in.Object("question"); ok {
			c.Question.MaxWaitMs = -1
			hold, _ := q.Flag("reserve")
			c.Question.read(q, hold && !q.Has("connectionId"))
		}
	}
	if in.Need("reply") {
		if r, ok := in.Object("reply"); ok {
			c.Reply.read(r)
		}
	}
	c.readAnswers(in)
}
