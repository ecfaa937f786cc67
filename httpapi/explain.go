package httpapi

import (
	"context"
	"maps"
	"net/http"
	"time"

	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/questions"
)

// Explainer explains answers.
type Explainer interface {
	// Explain finds out what an answer came from, for one caller at a time; for
	// others it is ErrBusy.
	Explain(ctx context.Context, q *ExplainQuery) (*explanation.Explanation, error)
}

// ExplainQuery says which answer is meant: a decision by its id, or what a question
// would have been answered.
type ExplainQuery struct {
	DecisionID string // "" = the question, at At
	Question   questions.Question
	At         int64  // epoch ms; 0 = when the message Seq came
	Seq        uint64 // of the last message that the answer knew; 0 = the last one at At
	Top        int    // how many events, holds and keys are shown at most
}

// explainWithin is how long an explanation may take: below what a response may.
const explainWithin = writeTimeout - 10*time.Second

// MaxTop bounds the lists of an explanation.
const MaxTop = 1000

const defaultTop = 10

// explain shows what an answer came from.
func (a *api) explain(w http.ResponseWriter, r *http.Request) error {
	ask, err := newQuery(r).explained()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), explainWithin)
	defer cancel()
	x, err := a.engine.Explain(ctx, ask)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", append(x.Append(nil), '\n'))
	return nil
}

// explained reads which answer is meant.
func (q *query) explained() (*ExplainQuery, error) {
	own := []string{"at", "seq", "decisionId", "top"}
	q.only("explain", append(explainParameters(), own...)...)
	ask := &ExplainQuery{
		DecisionID: q.id("decisionId"), At: q.instant("at"), Seq: q.number("seq", 0, 1, questions.MaxSeq),
		Top: int(q.number("top", defaultTop, 1, MaxTop)),
	}
	rest := &query{values: maps.Clone(q.values)}
	for _, name := range own {
		delete(rest.values, name)
	}
	switch {
	case ask.DecisionID == "":
		if ask.At == 0 && ask.Seq == 0 && !q.values.Has("at") && !q.values.Has("seq") {
			q.faults.Add("at", "is missing: name the instant, a seq, or a decisionId")
		}
	case len(rest.values) > 0 || ask.At != 0 || ask.Seq != 0:
		q.faults.Add("decisionId", "names a question and an instant of its own: leave out all but top")
	}
	if err := q.err(); err != nil || ask.DecisionID != "" {
		return ask, err
	}
	return ask, rest.read(&ask.Question)
}

// read reads the question that the parameters are.
func (q *query) read(into *questions.Question) error {
	asked := q.question()
	if err := q.err(); err != nil {
		return err
	}
	var req questions.Request
	read := req.Read
	if q.routes() {
		read = req.ReadRoute
	}
	if fail := read(asked); fail != nil {
		return invalid(fail.Message)
	}
	*into = req.Questions[0]
	return nil
}

// explainParameters are those of a question that mean something for one that was
// answered in the past.
func explainParameters() (names []string) {
	for _, name := range questionParameters() {
		switch name {
		case "at", "minSeq", "maxWaitMs", "explain", "leaseMs":
		default:
			names = append(names, name)
		}
	}
	return names
}
