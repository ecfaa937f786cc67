package plans

import (
	"fmt"
	"slices"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Bounds of the documents. What counts is that a document stays one message
// that can be checked and folded in a moment.
const (
	MaxConnections = 10_000
	MaxAllocations = 10_000
	MaxModelCaps   = 10_000
	// MaxCaps bounds the caps of all allocations together: with every default
	// written out the largest pool still has fewer values than a document may.
	MaxCaps       = 80_000
	maxDimensions = quota.NumUnits * quota.NumWindows // none twice
	maxName       = 120

	twice = "is there twice: keep one"

	defaultWeight  = 100
	defaultReserve = 100
)

// ParsePool reads a pool document and names every fault by its field. The
// document must name the id; with id "" it need not and any will do. What
// depends on other documents — whether a connection is in another pool — is
// not checked here, nor anything that depends on a plan.
//
// The pool is returned with its faults, nil only when doc is no object; each
// faulty field has its default. So the one parser serves both levels: whoever
// writes or folds a document refuses it when there are faults; whoever loads
// one that was folded once, perhaps by a newer version, takes the pool as it
// is, and finds a policy it does not know to be Hard.
func ParsePool(id string, doc wire.Value) (*Pool, wire.Faults) {
	var faults wire.Faults
	r, ok := wire.Read(doc, "", &faults)
	if !ok {
		return nil, faults
	}
	p := &Pool{
		ID:        parseID(r, id),
		Name:      r.NeedText("name", maxName),
		Provider:  r.NeedID("provider"),
		Reserve:   defaultReserve,
		CreatedAt: r.Instant("createdAt"),
	}
	p.Mode, _ = wire.Enum(r, "mode", parseWord[Mode](modeWords), "enforce, observe or off")
	p.Rule, _ = ReadRule(r)
	p.OnDegraded, _ = wire.Enum(r, "onDegraded", parseWord[OnDegraded](onDegradedWords), "open or closed")
	if n, ok := ReadReserve(r); ok {
		p.Reserve = n
	}
	p.Connections = parseConnections(r)
	p.Allocations = parseAllocations(r)
	p.ModelCaps = parseModelCaps(r)
	return p, faults
}

// ReadRule reads the field rule of an object that has it beside others; ok is false when
// it is not there, null, or faulty, which r notes.
func ReadRule(r wire.Reader) (rule Rule, ok bool) {
	return wire.Enum(r, "rule", parseWord[Rule](ruleWords), "threshold or guarantee")
}

// ReadReserve reads the field reserve, percent, in the same way.
func ReadReserve(r wire.Reader) (percent int64, ok bool) { return r.Int("reserve", 0, 400) }

// parseID reads the id that a document gives itself.
func parseID(r wire.Reader, want string) string {
	if want == "" {
		return r.ID("id")
	}
	if got := r.NeedID("id"); got != "" && got != want {
		r.Fault("id", "is not "+want+": a document must name the id it is written under")
	}
	return want
}

// parseConnections reads the rich form, connections, or the plain one,
// connectionIds, or the one of old, connectionId for a pool of one account;
// several of them only if they say the same.
func parseConnections(r wire.Reader) []Connection {
	ids, plain := r.IDs("connectionIds", MaxConnections)
	objects, rich := r.Objects("connections", MaxConnections)
	connections := make([]Connection, 0, max(len(objects), len(ids)))
	ours := seen[string]{}
	for _, o := range objects {
		c := parseConnection(o)
		if c.ConnectionID != "" && ours.again(c.ConnectionID) {
			o.Fault("connectionId", twice)
		}
		connections = append(connections, c)
	}
	if rich {
		if plain && !slices.EqualFunc(connections, ids, Connection.is) {
			r.Fault("connectionIds", "is not what connections says: give one of the two")
		}
	} else {
		for _, id := range ids {
			if ours.again(id) {
				r.Fault("connectionIds", "has "+wire.Show(id)+" twice: keep one")
			}
			connections = append(connections, Connection{ConnectionID: id, Weight: defaultWeight})
		}
	}
	return parseOnlyConnection(r, connections)
}

// parseOnlyConnection reads connectionId into the connections that the other
// two forms gave.
func parseOnlyConnection(r wire.Reader, others []Connection) []Connection {
	id := r.ID("connectionId")
	switch {
	case !r.Has("connectionId"):
		requireConnection(r)
	case r.Has("connections") || r.Has("connectionIds"):
		requireConnection(r)
		if id != "" && (len(others) != 1 || !others[0].is(id)) {
			r.Fault("connectionId", "is not what connections or connectionIds say: leave it out")
		}
	case id != "":
		return []Connection{{ConnectionID: id, Weight: defaultWeight}}
	}
	return others
}

func requireConnection(r wire.Reader) {
	const need = ": a pool has at least one connection"
	rich, plain := r.Get("connections"), r.Get("connectionIds")
	switch {
	case rich.Kind == wire.Absent && plain.Kind == wire.Absent:
		r.Fault("connections", "is missing"+need)
	case rich.Kind == wire.Array && len(rich.Items) == 0:
		r.Fault("connections", "is empty"+need)
	case rich.Kind == wire.Absent && plain.Kind == wire.Array && len(plain.Items) == 0:
		r.Fault("connectionIds", "is empty"+need)
	}
}

func (c Connection) is(id string) bool { return c.ConnectionID == id }

func parseConnection(o wire.Reader) Connection {
	c := Connection{ConnectionID: o.NeedID("connectionId"), Weight: defaultWeight}
	if n, ok := o.Int("weight", 1, 1_000); ok {
		c.Weight = n
	}
	c.MaxConcurrent, _ = o.Int("maxConcurrent", 1, 1_000_000)
	return c
}

func parseAllocations(r wire.Reader) []Allocation {
	objects, _ := r.Objects("allocations", MaxAllocations)
	var allocations []Allocation
	caps := 0
	keys := seen[string]{}
	for _, o := range objects {
		a := Allocation{APIKeyID: o.NeedID("apiKeyId")}
		if a.APIKeyID != "" && keys.again(a.APIKeyID) {
			o.Fault("apiKeyId", twice)
		}
		if o.Need("weight") {
			a.Weight, _ = o.Ratio("weight", 0, 100*quota.RatioOne)
		}
		a.Policy, _ = wire.Enum(o, "policy", parseWord[Policy](policyWords), "hard, soft or burst")
		a.Suspended, _ = o.Flag("suspended")
		a.CapUnit, a.CapValue = parseCapValue(o)
		a.Caps = parseCaps(o)
		caps += len(a.Caps)
		allocations = append(allocations, a)
	}
	if caps > MaxCaps {
		r.Fault("allocations", fmt.Sprintf("has %d caps, more than %d", caps, MaxCaps))
	}
	return allocations
}

// parseCapValue reads the pair capUnit and capValue, of which neither stands
// without the other.
func parseCapValue(o wire.Reader) (quota.Unit, quota.Amount) {
	unit, known := wire.Enum(o, "capUnit", quota.ParseUnit, quota.UnitNames)
	switch {
	case o.Has("capValue") && !o.Has("capUnit"):
		o.Fault("capUnit", "is missing: capValue needs its unit")
	case o.Has("capUnit") && !o.Has("capValue"):
		o.Fault("capValue", "is missing: capUnit needs its value")
	case known:
		return unit, parsePositive(o, "capValue", unit)
	}
	return 0, 0
}

func parsePositive(o wire.Reader, name string, u quota.Unit) quota.Amount {
	v, ok := o.Amount(name, u)
	if ok && v <= 0 {
		o.Fault(name, "is not above 0")
		return 0
	}
	return v
}

func parseCaps(o wire.Reader) []Cap {
	objects, _ := o.Objects("caps", maxDimensions)
	var caps []Cap
	places := seen[Dimension]{}
	for _, c := range objects {
		d, ok := parseUnitWindow(c)
		if ok && places.again(d) {
			c.Fault("window", twice)
		}
		if ok && c.Need("value") {
			caps = append(caps, Cap{d.Unit, d.Window, parsePositive(c, "value", d.Unit)})
		}
	}
	return caps
}

// parseUnitWindow reads which dimension is meant; its Limit is left 0.
func parseUnitWindow(o wire.Reader) (d Dimension, ok bool) {
	var unit, window bool
	if o.Need("unit") {
		d.Unit, unit = wire.Enum(o, "unit", quota.ParseUnit, quota.UnitNames)
	}
	if o.Need("window") {
		d.Window, window = wire.Enum(o, "window", quota.ParseWindow, quota.WindowNames)
	}
	return d, unit && window
}

func parseModelCaps(r wire.Reader) []ModelCap {
	objects, _ := r.Objects("modelCaps", MaxModelCaps)
	var caps []ModelCap
	places := seen[ModelCap]{}
	for _, o := range objects {
		c := ModelCap{APIKeyID: o.NeedID("apiKeyId"), Model: o.NeedID("model")}
		if c.APIKeyID == quota.AllOthers {
			o.Fault("apiKeyId", "is *: a model cap names one key")
		}
		if unit, value := o.Need("capUnit"), o.Need("capValue"); unit && value {
			c.CapUnit, c.CapValue = parseCapValue(o)
		}
		if c.CapValue > 0 && places.again(ModelCap{c.APIKeyID, c.Model, c.CapUnit, 0}) {
			o.Fault("model", twice)
		}
		caps = append(caps, c)
	}
	return caps
}

// seen finds what is there twice.
type seen[K comparable] map[K]bool

// again reports whether k was there before.
func (s seen[K]) again(k K) bool {
	was := s[k]
	s[k] = true
	return was
}
