package httpapi

import (
	"context"
	"net/http"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/usage"
)

// maxReach is how many keys are shown at a time: each takes a step for every key there is,
// some twenty times.
const maxReach = 100

// reach says how far the keys of a pool could come if the body were its document, under
// both rules. It is for who writes one: nothing is stored.
func (a *api) reach(w http.ResponseWriter, r *http.Request) error {
	doc, err := a.documents.readJSON(r)
	if err != nil {
		return err
	}
	q := newQuery(r)
	limit := int(q.number("limit", maxReach, 1, maxReach))
	offset := int(q.number("offset", 0, 0, 1<<31-1))
	if err := q.err(); err != nil {
		return err
	}
	p, faults := plans.ParsePool("", doc)
	if err := faults.Err(); err != nil {
		return err
	}
	made, err := a.reached(r.Context(), p, offset, limit)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", append(made.Append([]byte(`{"reach":`)), '}', '\n'))
	return nil
}

// reached works one out at a time, in the order of coming: of a pool of thousands of keys it
// takes seconds of a processor, which decisions need.
func (a *api) reached(ctx context.Context, p *plans.Pool, offset, limit int) (*usage.Reach, error) {
	select {
	case a.reaching <- struct{}{}:
		defer func() { <-a.reaching }()
		return a.engine.Reach(ctx, p, offset, limit)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
