package httpapi

import (
	"math"
	"net/http"

	"github.com/quotashare/quotashare/wire"
)

// changes lists the configuration events of the log: who changed what, when and
// why, and what was refused.
func (a *api) changes(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	after := q.number("after", 0, 0, math.MaxUint64)
	limit := q.number("limit", defaultLimit, 1, maxLimit)
	if err := q.err(); err != nil {
		return err
	}
	list, next, err := a.engine.Changes(r.Context(), after, int(limit))
	if err != nil {
		return err
	}
	doc := []byte(`{"changes":[`)
	for i := range list {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = list[i].Append(doc)
	}
	tail := wire.NewWriter(append(doc, `],"next":`...), wire.JSON)
	if next == 0 {
		tail.Null()
	} else {
		tail.Uint(next)
	}
	writeBody(w, http.StatusOK, "application/json", append(tail.Bytes(), '}', '\n'))
	return nil
}

// Append appends the change as a JSON object. What its subject or its header
// does not say is absent.
func (c *Change) Append(dst []byte) []byte {
	doc := wire.NewWriter(dst, wire.JSON)
	doc.Object()
	doc.Name("seq")
	doc.Uint(c.Seq)
	doc.Name("time")
	doc.Instant(c.Time)
	optional(&doc, "kind", c.Kind)
	if c.Kind == "" {
		optional(&doc, "subject", c.Subject)
	}
	optional(&doc, "id", c.ID)
	optional(&doc, "change", c.Do)
	optional(&doc, "actor", c.Actor)
	optional(&doc, "reason", c.Reason)
	if c.Document != nil {
		doc.Name("document")
		doc = wire.NewWriter(append(doc.Bytes(), c.Document...), wire.JSON)
	}
	dst = doc.Bytes()
	if c.Rejected != nil {
		doc = wire.NewWriter(append(dst, `,"rejected":`...), wire.JSON)
		doc.Object()
		doc.Name("reason")
		doc.String(string(c.Rejected.Reason))
		doc.Name("message")
		doc.String(c.Rejected.Message)
		doc.End()
		dst = doc.Bytes()
	}
	return append(dst, '}')
}

// optional writes a field that is absent when it is empty.
func optional(doc *wire.Writer, name, value string) {
	if value == "" {
		return
	}
	doc.Name(name)
	doc.String(value)
}
