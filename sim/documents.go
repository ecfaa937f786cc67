package sim

import (
	"slices"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/sim/model"
)

// pool draws a document of that id.
func (w *world) pool(id string) *plans.Pool {
	d := w.dice
	p := &plans.Pool{ID: id, Name: "pool", Provider: pick(d, []string{"acme", "acme", "kimi"}), Reserve: 100}
	if w.paced || d.chance(40) {
		p.Rule = plans.Guarantee
		p.Reserve = pick(d, []int64{0, 0, 10, 50, 100, 100, 200, 400, d.between(0, 400)})
	}
	p.Mode = []plans.Mode{plans.Enforce, plans.Observe, plans.Off}[d.kind(75, 17, 8)]
	for _, c := range w.connectionsOf(id) {
		x := plans.Connection{ConnectionID: c, Weight: 100}
		if d.chance(25) {
			x.MaxConcurrent = d.between(1, 4)
		}
		p.Connections = append(p.Connections, x)
	}
	for _, key := range some(d, w.names.keys, int(d.between(0, 5))) {
		p.Allocations = append(p.Allocations, w.allocation(key))
	}
	if w.paced {
		w.pacedPool(p)
	}
	for _, key := range some(d, w.names.keys[:3], d.kind(45, 35, 20)) { // few keys, so that they are met
		unit := pick(d, []quota.Unit{quota.Requests, quota.Tokens})
		p.ModelCaps = append(p.ModelCaps, plans.ModelCap{APIKeyID: key, Model: pick(d, w.names.models[:3]), CapUnit: unit, CapValue: w.limit(unit) / 3})
	}
	return p
}

// pacedPool makes the pool one in which the rule guarantee has a say: it is enforced, and
// most keys may not pass their share.
func (w *world) pacedPool(p *plans.Pool) {
	p.Mode, p.Provider, p.ModelCaps, p.Allocations = plans.Enforce, "acme", nil, nil
	for _, key := range some(w.dice, w.names.keys, int(w.dice.between(2, 6))) {
		a := w.allocation(key)
		a.Caps, a.CapUnit, a.CapValue = nil, 0, 0
		if w.dice.chance(60) {
			a.Policy = plans.Hard
		}
		p.Allocations = append(p.Allocations, a)
	}
	if w.dice.chance(10) {
		for i := range p.Allocations {
			p.Allocations[i].Weight = 0
		}
	}
	for i := range p.Connections {
		p.Connections[i].MaxConcurrent = 0
	}
}

// connectionsOf draws connections: mostly those that the id always has, so that
// pools rarely want the same one.
func (w *world) connectionsOf(id string) []string {
	all := w.names.connections
	switch own := slices.Index(w.names.pools, id); {
	case w.dice.chance(25):
		return some(w.dice, all, int(w.dice.between(1, 2)))
	case own == 0:
		return all[:2]
	default:
		return all[own+1 : own+2]
	}
}

func (w *world) allocation(key string) plans.Allocation {
	d := w.dice
	a := plans.Allocation{
		APIKeyID:  key,
		Weight:    pick(d, []quota.Ratio{0, 5_000_000, 10_000_000, 25_000_000, 33_333_333, 50_000_000, 100_000_000}),
		Policy:    []plans.Policy{plans.Hard, plans.Soft, plans.Burst}[d.kind(45, 25, 30)],
		Suspended: d.chance(4),
	}
	if d.chance(20) {
		a.CapUnit = pick(d, []quota.Unit{quota.Requests, quota.Tokens, quota.USD})
		a.CapValue = w.limit(a.CapUnit) / 2
	}
	if d.chance(20) {
		unit := pick(d, []quota.Unit{quota.Requests, quota.Tokens, quota.Percent})
		a.Caps = []plans.Cap{{Unit: unit, Window: w.window(), Value: w.limit(unit) / 2}}
	}
	return a
}

func (w *world) window() quota.Window {
	if w.paced {
		return []quota.Window{quota.Hourly, quota.FiveHour}[w.dice.kind(80, 20)]
	}
	return []quota.Window{quota.Hourly, quota.FiveHour, quota.Daily, quota.Weekly}[w.dice.kind(60, 25, 10, 5)]
}

// limit draws an amount that a few requests come to.
func (w *world) limit(u quota.Unit) quota.Amount {
	switch u {
	case quota.Requests:
		return requests(w.dice.between(3, 40))
	case quota.Tokens:
		return tokens(w.dice.between(500, 20_000)) + quota.Amount(w.dice.kind(80, 20)*333)
	}
	if u == quota.Percent {
		return points(w.dice.between(20, 100))
	}
	return dollars(w.dice.between(1, 20)) + 1
}

// plan draws dimensions; in paced runs half of them have one in percent.
func (w *world) plan() (list []plans.Dimension) {
	for _, u := range some(w.dice, []quota.Unit{quota.Requests, quota.Tokens, quota.USD, quota.Percent}, w.dice.kind(4, 46, 35, 15)) {
		d := plans.Dimension{Unit: u, Window: w.window(), Limit: w.limit(u)}
		if w.dice.chance(8) {
			d.Limit = 0
		}
		list = append(list, d)
	}
	if w.paced && w.dice.chance(30) {
		list = []plans.Dimension{{Unit: quota.Percent, Window: w.window(), Limit: points(w.dice.between(20, 60))}}
	}
	return list
}

func (w *world) settings() model.Settings {
	s := model.DefaultSettings()
	s.Threshold = pick(w.dice, []quota.Ratio{0, 300_000, 500_000, 500_000, 800_000, 1_000_000})
	s.SoftFactor = pick(w.dice, []quota.Ratio{700_000, 500_000})
	s.SignalTTLMs = pick(w.dice, []int64{30_000, 300_000})
	return s
}

// exactPool is what an exact run shares: it binds, and never changes. The limits
// are of the plan that goes with it.
func (w *world) exactPool() (*plans.Pool, []plans.Dimension) {
	p := w.pool("p")
	p.Mode, p.Provider, p.ModelCaps = plans.Enforce, "acme", nil
	for i := range p.Connections {
		p.Connections[i].MaxConcurrent = 0 // a call that moves to where no place is goes on, and is held no more
	}
	for i := range p.Allocations {
		a := &p.Allocations[i]
		a.Suspended, a.Caps, a.CapUnit, a.CapValue = false, nil, 0, 0
		if w.dice.chance(70) {
			a.Policy = plans.Burst
		}
	}
	list := []plans.Dimension{{Unit: quota.Requests, Window: quota.FiveHour, Limit: requests(w.dice.between(20, 120))}}
	if w.dice.chance(50) {
		list = append(list, plans.Dimension{Unit: quota.Tokens, Window: quota.Daily, Limit: tokens(w.dice.between(20_000, 120_000))})
	}
	return p, list
}
