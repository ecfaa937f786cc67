package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

// Decisions is the decision log.
type Decisions interface {
	// Decisions returns a page of what was answered, the newest first, and the
	// place to go on before; nil when these were the last. It does a bounded
	// amount of work: a page may be short, or empty, and not be the last. What
	// this process has not stored yet is in it.
	Decisions(ctx context.Context, q *DecisionQuery) (list []questions.Record, next *DecisionPlace, err error)
}

// DecisionQuery is which records are wanted; "" and 0 = whichever.
type DecisionQuery struct {
	APIKeyID, ConnectionID, PoolID, DecisionID string

	Kind     string // as Reply.Kind says it
	Reason   string
	From, To int64 // epoch ms; To itself is not among them
	Before   *DecisionPlace
	Limit    int
}

// Wants reports whether the record is one of those.
func (q *DecisionQuery) Wants(r *questions.Record) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	return is(q.APIKeyID, r.Question.APIKeyID) && is(q.ConnectionID, r.ConnectionID) && is(q.PoolID, r.PoolID) &&
		(q.DecisionID == "" || r.Names(q.DecisionID)) && is(q.Kind, r.Reply.Kind()) && is(q.Reason, r.Reply.Reason) &&
		r.Time >= q.From && (q.To == 0 || r.Time < q.To)
}

// DecisionPlace is how far a reader of the decision log has come. What a process
// had not stored when it was asked comes first and is stored later, at a place
// that the reader does not know; so the place says too what that was. A process
// stores its records in flights, one after the other.
type DecisionPlace struct {
	// Seq is the message of the log, and Index the record in it, from which on all
	// was given; Seq 0 = nothing of the log was.
	Seq   uint64
	Index int
	// Of the flights of Process, all records of Flight and later ones were given, 0
	// = of none, and of Part and later ones those whose decision has that number
	// in the process or a higher one, 0 = none.
	Process      string
	Flight, Part uint64
	Number       uint64
}

// Given reports whether a record of that flight, whose decision has that number
// in its process, was given before its place in the log came up.
func (p *DecisionPlace) Given(process string, flight, number uint64) bool {
	if p == nil || process != p.Process {
		return false
	}
	return p.Flight != 0 && flight >= p.Flight || p.Number != 0 && flight >= p.Part && number >= p.Number
}

// String is the place as the parameter before has it: the numbers and the
// process, parted by dots.
func (p *DecisionPlace) String() string {
	var b []byte
	for _, n := range []uint64{p.Seq, uint64(p.Index), p.Flight, p.Part, p.Number} {
		b = append(strconv.AppendUint(b, n, 10), '.')
	}
	return string(append(b, p.Process...))
}

// parsePlace reads what String wrote, and nothing else.
func parsePlace(text string) (*DecisionPlace, bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 6 || !isProcess(parts[5]) {
		return nil, false
	}
	var n [5]uint64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseUint(parts[i], 10, 64); err != nil {
			return nil, false
		}
	}
	p := &DecisionPlace{Seq: n[0], Index: int(n[1]), Flight: n[2], Part: n[3], Number: n[4], Process: parts[5]}
	return p, n[1] <= questions.MaxItems && p.String() == text // no signs, no zeros before
}

// DecisionReasons are the reasons that a decision may have.
var DecisionReasons = []string{
	"ok", "no-pool", "off", "no-allocation", "fair-share", "capacity", "global-saturated", "cap-absolute", "model-cap", "suspended", "degraded",
}

// decisions lists what was answered, the newest first.
func (a *api) decisions(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	// A mistyped filter that is ignored would list everything.
	q.only("decisions", "apiKeyId", "connectionId", "poolId", "decisionId", "decision", "reason", "from", "to", "before", "limit")
	ask := q.filters()
	ask.Before, ask.Limit = q.place("before"), int(q.number("limit", defaultLimit, 1, maxLimit))
	if err := q.err(); err != nil {
		return err
	}
	list, next, err := a.engine.Decisions(r.Context(), &ask)
	if err != nil {
		return err
	}
	doc := questions.AppendRecords([]byte(`{"decisions":`), list)
	if next != nil {
		doc = wire.AppendJSONString(append(doc, `,"next":`...), next.String())
	}
	writeBody(w, http.StatusOK, "application/json", append(doc, '}', '\n'))
	return nil
}

// filters reads which decisions are wanted.
func (q *query) filters() DecisionQuery {
	ask := DecisionQuery{
		APIKeyID: q.id("apiKeyId"), ConnectionID: q.id("connectionId"), PoolID: q.id("poolId"), DecisionID: q.id("decisionId"),
		Kind:   q.word("decision", questions.Allow, questions.Block, questions.WouldBlock),
		Reason: q.word("reason", DecisionReasons...),
		From:   q.instant("from"), To: q.instant("to"),
	}
	if ask.To != 0 && ask.From >= ask.To {
		q.faults.Add("to", "is not after from: swap them, or leave one out")
	}
	return ask
}

// ParseDecisionFilters reads the parameters that say which decisions are wanted, for
// who reads them where no engine is. Pages are not among them.
func ParseDecisionFilters(values url.Values) (DecisionQuery, error) {
	q := &query{values: values}
	ask := q.filters()
	return ask, q.err()
}

// word reads one of the words; "" when absent.
func (q *query) word(name string, legal ...string) string {
	text, there := q.one(name)
	if there && !slices.Contains(legal, text) {
		q.faults.Add(name, "is "+quote(text)+": use "+strings.Join(legal, ", "))
	}
	return text
}

// place reads the next of an earlier page; nil when absent.
func (q *query) place(name string) *DecisionPlace {
	text, there := q.one(name)
	if !there {
		return nil
	}
	p, ok := parsePlace(text)
	if !ok {
		q.faults.Add(name, "is "+quote(text)+": use the next of an earlier page")
	}
	return p
}
