package projector

import (
	"hash/fnv"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// wish is what a request wants that asks for a connection among several.
type wish struct {
	apiKeyID, model string
	amounts         quota.Amounts
	pool            string             // its id: any connection of it; or
	candidates      []events.Candidate // one of these
	request         idHash
	event           idHash // of the hold event
	lease           int64  // ms
}

// wishOf returns what a hold event wants. Its texts are those of the message.
func wishOf(e *events.Event, n *identity) wish {
	return wish{
		apiKeyID: e.APIKeyID, model: e.Model, amounts: e.Cost, pool: e.Pool, candidates: e.Candidates,
		request: n.request, event: n.id, lease: e.LeaseMs,
	}
}

// wishOfQuestion returns what the hold event of a question would want.
func wishOfQuestion(q *questions.Question) wish {
	w := wish{apiKeyID: q.APIKeyID, model: q.Model, amounts: q.Estimate, pool: q.Pool, request: requestOf(q.APIKeyID, q.RequestID)}
	for _, c := range q.Candidates {
		w.candidates = append(w.candidates, events.Candidate(c))
	}
	return w
}

// keep makes a copy that is good when the message is gone.
func (w *wish) keep() wish {
	c := *w
	c.apiKeyID, c.model, c.pool = strings.Clone(w.apiKeyID), strings.Clone(w.model), strings.Clone(w.pool)
	c.candidates = nil
	for _, x := range w.candidates {
		x.ConnectionID = strings.Clone(x.ConnectionID)
		c.candidates = append(c.candidates, x)
	}
	return c
}

// want names what is wished for, which rules may hold back for all that wish it: the
// model, and of which connections. Two that are named alike by chance wait for each other.
func (w *wish) want() uint32 {
	text := appendText(nil, w.model)
	for i := range w.candidates {
		text = appendText(text, w.candidates[i].ConnectionID)
	}
	h := fnv.New32a()
	h.Write(text)
	return h.Sum32()
}

// question is that of the wish for the connection, or for any of the pool.
func (w *wish) question(connectionID, pool string) questions.Question {
	return questions.Question{
		APIKeyID: w.apiKeyID, ConnectionID: connectionID, Pool: pool, Model: w.model, Estimate: w.amounts, Reserve: true,
	}
}
