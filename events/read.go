package events

import (
	"fmt"
	"strings"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Bounds of what an event may hold.
const (
	MaxLeaseMs     = 3_600_000 // one hour
	MaxWaitMs      = 3_600_000
	MaxReadings    = 100
	MaxHeaders     = 200
	MaxHeaderValue = 8192 // characters
	MaxCandidates  = 1000
	MaxReason      = 1000 // characters
	maxScore       = 1_000_000 * quota.RatioOne
)

// read reads what is common to all kinds, and then the kind's own fields.
func (e *Event) read(r wire.Reader) {
	if e.Time == 0 {
		e.Time = r.Instant("time")
	}
	switch e.Kind {
	case Consumption:
		e.readUsage(r)
		e.Partial, _ = r.Flag("partial")
		e.Estimated, _ = r.Flag("estimated")
		e.readAmounts(r, "cost")
	case Adjustment:
		e.readUsage(r)
		e.Reason = r.NeedText("reason", MaxReason)
		e.readAmounts(r, "cost")
	case Saturation:
		e.readSaturation(r)
	case Release:
		e.APIKeyID = r.NeedID("apiKeyId")
		e.RequestID = r.NeedID("requestId")
		e.DecisionID = r.ID("decisionId")
	case Hold:
		e.readHold(r)
	}
	e.setDefaults()
}

// setDefaults counts one request where a message names none: a consumption is
// one, a part of one is none, and a hold is for one.
func (e *Event) setDefaults() {
	if e.Given&(1<<quota.Requests) == 0 && (e.Kind == Consumption && !e.Partial || e.Kind == Hold) {
		e.Cost[quota.Requests] = quota.Amount(quota.Requests.Scale())
	}
}

func (e *Event) readUsage(r wire.Reader) {
	e.APIKeyID = r.NeedID("apiKeyId")
	e.ConnectionID = r.NeedID("connectionId")
	e.Provider = r.ID("provider")
	e.Model = r.ID("model")
	e.RequestID = r.ID("requestId")
}

// readAmounts reads an object of amounts. An unknown name is a fault here, not
// ignored as elsewhere: a typo would lose usage silently.
func (e *Event) readAmounts(r wire.Reader, name string) {
	cost, ok := r.Object(name)
	if !ok {
		return
	}
	cost.Only(unitNames[:]...)
	for u := range quota.Unit(quota.NumUnits) {
		a, ok := cost.Amount(u.String(), u)
		switch {
		case !ok:
		case a < 0 && e.Kind != Adjustment:
			cost.Fault(u.String(), "is negative: corrections are events of quota.adjustment")
		default:
			e.Cost[u] = a
			e.Given |= 1 << u
		}
	}
}

var unitNames = func() (names [quota.NumUnits]string) {
	for u := range quota.Unit(quota.NumUnits) {
		names[u] = u.String()
	}
	return names
}()

func (e *Event) readSaturation(r wire.Reader) {
	e.ConnectionID = r.NeedID("connectionId")
	e.Provider = r.ID("provider")
	switch {
	case r.Has("readings") && r.Has("headers"):
		r.Fault("headers", "is there beside readings: send one of the two")
	case r.Has("readings"):
		e.readReadings(r)
	case r.Has("headers"):
		status, _ := r.Int("status", 100, 599)
		e.Status = int(status)
		e.readHeaders(r)
	default:
		r.Fault("readings", "is missing: send readings, or the headers of a response")
	}
}

func (e *Event) readReadings(r wire.Reader) {
	objects, _ := r.Objects("readings", MaxReadings)
	for _, o := range objects {
		reading := Reading{Scope: o.ID("scope"), ResetAt: o.Instant("resetAt")}
		if o.Need("window") {
			reading.Window, _ = wire.Enum(o, "window", quota.ParseReadingWindow, quota.WindowNames+", or rate")
		}
		if o.Need("usedPercent") {
			reading.UsedPercent, _ = o.Amount("usedPercent", quota.Percent)
		}
		if reading.UsedPercent < 0 {
			o.Fault("usedPercent", "is negative")
		}
		e.addReading(reading)
	}
}

// addReading adds a reading; of two for one window and scope the higher counts,
// in the place of the first.
func (e *Event) addReading(r Reading) {
	for i := range e.Readings {
		have := &e.Readings[i]
		if have.Window == r.Window && have.Scope == r.Scope {
			if r.UsedPercent > have.UsedPercent {
				*have = r
			}
			return
		}
	}
	e.Readings = append(e.Readings, r)
}

// readHeaders reads the headers of a response. Their names have no case, so two
// that differ in it only are a fault: which of them counts would be chance.
func (e *Event) readHeaders(r wire.Reader) {
	o, ok := r.Object("headers")
	if !ok {
		return
	}
	names := o.Names()
	if len(names) > MaxHeaders {
		r.Fault("headers", fmt.Sprintf("has %d fields, more than %d", len(names), MaxHeaders))
		return
	}
	e.Headers = make(map[string]string, len(names))
	seen := make(map[string]struct{}, len(names))
	for _, name := range names {
		lower := strings.ToLower(name)
		if _, twice := seen[lower]; twice {
			r.Fault("headers", "has "+quoted(name)+" twice, in another case: send it once")
		}
		seen[lower] = struct{}{}
		if err := quota.ValidateID(name); err != nil {
			r.Fault("headers", "has the name "+quoted(name)+", which "+err.Error())
			continue
		}
		e.Headers[name] = headerValue(o, name)
	}
}

// headerValue reads one header: text, a number, or, as many libraries have it, a
// list of texts, which means the same as one joined by commas.
func headerValue(o wire.Reader, name string) string {
	switch v := o.Get(name); v.Kind {
	case wire.Number:
		return v.Text
	case wire.Array:
		var texts []string
		for _, item := range v.Items {
			if item.Kind != wire.String || len(item.Text) > MaxHeaderValue {
				o.Fault(name, "is an array of other than short strings")
				return ""
			}
			texts = append(texts, item.Text)
		}
		return strings.Join(texts, ", ")
	}
	return o.Text(name, MaxHeaderValue)
}

func (e *Event) readHold(r wire.Reader) {
	if e.Source == "" { // else the envelope has it
		r.Need("id")
	}
	e.APIKeyID = r.NeedID("apiKeyId")
	e.RequestID = r.NeedID("requestId")
	e.DecisionID = r.NeedID("decisionId")
	e.Model = r.ID("model")
	e.LeaseMs = r.NeedInt("leaseMs", 1, MaxLeaseMs)
	e.MaxWaitMs, _ = r.Int("maxWaitMs", 0, MaxWaitMs)
	if r.Need("estimate") {
		e.readAmounts(r, "estimate")
	}
	e.ConnectionID = r.ID("connectionId")
	e.Pool = r.ID("pool")
	e.readCandidates(r)
	targets := 0
	for _, name := range [...]string{"connectionId", "pool", "candidates"} {
		if r.Has(name) {
			targets++
		}
	}
	if targets != 1 {
		r.Fault("connectionId", "is one of three: send exactly one of connectionId, pool and candidates")
	}
}

func (e *Event) readCandidates(r wire.Reader) {
	objects, ok := r.Objects("candidates", MaxCandidates)
	if ok && len(objects) == 0 {
		r.Fault("candidates", "is empty")
	}
	seen := make(map[string]struct{}, len(objects))
	for _, o := range objects {
		c := Candidate{ConnectionID: o.NeedID("connectionId")}
		c.Score, c.HasScore = o.Ratio("score", 0, maxScore)
		if _, twice := seen[c.ConnectionID]; twice {
			o.Fault("connectionId", "is among the candidates twice")
		}
		seen[c.ConnectionID] = struct{}{}
		e.Candidates = append(e.Candidates, c)
	}
}
