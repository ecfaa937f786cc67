package whatif

import (
	"maps"
	"slices"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

var sideNames = [NumSides]string{Before: "before", After: "after"}

// Append appends the report as a JSON object. A unit of which nothing was served on
// either side is left out of all of it.
func (r *Report) Append(dst []byte) []byte {
	w := wire.NewWriter(dst, wire.JSON)
	w.Object()
	end(&w, "from", r.From, r.FromAt)
	end(&w, "to", r.To, r.ToAt)
	units := r.Units()
	w.Name("keys")
	w.Array()
	for i := range r.Rows {
		r.Rows[i].append(&w, units)
	}
	w.End()
	total := r.Total()
	w.Name("total")
	total.append(&w, units)
	w.Name("shifts")
	w.Array()
	for _, s := range r.Shifts() {
		s.append(&w)
	}
	w.End()
	w.Name("capacity")
	w.Array()
	for i := range r.Pools {
		r.Pools[i].append(&w)
	}
	w.End()
	r.Asked.append(&w)
	r.Replay.append(&w)
	w.Name("notes")
	w.Array()
	for _, n := range r.Notes {
		w.String(n)
	}
	w.End()
	w.End()
	return w.Bytes()
}

func end(w *wire.Writer, name string, seq uint64, at int64) {
	w.Name(name)
	w.Object()
	count(w, "seq", seq)
	if at != 0 {
		w.Name("time")
		w.Instant(at)
	}
	w.End()
}

func count[N int64 | uint64](w *wire.Writer, name string, n N) {
	w.Name(name)
	w.Uint(uint64(n))
}

func (r *Row) append(w *wire.Writer, units []quota.Unit) {
	w.Object()
	if r.APIKeyID != "" {
		w.Name("apiKeyId")
		w.String(r.APIKeyID)
	}
	for i := range r.Sides {
		w.Name(sideNames[i])
		r.Sides[i].append(w, units)
	}
	count(w, "newlyBlocked", r.NewlyBlocked)
	count(w, "newlyAllowed", r.NewlyAllowed)
	w.End()
}

func (s *Side) append(w *wire.Writer, units []quota.Unit) {
	w.Object()
	count(w, "allowed", s.Allowed)
	count(w, "blocked", s.Blocked)
	count(w, "wouldBlock", s.WouldBlock)
	count(w, "deprioritized", s.Deprioritized)
	w.Name("served")
	w.Object()
	for _, u := range units {
		w.Name(u.String())
		w.Amount(s.Served[u], u)
	}
	w.End()
	w.Name("reasons")
	w.Object()
	for _, reason := range slices.Sorted(maps.Keys(s.Reasons)) {
		count(w, reason, s.Reasons[reason])
	}
	w.End()
	w.End()
}

func (s *Shift) append(w *wire.Writer) {
	w.Object()
	w.Name("unit")
	w.String(s.Unit.String())
	for _, side := range []struct {
		name string
		list []Change
	}{{"more", s.More}, {"less", s.Less}} {
		w.Name(side.name)
		w.Array()
		for i := range side.list {
			side.list[i].append(w, s.Unit)
		}
		w.End()
	}
	w.End()
}

func (c *Change) append(w *wire.Writer, u quota.Unit) {
	w.Object()
	w.Name("apiKeyId")
	w.String(c.APIKeyID)
	amounts(w, u, amount{"before", c.Before}, amount{"after", c.After}, amount{"difference", c.By()})
	w.End()
}

// amount is a field that is one.
type amount struct {
	name string
	a    quota.Amount
}

func amounts(w *wire.Writer, u quota.Unit, list ...amount) {
	for _, f := range list {
		w.Name(f.name)
		w.Amount(f.a, u)
	}
}

func (p *Pool) append(w *wire.Writer) {
	w.Object()
	w.Name("poolId")
	w.String(p.PoolID)
	w.Name("unit")
	w.String(p.Unit.String())
	w.Name("window")
	w.String(p.Window.String())
	for i := range p.Sides {
		c := &p.Sides[i]
		w.Name(sideNames[i])
		w.Object()
		count(w, "buckets", c.Buckets)
		amounts(w, p.Unit, amount{"limit", c.Limit}, amount{"used", c.Used}, amount{"unused", c.Unused},
			amount{"withheld", c.Withheld}, amount{"wanted", c.Wanted})
		w.End()
	}
	w.End()
}

func (a *Asked) append(w *wire.Writer) {
	w.Name("asked")
	w.Object()
	count(w, "consumptions", a.Consumptions)
	count(w, "holds", a.Holds)
	count(w, "blocks", a.Blocks)
	count(w, "degraded", a.Degraded)
	count(w, "unlike", a.Unlike)
	w.Name("waiting")
	w.Object()
	for i, n := range a.Waiting {
		count(w, sideNames[i], n)
	}
	w.End()
	w.End()
}

func (r *Replay) append(w *wire.Writer) {
	w.Name("replay")
	w.Object()
	count(w, "snapshot", r.Snapshot)
	count(w, "missing", r.Missing)
	if r.Missing > 0 {
		count(w, "missingFrom", r.MissingFirst)
		count(w, "missingTo", r.MissingLast)
	}
	w.End()
}
