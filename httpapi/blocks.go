package httpapi

import "github.com/quotashare/quotashare/wire"

// append appends the row as a JSON object.
func (b *Block) append(dst []byte) []byte {
	doc := wire.NewWriter(dst, wire.JSON)
	doc.Object()
	doc.Name("seq")
	doc.Uint(b.Seq)
	doc.Name("time")
	doc.Instant(b.Time)
	doc.Name("apiKeyId")
	doc.String(b.APIKeyID)
	optional(&doc, "connectionId", b.ConnectionID)
	optional(&doc, "poolId", b.PoolID)
	optional(&doc, "model", b.Model)
	doc.Name("reason")
	doc.String(b.Reason)
	if b.HasBinding {
		appendBinding(&doc, &b.Binding)
	}
	if b.RetryAt != 0 {
		doc.Name("retryAt")
		doc.Instant(b.RetryAt)
	}
	doc.Name("decisionId")
	doc.String(b.DecisionID)
	doc.Name("count")
	doc.Int(int64(b.Count))
	if b.WouldBlock {
		doc.Name("wouldBlock")
		doc.Bool(true)
	}
	doc.End()
	return doc.Bytes()
}
