package httpapi

import (
	"net/http"

	"github.com/quotashare/quotashare/wire"
)

// listed is the sink of a body that was read whole.
type listed []result

func (l *listed) put(results []result) { *l = append(*l, results...) }

// append writes one result: {id, seq}, {id, spooled} or {id?, error}.
func (r *result) append(doc *wire.Writer) {
	doc.Object()
	if r.id != "" {
		doc.Name("id")
		doc.String(r.id)
	}
	switch {
	case r.fault != nil:
		doc.Name("error")
		r.fault.append(doc)
	case r.receipt.Spooled:
		doc.Name("spooled")
		doc.Bool(true)
	default:
		doc.Name("seq")
		doc.Uint(r.receipt.Seq)
	}
	doc.End()
}

// writeResults answers a body that was read whole. Its status is 200 when
// something was to be said about each event; it is that of the fault when the
// body was one event, and when the log took nothing at all, because a caller
// who looks at the status alone must not take that for success. Then the fault
// comes first, as in every other error.
func writeResults(w http.ResponseWriter, p *publication, results listed, isArray bool) {
	fail := p.down
	if p.accepted > 0 {
		fail = nil
	} else if !isArray {
		fail = results[0].fault
	}
	status := http.StatusOK
	var doc wire.Writer
	doc.Object()
	if fail != nil {
		status = fail.status
		fail.headers(w.Header())
		doc.Name("error")
		fail.append(&doc)
	}
	doc.Name("results")
	doc.Array()
	for i := range results {
		results[i].append(&doc)
	}
	doc.End()
	p.counts(&doc)
	doc.End()
	writeJSON(w, status, &doc)
}

func (p *publication) counts(doc *wire.Writer) {
	doc.Name("accepted")
	doc.Int(int64(p.accepted))
	doc.Name("rejected")
	doc.Int(int64(p.rejected))
}
