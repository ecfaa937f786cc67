package usage

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Reach is how far the keys of a pool could come, each alone, in a window that begins with
// nothing used: under both rules of sharing, whichever the pool has.
type Reach struct {
	Dimensions []ReachDimension // in plan order
	Total      int              // allocations there are, shown or not
}

// ReachDimension is that of one dimension.
type ReachDimension struct {
	Unit   quota.Unit
	Window quota.Window
	Limit  quota.Amount // 0 = unknown, shown as null; then there are no keys
	Keys   []KeyReach   // a page of the allocations, in the order of the pool
}

// KeyReach is how far one key could come.
type KeyReach struct {
	ID                   string // or quota.AllOthers
	Share                quota.Amount
	Threshold, Guarantee Reached
}

// Reached is where a key could come under one rule, by requests of the smallest amount.
type Reached struct {
	AtOnce quota.Amount // in the first instant of the window
	ByEnd  quota.Amount // by the last one
}

// Append appends the reach as a JSON object.
func (r *Reach) Append(dst []byte) []byte {
	w := writer{wire.NewWriter(dst, wire.JSON)}
	w.Object()
	w.Name("dimensions")
	w.Array()
	for i := range r.Dimensions {
		d := &r.Dimensions[i]
		w.Object()
		w.text("unit", d.Unit.String())
		w.text("window", d.Window.String())
		w.amount("limit", d.Limit, d.Unit, d.Limit > 0)
		w.Name("perKey")
		w.Array()
		for k := range d.Keys {
			w.keyReach(&d.Keys[k], d.Unit)
		}
		w.End()
		w.End()
	}
	w.End()
	w.int("total", int64(r.Total), true)
	w.End()
	return w.Bytes()
}

func (w *writer) keyReach(k *KeyReach, u quota.Unit) {
	w.Object()
	w.text("apiKeyId", k.ID)
	w.amount("fairShare", k.Share, u, true)
	w.reached("threshold", k.Threshold, u)
	w.reached("guarantee", k.Guarantee, u)
	w.End()
}

func (w *writer) reached(rule string, r Reached, u quota.Unit) {
	w.Name(rule)
	w.Object()
	w.amount("atOnce", r.AtOnce, u, true)
	w.amount("byEnd", r.ByEnd, u, true)
	w.End()
}
