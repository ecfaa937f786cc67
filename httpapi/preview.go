package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// preview answers the question that its parameters are, and leaves no trace.
// They become the document that decide or route would have got, so one reader judges
// all.
func (a *api) preview(w http.ResponseWriter, r *http.Request) error {
	query := newQuery(r)
	asked := query.question()
	if err := query.err(); err != nil {
		return err
	}
	q := askings.Get().(*asking)
	defer q.keep()
	read := q.req.Read
	if query.routes() {
		read = q.req.ReadRoute
	}
	fail := read(asked)
	if err := callerOf(r).checkQuestions(q.req.Questions); fail == nil && err != nil {
		return err
	}
	q.serve(w, r, wire.JSON, fail, a.engine.Preview)
	return nil
}

// routes reports whether the question is one of quota.route: it names what to choose
// from, or would hold without naming what.
func (q *query) routes() bool {
	return q.values.Has("route") || q.values.Has(candidates) || q.flag("reserve") && !q.values.Has("connectionId")
}

// candidates is the parameter that may be there several times, for a connection each.
// Scores are not asked for: they decide nothing.
const candidates = "candidates"

// estimated begins the names of what is inside of estimate.
const estimated = "estimate."

// question makes a question of the parameters. A number stays text, which every
// number of a question may be.
func (q *query) question() wire.Value {
	asked := wire.Value{Kind: wire.Object}
	estimate := wire.Value{Kind: wire.Object}
	q.only("a question", questionParameters()...)
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if name == "reserve" || name == "explain" {
			asked.Fields = append(asked.Fields, wire.Field{Name: name, Value: wire.Value{Kind: wire.Bool, Bool: q.flag(name)}})
			continue
		}
		if name == candidates {
			asked.Fields = append(asked.Fields, wire.Field{Name: name, Value: q.candidates()})
			continue
		}
		text, _ := q.one(name)
		to := &asked
		if unit, inside := strings.CutPrefix(name, estimated); inside {
			name, to = unit, &estimate
		}
		to.Fields = append(to.Fields, wire.Field{Name: name, Value: wire.Value{Kind: wire.String, Text: text}})
	}
	if len(estimate.Fields) > 0 {
		asked.Fields = append(asked.Fields, wire.Field{Name: "estimate", Value: estimate})
	}
	return asked
}

// candidates makes a list of the connections to choose from.
func (q *query) candidates() wire.Value {
	list := wire.Value{Kind: wire.Array}
	for _, id := range q.values[candidates] {
		list.Items = append(list.Items, wire.Value{Kind: wire.Object, Fields: []wire.Field{
			{Name: "connectionId", Value: wire.Value{Kind: wire.String, Text: id}},
		}})
	}
	return list
}

// questionParameters are the names of a question's fields, and those inside of
// its estimate. leaseMs is one of them, though a preview takes no hold: whoever
// has a question may preview it as it is.
func questionParameters() []string {
	names := []string{"apiKeyId", "connectionId", "pool", "route", candidates, "model"}
	for u := range quota.Unit(quota.NumUnits) {
		names = append(names, estimated+u.String())
	}
	return append(names, "requestId", "reserve", "leaseMs", "at", "minSeq", "maxWaitMs", "explain")
}
