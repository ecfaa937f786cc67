package httpapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/quotashare/quotashare/wire"
)

// state says how far the fold is, once it has reached minSeq.
func (a *api) state(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	minSeq := q.number("minSeq", 0, 0, math.MaxUint64)
	digest := q.flag("digest")
	if err := q.err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.stateWait)
	defer cancel()
	s, err := a.engine.State(ctx, minSeq, digest)
	if errors.Is(err, context.DeadlineExceeded) {
		return unavailable("min-seq", fmt.Sprintf("minSeq: %d is not folded yet after %s: ask again", minSeq, a.stateWait))
	}
	if err != nil {
		return err
	}
	var doc wire.Writer
	doc.Object()
	doc.Name("appliedSeq")
	doc.Uint(s.AppliedSeq)
	doc.Name("lastSeq")
	doc.Uint(s.LastSeq)
	doc.Name("lagMs")
	doc.Int(s.LagMs)
	if digest {
		doc.Name("digest")
		doc.String(s.Digest)
	}
	doc.End()
	writeJSON(w, http.StatusOK, &doc)
	return nil
}
