package httpapi

import (
	"fmt"
	"net/http"
)

// rejected lists what could not be folded, oldest first.
func (a *api) rejected(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	offset, limit := q.page()
	if err := q.err(); err != nil {
		return err
	}
	list, total, err := a.engine.Rejected(r.Context(), offset, limit)
	if err != nil {
		return err
	}
	doc := []byte(`{"rejected":[`)
	for i := range list {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = list[i].AppendJSON(doc)
	}
	doc = fmt.Appendf(doc, "],\"total\":%d}\n", total)
	writeBody(w, http.StatusOK, "application/json", doc)
	return nil
}
