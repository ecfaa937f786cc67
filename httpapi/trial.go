package httpapi

import (
	"net/http"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

// append appends what the change would do, as the fields of an object.
func (t *Trial) append(dst []byte) []byte {
	doc := wire.NewWriter(append(dst, `"dryRun":true,"blocked":`...), wire.JSON)
	appendEffects(&doc, t.Blocked)
	doc = wire.NewWriter(append(doc.Bytes(), `,"freed":`...), wire.JSON)
	appendEffects(&doc, t.Freed)
	return doc.Bytes()
}

func appendEffects(doc *wire.Writer, list []Effect) {
	doc.Array()
	for i := range list {
		list[i].append(doc)
	}
	doc.End()
}

func (e *Effect) append(doc *wire.Writer) {
	doc.Object()
	doc.Name("poolId")
	doc.String(e.PoolID)
	doc.Name("apiKeyId")
	doc.String(e.APIKeyID)
	doc.Name("reason")
	doc.String(e.Reason)
	if e.HasBinding {
		appendBinding(doc, &e.Binding)
	}
	doc.Name("retryAfterMs")
	if e.RetryAfterMs < 0 {
		doc.Null()
	} else {
		doc.Int(e.RetryAfterMs)
	}
	doc.End()
}

func appendBinding(doc *wire.Writer, b *questions.Binding) {
	doc.Name("binding")
	doc.Object()
	doc.Name("unit")
	doc.String(b.Unit.String())
	doc.Name("window")
	doc.String(b.Window.String())
	optional(doc, "model", b.Model)
	doc.End()
}

// writeDeleted answers a deletion; one that was only tried has something to say.
func writeDeleted(w http.ResponseWriter, t *Trial) {
	if t == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	writeBody(w, http.StatusOK, "application/json", append(t.append([]byte{'{'}), '}', '\n'))
}
