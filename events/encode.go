package events

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// AppendJSON appends the event as JSON; see Append.
func AppendJSON(dst []byte, e *Event) []byte { return Append(dst, wire.JSON, e) }

// AppendMsgpack appends the event as msgpack; see Append.
func AppendMsgpack(dst []byte, e *Event) []byte { return Append(dst, wire.Msgpack, e) }

// Append appends one event as a publisher sends it: Decode gives it back. An
// event with a Source becomes a structured CloudEvent. Amounts that are not
// Given are left out. Of configuration it is the document, nothing for a
// deletion; what else there is to it goes into subject and headers.
func Append(dst []byte, enc wire.Encoding, e *Event) []byte {
	w := wire.NewWriter(dst, enc)
	e.write(&w)
	return w.Bytes()
}

// AppendArray appends the events as one array, the body of one message; they
// must be of one kind, 1 to MaxEvents, and no configuration.
func AppendArray(dst []byte, enc wire.Encoding, events []Event) []byte {
	w := wire.NewWriter(dst, enc)
	w.Array()
	for i := range events {
		events[i].write(&w)
	}
	w.End()
	return w.Bytes()
}

func (e *Event) write(w *wire.Writer) {
	switch {
	case e.Delete:
	case e.Kind.IsConfig():
		w.Value(e.Document)
	case e.Source != "":
		e.writeCloudEvent(w)
	default:
		w.Object()
		writeText(w, "id", e.ID)
		writeInstant(w, "time", e.Time)
		e.writeFields(w)
		w.End()
	}
}

func (e *Event) writeCloudEvent(w *wire.Writer) {
	w.Object()
	writeText(w, "specversion", "1.0")
	writeText(w, "type", e.Kind.String())
	writeText(w, "source", e.Source)
	writeText(w, "id", e.ID)
	writeInstant(w, "time", e.Time)
	w.Name("data")
	w.Object()
	e.writeFields(w)
	w.End()
	w.End()
}

func (e *Event) writeFields(w *wire.Writer) {
	writeText(w, "apiKeyId", e.APIKeyID)
	writeText(w, "connectionId", e.ConnectionID)
	writeText(w, "provider", e.Provider)
	writeText(w, "model", e.Model)
	writeText(w, "requestId", e.RequestID)
	writeText(w, "reason", e.Reason)
	writeFlag(w, "partial", e.Partial)
	writeFlag(w, "estimated", e.Estimated)
	switch e.Kind {
	case Consumption, Adjustment:
		if e.Given != 0 {
			e.writeAmounts(w, "cost")
		}
	case Saturation:
		e.writeSaturation(w)
	case Release:
		writeText(w, "decisionId", e.DecisionID)
	case Hold:
		e.writeHold(w)
	}
}

func (e *Event) writeAmounts(w *wire.Writer, name string) {
	w.Name(name)
	w.Object()
	for u := range quota.Unit(quota.NumUnits) {
		if e.Given&(1<<u) != 0 {
			w.Name(u.String())
			w.Amount(e.Cost[u], u)
		}
	}
	w.End()
}

func (e *Event) writeSaturation(w *wire.Writer) {
	if e.Headers != nil {
		writeInt(w, "status", int64(e.Status))
		w.Name("headers")
		w.Object()
		for _, name := range sortedNames(e.Headers) {
			w.Name(name)
			w.String(e.Headers[name])
		}
		w.End()
		return
	}
	w.Name("readings")
	w.Array()
	for i := range e.Readings {
		e.Readings[i].write(w)
	}
	w.End()
}

func (r *Reading) write(w *wire.Writer) {
	w.Object()
	writeText(w, "window", r.Window.String())
	writeText(w, "scope", r.Scope)
	w.Name("usedPercent")
	w.Amount(r.UsedPercent, quota.Percent)
	writeInstant(w, "resetAt", r.ResetAt)
	w.End()
}

func (e *Event) writeHold(w *wire.Writer) {
	writeText(w, "pool", e.Pool)
	if len(e.Candidates) > 0 {
		w.Name("candidates")
		w.Array()
		for i := range e.Candidates {
			e.Candidates[i].write(w)
		}
		w.End()
	}
	e.writeAmounts(w, "estimate")
	writeInt(w, "leaseMs", e.LeaseMs)
	writeInt(w, "maxWaitMs", e.MaxWaitMs)
	writeText(w, "decisionId", e.DecisionID)
}

func (c *Candidate) write(w *wire.Writer) {
	w.Object()
	writeText(w, "connectionId", c.ConnectionID)
	if c.HasScore {
		w.Name("score")
		w.Ratio(c.Score)
	}
	w.End()
}

func writeText(w *wire.Writer, name, s string) {
	if s != "" {
		w.Name(name)
		w.String(s)
	}
}

func writeFlag(w *wire.Writer, name string, b bool) {
	if b {
		w.Name(name)
		w.Bool(b)
	}
}

func writeInt(w *wire.Writer, name string, n int64) {
	if n != 0 {
		w.Name(name)
		w.Int(n)
	}
}

func writeInstant(w *wire.Writer, name string, ms int64) {
	if ms != 0 {
		w.Name(name)
		w.Instant(ms)
	}
}
