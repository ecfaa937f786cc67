package whatif

import (
	"fmt"
	"slices"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/wire"
)

// Bounds of what is tried at once.
const (
	MaxPools = 1000
	MaxPlans = 10_000
)

// LeastTime is the least number that is a time, epoch ms, where a sequence of the log
// may stand too. It is one of 1973: no time that we take in is below it, and a log with
// as many messages would have had a thousand a second for three years.
const LeastTime = 100_000_000_000

// Read reads a trial:
//
//	{pools?: [<pool document>], withoutPools?: [id], rules?: [{poolId, rule?, reserve?}],
//	 plans?: [{connectionId, dimensions | null}], settings?: {<name>: value | null}, from?, to?}
//
// from and to are a time, or {"seq": n} with n below LeastTime. Every fault is named by its field.
func Read(doc wire.Value) (*Trial, wire.Faults) {
	var faults wire.Faults
	r, _ := wire.Read(doc, "", &faults)
	r.Only("pools", "withoutPools", "rules", "plans", "settings", "from", "to")
	t := &Trial{From: place(r, "from"), To: place(r, "to")}
	t.readPools(r, &faults)
	t.readRules(r)
	t.readPlans(r, &faults)
	if r.Has("settings") {
		t.Settings = r.Get("settings")
		_, wrong := plans.DefaultSettings().Change(t.Settings)
		under(&faults, "settings", wrong)
	}
	if len(faults) == 0 && t.nothing() {
		faults.Add("", "changes nothing: name pools, withoutPools, rules, plans or settings")
	}
	return t, faults
}

func (t *Trial) nothing() bool {
	return len(t.Pools) == 0 && len(t.Without) == 0 && len(t.Rules) == 0 && len(t.Plans) == 0 && len(t.Settings.Fields) == 0
}

// place reads a time or a sequence.
func place(r wire.Reader, name string) (p Place) {
	if r.Get(name).Kind != wire.Object {
		p.Time = r.Instant(name)
		return p
	}
	o, ok := r.Object(name)
	if !ok {
		return p
	}
	o.Only("seq")
	if o.Need("seq") {
		n, _ := o.Int("seq", 1, LeastTime-1)
		p.Seq = uint64(n)
	}
	return p
}

// readPools reads the documents, and finds what two of them cannot both have.
func (t *Trial) readPools(r wire.Reader, faults *wire.Faults) {
	items, _ := r.Array("pools", MaxPools)
	t.Without, _ = r.IDs("withoutPools", MaxPools)
	ids, owners := map[string]int{}, map[string]int{}
	for i, item := range items {
		p, wrong := plans.ParsePool("", item)
		if p == nil {
			under(faults, r.ItemPath("pools", i), wrong)
			continue
		}
		if p.ID == "" {
			wrong.Add("id", "is missing: say which pool it is, or give a new one an id of its own")
		} else if first, twice := ids[p.ID]; twice {
			wrong.Add("id", fmt.Sprintf("is that of pools[%d] too: keep one", first))
		}
		if slices.Contains(t.Without, p.ID) && p.ID != "" {
			wrong.Add("id", "is in withoutPools too: keep it in one of them")
		}
		ids[p.ID] = i
		under(&t.Warnings, r.ItemPath("pools", i), plans.UnknownPoolFields(item))
		for k, c := range p.Connections {
			if first, taken := owners[c.ConnectionID]; taken && first != i {
				wrong.Add(fmt.Sprintf("connections[%d].connectionId", k),
					fmt.Sprintf("is %s, which pools[%d] has already: a connection is in at most one pool", wire.Show(c.ConnectionID), first))
			}
			owners[c.ConnectionID] = i
		}
		under(faults, r.ItemPath("pools", i), wrong)
		t.Pools = append(t.Pools, p)
	}
}

// readRules reads the pools that share in another way. One that is tried as a whole has
// its rule in its document.
func (t *Trial) readRules(r wire.Reader) {
	objects, _ := r.Objects("rules", MaxPools)
	at := map[string]int{}
	for i, o := range objects {
		o.Only("poolId", "rule", "reserve")
		x := Rule{PoolID: o.NeedID("poolId")}
		x.Rule, x.HasRule = plans.ReadRule(o)
		x.Reserve, x.HasReserve = plans.ReadReserve(o)
		first, twice := at[x.PoolID]
		switch {
		case x.PoolID == "":
		case twice:
			o.Fault("poolId", fmt.Sprintf("is that of rules[%d] too: keep one", first))
		case slices.Contains(t.Without, x.PoolID):
			o.Fault("poolId", "is in withoutPools too: keep it in one of them")
		case slices.ContainsFunc(t.Pools, func(p *plans.Pool) bool { return p.ID == x.PoolID }):
			o.Fault("poolId", "is in pools too: say the rule in its document")
		case !o.Has("rule") && !o.Has("reserve"):
			o.Fault("rule", "is missing, and reserve too: name one of them")
		}
		at[x.PoolID] = i
		t.Rules = append(t.Rules, x)
	}
}

func (t *Trial) readPlans(r wire.Reader, faults *wire.Faults) {
	items, _ := r.Array("plans", MaxPlans)
	at := map[string]int{}
	for i, item := range items {
		var wrong wire.Faults
		o, ok := wire.Read(item, "", &wrong)
		p := Plan{ConnectionID: o.NeedID("connectionId")}
		p.Delete = isNull(item, "dimensions")
		if ok && !p.Delete {
			var more wire.Faults
			p.Dimensions, more = plans.ParsePlan(item)
			for _, f := range more {
				if f.Field != "connectionId" { // it was read above
					wrong = append(wrong, f)
				}
			}
		}
		under(&t.Warnings, r.ItemPath("plans", i), plans.UnknownPlanFields(item))
		if first, twice := at[p.ConnectionID]; twice && p.ConnectionID != "" {
			wrong.Add("connectionId", fmt.Sprintf("is that of plans[%d] too: keep one", first))
		}
		at[p.ConnectionID] = i
		under(faults, r.ItemPath("plans", i), wrong)
		t.Plans = append(t.Plans, p)
	}
}

// isNull reports whether a field is there and null. One that is not there is no null: a
// plan whose dimensions are misspelt must not be taken for one that is deleted.
func isNull(object wire.Value, name string) bool {
	return slices.ContainsFunc(object.Fields, func(f wire.Field) bool { return f.Name == name && f.Value.Kind == wire.Null })
}

// under adds faults with the path of what they are of.
func under(faults *wire.Faults, path string, more wire.Faults) {
	for _, f := range more {
		field := path
		if f.Field != "" {
			field += "." + f.Field
		}
		faults.Add(field, f.Problem)
	}
}
