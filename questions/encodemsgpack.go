package questions

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// appendMsgpack describes the reply to a wire.Writer.
func appendMsgpack(dst []byte, r *Reply) []byte {
	w := wire.NewWriter(dst, wire.Msgpack)
	writeReply(&w, r)
	return w.Bytes()
}

func writeReply(w *wire.Writer, r *Reply) {
	w.Object()
	writeVerdict(w, r)
	writeReturn(w, r)
	writeReach(w, r)
	optionalString(w, "requestId", r.RequestID)
	w.Name("asOf")
	w.Object()
	w.Name("seq")
	w.Uint(r.AsOf.Seq)
	w.Name("time")
	w.Instant(r.AsOf.Time)
	intField(w, "lagMs", r.AsOf.LagMs)
	w.End()
	optionalStrings(w, "degraded", r.Degraded)
	optionalString(w, "detail", r.Detail)
	writeRoute(w, r)
	if r.HasTraffic {
		writeTraffic(w, &r.Traffic)
	}
	if r.showsDimensions() {
		w.Name("dimensions")
		w.Array()
		for i := range r.Dimensions {
			writeDimension(w, &r.Dimensions[i])
		}
		w.End()
	}
	w.End()
}

// writeVerdict writes what a gateway acts on.
func writeVerdict(w *wire.Writer, r *Reply) {
	decision := "block"
	if r.Allow {
		decision = "allow"
	}
	stringField(w, "decisionId", r.DecisionID)
	stringField(w, "decision", decision)
	stringField(w, "reason", r.Reason)
	boolField(w, "deprioritize", r.Deprioritize)
	w.Name("scoreFactor")
	w.Ratio(r.ScoreFactor)
	intField(w, "httpStatus", int64(r.HTTPStatus))
	optionalString(w, "message", r.Message)
}

// writeReturn writes when to come back.
func writeReturn(w *wire.Writer, r *Reply) {
	if r.RetryAt != 0 {
		intField(w, "retryAfterMs", r.RetryAfterMs)
		optionalInstant(w, "retryAt", r.RetryAt)
	}
}

// writeReach writes what the verdict is about.
func writeReach(w *wire.Writer, r *Reply) {
	if r.HasBinding {
		w.Name("binding")
		w.Object()
		stringField(w, "unit", r.Binding.Unit.String())
		stringField(w, "window", r.Binding.Window.String())
		optionalString(w, "model", r.Binding.Model)
		w.End()
	}
	optionalString(w, "scope", r.Scope)
	optionalStrings(w, "alternatives", r.Alternatives)
	if r.WouldBlock {
		boolField(w, "wouldBlock", true)
	}
}

// writeDimension writes null for what is not known: it is not 0. A deficit is
// the distance to a fair share, so without that it is not known either.
func writeDimension(w *wire.Writer, d *Dimension) {
	w.Object()
	stringField(w, "unit", d.Unit.String())
	stringField(w, "window", d.Window.String())
	amountField(w, "limit", d.Limit, d.Unit, d.Limit != 0)
	amountField(w, "consumed", d.Consumed, d.Unit, true)
	amountField(w, "held", d.Held, d.Unit, true)
	amountField(w, "fairShare", d.FairShare, d.Unit, d.HasFairShare)
	amountField(w, "remaining", d.Remaining, d.Unit, d.HasRemaining)
	amountField(w, "consumedTotal", d.ConsumedTotal, d.Unit, true)
	amountField(w, "heldTotal", d.HeldTotal, d.Unit, true)
	stringField(w, "mode", d.Mode)
	boolField(w, "borrowing", d.Borrowing)
	amountField(w, "deficit", d.Deficit, d.Unit, d.HasFairShare)
	amountField(w, "providerUsed", d.ProviderUsed, quota.Percent, d.HasProvider)
	optionalInstant(w, "resetAt", d.ResetAt)
	optionalInstant(w, "observedAt", d.ObservedAt)
	if d.HasSplit {
		amountField(w, "attributed", d.Attributed, quota.Percent, true)
		amountField(w, "unattributed", d.Unattributed, quota.Percent, true)
	}
	if d.HasPromise {
		writePromise(w, d)
	}
	w.End()
}

// writePromise writes what the rule guarantee says.
func writePromise(w *wire.Writer, d *Dimension) {
	amountField(w, "promised", d.Promised, d.Unit, true)
	amountField(w, "kept", d.Kept, d.Unit, true)
	amountField(w, "headroom", d.Headroom, d.Unit, true)
	if len(d.KeptFor) == 0 {
		return
	}
	w.Name("keptFor")
	w.Array()
	for _, k := range d.KeptFor {
		w.Object()
		stringField(w, "apiKeyId", k.APIKeyID)
		amountField(w, "amount", k.Amount, d.Unit, true)
		w.End()
	}
	w.End()
}

func amountField(w *wire.Writer, name string, a quota.Amount, u quota.Unit, known bool) {
	w.Name(name)
	if !known {
		w.Null()
		return
	}
	w.Amount(a, u)
}

func stringField(w *wire.Writer, name, s string) {
	w.Name(name)
	w.String(s)
}

func intField(w *wire.Writer, name string, n int64) {
	w.Name(name)
	w.Int(n)
}

func boolField(w *wire.Writer, name string, b bool) {
	w.Name(name)
	w.Bool(b)
}

func optionalString(w *wire.Writer, name, s string) {
	if s != "" {
		stringField(w, name, s)
	}
}

func optionalInstant(w *wire.Writer, name string, ms int64) {
	if ms != 0 {
		w.Name(name)
		w.Instant(ms)
	}
}

func optionalStrings(w *wire.Writer, name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.Name(name)
	w.Array()
	for _, s := range list {
		w.String(s)
	}
	w.End()
}
