package usage

import (
	"slices"

	"github.com/quotashare/quotashare/quota"
)

// Recent gathers minute rows for the burn rates of a snapshot. What was
// corrected is no part of them: a refund is not used more slowly.
type Recent struct {
	s     *Snapshot
	first int64 // the oldest minute taken, counted from 1970
	all   series
	rows  []series // of s.Keys
}

// series is the amounts of Minutes complete minutes, by unit; nil = nothing.
type series [quota.NumUnits][]quota.Amount

func (x *series) add(minute int, a quota.Amounts) {
	for u := range a {
		if a[u] == 0 {
			continue
		}
		if x[u] == nil {
			x[u] = make([]quota.Amount, Minutes)
		}
		x[u][minute] = quota.AddSat(x[u][minute], a[u])
	}
}

func (x *series) rate(u quota.Unit) Rate {
	r, _ := EMA(x[u])
	return r
}

// NewRecent returns a Recent for the rows of the snapshot, which must not get
// others any more.
func NewRecent(s *Snapshot) *Recent {
	return &Recent{s: s, first: s.AsOf.Time/MinuteMs - Minutes, rows: make([]series, len(s.Keys))}
}

// Span returns the time that minute rows are taken from, in epoch ms: Minutes
// complete minutes, to exclusive.
func (r *Recent) Span() (from, to int64) {
	return r.first * MinuteMs, (r.first + Minutes) * MinuteMs
}

// AddTotal takes in what all keys consumed in the minute that begins at time, on
// one of the pool's connections. Rows out of the span count for nothing.
func (r *Recent) AddTotal(time int64, a quota.Amounts) { r.add(&r.all, time, a) }

// Add is AddTotal for the key at that place in Snapshot.Keys.
func (r *Recent) Add(row int, time int64, a quota.Amounts) { r.add(&r.rows[row], time, a) }

func (r *Recent) add(x *series, time int64, a quota.Amounts) {
	if minute := time/MinuteMs - r.first; minute >= 0 && minute < Minutes {
		x.add(int(minute), a)
	}
}

// Finish puts the burn rates into the snapshot.
func (r *Recent) Finish() {
	r.addOthers()
	for i := range r.s.Dimensions {
		d := &r.s.Dimensions[i]
		for k := range d.Uses {
			d.Uses[k].Rate = r.rows[k].rate(d.Unit)
		}
		d.Burn = Burn{Rate: r.all.rate(d.Unit)}
		if d.Limit > 0 {
			d.Burn.exhaust(d.Limit-d.ConsumedTotal, d.untilReset(r.s.AsOf.Time))
		}
	}
	r.s.TokensPerSecond = r.all.rate(quota.Tokens)
}

// addOthers works out the row of all others, where there is one: what all keys
// consumed without those that have an allocation of their own. Most of the others
// have no row of their own to add up.
func (r *Recent) addOthers() {
	others := slices.IndexFunc(r.s.Keys, func(k Key) bool { return k.Own && k.ID == quota.AllOthers })
	if others < 0 {
		return
	}
	for u := range r.all {
		rest := slices.Clone(r.all[u])
		for i := range r.s.Keys {
			if !r.s.Keys[i].Own || rest == nil {
				continue
			}
			for m, amount := range r.rows[i][u] {
				rest[m] = quota.AddSat(rest[m], -amount)
			}
		}
		r.rows[others][u] = rest
	}
}

// untilReset returns the wait until every connection's window has begun anew,
// that is the latest of their resets; -1 when one does not say when it resets.
// Until the latest, something of what is used now stays used.
func (d *Dimension) untilReset(now int64) int64 {
	wait := int64(-1)
	for i := range d.Connections {
		if d.Connections[i].ResetAt == 0 {
			return -1
		}
		wait = max(wait, d.Connections[i].ResetAt-now, 0)
	}
	return wait
}
