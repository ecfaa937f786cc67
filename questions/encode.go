package questions

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Append appends the answer: replies has one reply for each of Questions, and
// the errors of Bad are put in their places.
func (r *Request) Append(dst []byte, enc wire.Encoding, replies []Reply) []byte {
	if !r.IsArray {
		return AppendReply(dst, enc, &replies[0])
	}
	w := wire.NewWriter(dst, enc)
	w.Array()
	bad, next := r.Bad, 0
	for i := range len(r.Questions) + len(r.Bad) {
		if len(bad) > 0 && bad[0].Index == i {
			writeError(&w, bad[0].Err)
			bad = bad[1:]
			continue
		}
		writeReply(&w, &replies[next])
		next++
	}
	w.End()
	return w.Bytes()
}

// AppendReply appends one reply.
func AppendReply(dst []byte, enc wire.Encoding, r *Reply) []byte {
	w := wire.NewWriter(dst, enc)
	writeReply(&w, r)
	return w.Bytes()
}

// AppendError appends {"error":{"message","type","code"}}.
func AppendError(dst []byte, enc wire.Encoding, e *Error) []byte {
	w := wire.NewWriter(dst, enc)
	writeError(&w, e)
	return w.Bytes()
}

func writeError(w *wire.Writer, e *Error) {
	writeErrorBody(w, e.Message, e.Type(), e.Code)
}

func writeErrorBody(w *wire.Writer, message, kind, code string) {
	w.Object()
	w.Name("error")
	w.Object()
	stringField(w, "message", message)
	stringField(w, "type", kind)
	stringField(w, "code", code)
	w.End()
	w.End()
}

func writeReply(w *wire.Writer, r *Reply) {
	if r.Err != nil {
		writeError(w, r.Err)
		return
	}
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
	if r.Explained || len(r.Dimensions) > 0 {
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
	if r.RetryAfterMs >= 0 {
		intField(w, "retryAfterMs", r.RetryAfterMs)
	}
	optionalInstant(w, "retryAt", r.RetryAt)
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
