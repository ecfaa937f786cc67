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
	if s.ReplayFrom != 0 {
		doc.Name("replayFrom")
		doc.Instant(s.ReplayFrom)
	}
	if s.Retention != nil {
		doc.Name("retention")
		retentionFields(doc, s.Retention)
	}
	doc.End()
	return doc
}

func retentionFields(doc *wire.Writer, x *Retention) {
	doc.Object()
	doc.Name("plannedAt")
	doc.Instant(x.PlannedAt)
	doc.Name("finished")
	doc.Bool(x.Finished)
	if x.Problem != "" {
		doc.Name("problem")
		doc.String(x.Problem)
	}
	doc.Name("kept")
	doc.Array()
	for _, k := range x.Kept {
		doc.Object()
		doc.Name("seq")
		doc.Uint(k.Seq)
		doc.Name("logTime")
		doc.Instant(k.LogTime)
		doc.Name("why")
		doc.String(k.Why)
		doc.End()
	}
	doc.End()
	doc.Name("steps")
	doc.Array()
	for i := range x.Steps {
		x.Steps[i].fields(doc)
	}
	doc.End()
	doc.End()
}

func (s *RetentionStep) fields(doc *wire.Writer) {
	doc.Object()
	doc.Name("action")
	doc.String(s.Action)
	if s.Seq != 0 {
		doc.Name("seq")
		doc.Uint(s.Seq)
	}
	if s.Before != 0 {
		doc.Name("before")
		doc.Instant(s.Before)
	}
	doc.Name("why")
	doc.String(s.Why)
	doc.End()
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
