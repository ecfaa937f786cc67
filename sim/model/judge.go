package model

import (
	"math/big"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// Question asks for a key and a connection. The hold of Request, if one is open,
// is not counted; "" counts all. Only one that reserves needs a place on the connection.
type Question struct {
	Key, Request, Connection, Model string
	Estimate                        quota.Amounts
	Reserve                         bool
}

// Verdict is the judgement of a question at one instant.
type Verdict struct {
	Reason       string
	Observe      bool
	Deprioritize bool
	Detail       string // what the rule guarantee says
	Bound        bool   // Unit, Window and Model say by what
	Unit         quota.Unit
	Window       quota.Window
	Model        string
	Scope        string
}

// ranks are the reasons to block, in rising precedence.
var ranks = map[string]int{"capacity": 1, "fair-share": 2, "global-saturated": 3, "cap-absolute": 4, "model-cap": 5, "suspended": 6}

// Blocks reports whether the judgement is to block.
func (v Verdict) Blocks() bool { return ranks[v.Reason] > 0 }

// Allowed reports whether the answer is allow.
func (v Verdict) Allowed() bool { return v.Observe || !v.Blocks() }

// Line is one dimension or cap and its numbers at one instant.
type Line struct {
	Unit     quota.Unit
	Window   quota.Window
	Model    string       // of a model's cap
	Limit    quota.Amount // 0 = unknown
	Cap      quota.Amount // 0 = none
	Share    quota.Amount
	Shared   bool
	Consumed quota.Amount // by the key
	Held     quota.Amount // by the key, each at most Limit
	Total    quota.Amount
	AllHeld  quota.Amount
	Strict   bool
	// Guaranteed says that the rule guarantee judges it, and what it says.
	Guaranteed               bool
	Cycle                    bool         // by the provider's cycle
	Promised, Kept, Headroom quota.Amount // as shown

	period  period
	promise promise
	// spares reports whether the key may use so much more of it.
	spares func(quota.Amount) bool

	capOnly  bool // no dimension of the plan
	estimate quota.Amount
	against  quota.Amount // consumed and held against Cap
	used     quota.Amount // reading of the serving connection
	known    bool
	scopedUp bool // it is full for some models alone
}

// Shown is what of the line an explanation shows.
func (l *Line) Shown() Line {
	x := Line{
		Unit: l.Unit, Window: l.Window, Limit: l.Limit, Consumed: l.Consumed, Held: l.Held,
		Total: l.Total, AllHeld: l.AllHeld, Strict: l.Strict && !l.Guaranteed,
	}
	x.Guaranteed, x.Promised, x.Kept, x.Headroom = l.Guaranteed, l.promise.promised, l.promise.kept, l.promise.headroom
	if l.Limit > 0 && l.Shared {
		x.Share = l.Share
	}
	return x
}

// Judge answers the question at an instant, which is not before log time.
func (m *Model) Judge(q *Question, at int64) Verdict {
	p := m.PoolOf(q.Connection)
	switch {
	case p == nil:
		return Verdict{Reason: "no-pool"}
	case p.Mode == plans.Off:
		return Verdict{Reason: "off"}
	}
	v := Verdict{Reason: "ok", Observe: p.Mode == plans.Observe}
	own := allocationOf(p, q.Key)
	if own >= 0 && p.Allocations[own].Suspended {
		v.Reason, v.Scope = "suspended", "key"
		return v
	}
	policy := plans.Hard
	if own >= 0 {
		policy = p.Allocations[own].Policy
	}
	above, lines := false, m.lines(p, q, at)
	for _, l := range lines {
		reason, over := l.judge(policy)
		above = above || over
		if ranks[reason] > ranks[v.Reason] {
			v.Reason, v.Bound, v.Unit, v.Window, v.Model = reason, true, l.Unit, l.Window, l.Model
			v.Scope, v.Detail = l.scope(reason), ""
			if reason == "fair-share" {
				v.Detail = l.promise.detail
			}
			if v.Scope == "model" {
				v.Model = q.Model
			}
		}
	}
	if !v.Blocks() {
		v.Detail = detail(lines)
		if own < 0 {
			v.Reason = "no-allocation"
		}
		v.Deprioritize = above && policy == plans.Soft && own >= 0 && !v.Observe
		if q.Reserve && m.crowded(p, q, at) {
			v = Verdict{Reason: "capacity", Observe: v.Observe, Scope: "connection"}
		}
	}
	return v
}

// crowded reports whether the connection has as many requests in flight at an instant
// as it takes, without that of the question.
func (m *Model) crowded(p *plans.Pool, q *Question, at int64) bool {
	most, n := p.Connections[placeOf(p, q.Connection)].MaxConcurrent, int64(0)
	for name, h := range m.holds {
		if h.connection == q.Connection && at < h.end && name != (requestName{q.Key, q.Request}) {
			n++
		}
	}
	return most > 0 && n >= most
}

// Alternatives are the other connections of the pool that would be allowed.
func (m *Model) Alternatives(q *Question, at int64) (list []string) {
	p := m.PoolOf(q.Connection)
	if p == nil {
		return nil
	}
	for _, c := range p.Connections {
		other := *q
		other.Connection = c.ConnectionID
		if c.ConnectionID != q.Connection && !m.Judge(&other, at).Blocks() {
			list = append(list, c.ConnectionID)
		}
	}
	return list
}

// Lines returns the dimensions of the connection's pool as the key sees them.
func (m *Model) Lines(q *Question, at int64) (list []Line) {
	p := m.PoolOf(q.Connection)
	if p == nil {
		return nil
	}
	for _, l := range m.lines(p, q, at) {
		if !l.capOnly {
			list = append(list, l)
		}
	}
	return list
}

// allocationOf is the key's own, else that of all others, else -1.
func allocationOf(p *plans.Pool, key string) int {
	others := -1
	for i := range p.Allocations {
		switch p.Allocations[i].APIKeyID {
		case key:
			return i
		case "*":
			others = i
		}
	}
	return others
}

func (m *Model) lines(p *plans.Pool, q *Question, at int64) (list []Line) {
	own := allocationOf(p, q.Key)
	for _, d := range m.planOf(p, p.Connections[0].ConnectionID) {
		l := Line{Unit: d.Unit, Window: d.Window, Shared: own >= 0}
		for _, c := range p.Connections {
			l.Limit += m.limitOf(p, c.ConnectionID, d)
		}
		if own >= 0 {
			l.Share = share(l.Limit, p, own)
			if p.Allocations[own].CapUnit == d.Unit {
				l.Cap = p.Allocations[own].CapValue
			}
		}
		list = append(list, l)
	}
	if own >= 0 {
		for _, c := range p.Allocations[own].Caps {
			list = append(list, Line{Unit: c.Unit, Window: c.Window, Cap: c.Value, capOnly: true})
		}
	}
	for _, c := range p.ModelCaps {
		if c.APIKeyID == q.Key && c.Model == q.Model && q.Model != "" {
			list = append(list, Line{Unit: c.CapUnit, Window: quota.Hourly, Model: c.Model, Cap: c.CapValue, capOnly: true})
		}
	}
	for i := range list {
		list[i].estimate = q.Estimate[list[i].Unit]
		m.measure(&list[i], p, q, at)
	}
	for i := range list {
		list[i].spares = func(more quota.Amount) bool { return spares(list, i, p, q, more) }
	}
	return list
}

// spares reports whether its caps, the pool and, where it may not pass it, its share leave
// the key so much more of the i-th line, which is a dimension.
func spares(lines []Line, i int, p *plans.Pool, q *Question, more quota.Amount) bool {
	l, own := &lines[i], allocationOf(p, q.Key)
	for k := range lines {
		c := &lines[k]
		same := c.capOnly && c.Model == "" && c.Unit == l.Unit && c.Window == l.Window
		if (k == i || same) && c.Cap > 0 && c.against+more > c.Cap {
			return false
		}
	}
	hard := own >= 0 && p.Allocations[own].Policy == plans.Hard
	switch {
	case l.Guaranteed:
		return l.period.total+int64(more) <= l.period.limit && !l.period.judge(own, more, own >= 0 && !hard).blocks
	case l.Strict && hard && l.Consumed+l.Held+more > l.Share:
		return false
	}
	return l.Total+l.AllHeld+more <= l.Limit
}

// IsMost reports whether an amount is the most that the key may still use of a dimension
// with a known limit.
func (l *Line) IsMost(amount quota.Amount) bool {
	return (amount == 0 || l.spares(amount)) && !l.spares(amount+1)
}

// planOf is the plan by hand, else that of the provider, of which only that of
// kimi is known here.
func (m *Model) planOf(p *plans.Pool, connection string) []plans.Dimension {
	if d, ok := m.plans[connection]; ok {
		return d
	}
	if p.Provider == "kimi" {
		return []plans.Dimension{{Unit: quota.Requests, Window: quota.Hourly, Limit: 1_500_000}}
	}
	return nil
}

// limitOf is what a connection gives to a dimension of the pool.
func (m *Model) limitOf(p *plans.Pool, connection string, first plans.Dimension) quota.Amount {
	if first.Limit == 0 {
		return 0
	}
	for _, d := range m.planOf(p, connection) {
		if d.Unit == first.Unit && d.Window == first.Window && d.Limit > 0 {
			return d.Limit
		}
	}
	return first.Limit
}

func (m *Model) measure(l *Line, p *plans.Pool, q *Question, at int64) {
	mine := m.mine(l, p, q)
	reported := new(big.Int) // × 1e8: a reading of 100 points is 1e8
	for _, c := range p.Connections {
		id := c.ConnectionID
		if points, known := m.partOf(id, l.Window, mine, at); known && l.Unit == quota.Percent && l.Model == "" {
			l.Consumed += points
		} else if l.Model == "" && allocationOf(p, q.Key) >= 0 && !listed(p, q.Key) {
			l.Consumed += m.others(p, id, l.Unit, l.Window, at)
		} else {
			l.Consumed += m.count(id, l.Unit, l.Window, at, mine, mine)
		}
		if l.capOnly {
			continue
		}
		total := m.count(id, l.Unit, l.Window, at, everybody, everybody)
		if used, known := m.reading(id, l.Window, at); known && l.Unit == quota.Percent {
			total = used
		}
		l.Total += total
		weight, part := int64(total), int64(100_000_000)
		if used, known := m.reading(id, l.Window, at); known {
			weight = int64(used)
			part = int64(m.limitOf(p, id, plans.Dimension{Unit: l.Unit, Window: l.Window, Limit: m.firstLimit(p, l)}))
		}
		reported.Add(reported, new(big.Int).Mul(big.NewInt(weight), big.NewInt(part)))
	}
	l.Held = m.held(p, q, l.Unit, l.Limit, at, mine)
	l.against = l.Consumed + m.held(p, q, l.Unit, l.Cap, at, mine)
	if l.capOnly {
		return
	}
	l.AllHeld = m.held(p, q, l.Unit, l.Limit, at, everybody)
	l.Strict = m.strict(l, reported)
	if l.Guaranteed = l.ruled(p); l.Guaranteed {
		own := allocationOf(p, q.Key)
		d := m.period(l, p, q, at)
		l.Cycle, l.period = d.cycle, d
		l.promise = d.judge(own, l.estimate, own >= 0 && p.Allocations[own].Policy != plans.Hard)
	}
	l.used, l.known = m.reading(q.Connection, l.Window, at)
	full := l.known && l.used >= 100_000_000
	if v, ok := m.scoped(q.Connection, l.Window, q.Model, at); ok && (!l.known || v > l.used) {
		l.used, l.known = v, true
		l.scopedUp = v >= 100_000_000 && !full
	}
}

// mine says whose uses and holds count as the key's own on the line.
func (m *Model) mine(l *Line, p *plans.Pool, q *Question) who {
	switch {
	case l.Model != "":
		return func(key, model string) bool { return key == q.Key && model == l.Model }
	case allocationOf(p, q.Key) >= 0 && !listed(p, q.Key):
		return func(key, _ string) bool { return !listed(p, key) }
	}
	return func(key, _ string) bool { return key == q.Key }
}

// firstLimit is the limit of the line's dimension in the plan of the pool's first
// connection.
func (m *Model) firstLimit(p *plans.Pool, l *Line) quota.Amount {
	for _, d := range m.planOf(p, p.Connections[0].ConnectionID) {
		if d.Unit == l.Unit && d.Window == l.Window {
			return d.Limit
		}
	}
	return 0
}

// strict reports whether the pool's use, by our count or by the provider's, is at
// least the threshold's part of the limit.
func (m *Model) strict(l *Line, reported *big.Int) bool {
	if l.Limit == 0 {
		return false
	}
	bar := new(big.Int).Mul(big.NewInt(int64(l.Limit)), big.NewInt(int64(m.settings.Threshold)))
	ours := new(big.Int).Mul(big.NewInt(int64(l.Total+l.AllHeld)), big.NewInt(1_000_000))
	theirs := new(big.Int).Quo(reported, big.NewInt(100))
	return ours.Cmp(bar) >= 0 || theirs.Cmp(bar) >= 0
}

// judge gives the line's greatest reason. above is a key in strict mode that has
// more than its share, whatever comes of it.
func (l *Line) judge(policy plans.Policy) (reason string, above bool) {
	above = l.Limit > 0 && l.Shared && l.Strict && l.Consumed+l.Held > l.Share
	switch {
	case l.Cap > 0 && (l.against >= l.Cap || l.against+min(l.estimate, l.Cap) > l.Cap):
		if l.Model != "" {
			return "model-cap", false
		}
		return "cap-absolute", false
	case l.known && l.used >= 100_000_000, l.full():
		return "global-saturated", false
	case l.Guaranteed && l.promise.blocks:
		return "fair-share", false
	case l.Guaranteed:
		return "ok", l.promise.above
	case above && policy == plans.Hard:
		return "fair-share", true
	}
	return "ok", above
}

// full reports whether the pool has no room for the estimate.
func (l *Line) full() bool {
	if l.Guaranteed {
		return l.promise.full
	}
	t := l.Total + l.AllHeld
	return l.Limit > 0 && (t >= l.Limit || t+min(l.estimate, l.Limit) > l.Limit)
}

// scope says who has no room.
func (l *Line) scope(reason string) string {
	switch {
	case reason == "model-cap":
		return "model"
	case reason != "global-saturated":
		return "key"
	case l.full():
		return "pool"
	case l.scopedUp:
		return "model"
	}
	return "connection"
}
