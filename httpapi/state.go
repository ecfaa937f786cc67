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
	writeJSON(w, http.StatusOK, stateDoc(s, digest))
	return nil
}

func stateDoc(s State, digest bool) *wire.Writer {
	doc := new(wire.Writer)
	doc.Object()
	stateFields(doc, s, digest)
	doc.End()
	return doc
}

func stateFields(doc *wire.Writer, s State, digest bool) {
	number := func(name string, n uint64) {
		doc.Name(name)
		doc.Uint(n)
	}
	number("appliedSeq", s.AppliedSeq)
	number("lastSeq", s.LastSeq)
	number("lagMs", uint64(s.LagMs))
	if digest {
		doc.Name("digest")
		doc.String(s.Digest)
	}
	doc.Name("counts")
	doc.Object()
	number("folded", s.Counts.Folded)
	number("duplicates", s.Counts.Duplicates)
	number("rejected", s.Counts.Rejected)
	number("late", s.Counts.Late)
	number("clamped", s.Counts.Clamped)
	doc.End()
}
