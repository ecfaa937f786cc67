package usage

import "github.com/quotashare/quotashare/quota"

// Recent gathers minute rows for the burn rates of a snapshot. What was
// corrected is no part of them: a refund is not used more slowly.
type Recent struct {
	s     *Snapshot
	first int64 // the oldest minute taken, counted from 1970
	all   series
	rows  []series // of s.Keys
	rest  int      // the row of all others in s.Keys, -1 = none
}

// Unshown is the row of a key that the snapshot does not show.
const Unshown = -1

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
	r := &Recent{s: s, first: floorTo(s.AsOf.Time, MinuteMs)/MinuteMs - Minutes, rows: make([]series, len(s.Keys)), rest: Unshown}
	for i := range s.Keys {
		if s.Keys[i].Own && s.Keys[i].ID == quota.AllOthers {
			r.rest = i
		}
	}
	return r
}

// Span returns the time that minute rows are taken from, in epoch ms: Minutes
// complete minutes, to exclusive.
func (r *Recent) Span() (from, to int64) {
	return r.first * MinuteMs, (r.first + Minutes) * MinuteMs
}

// Add takes in what a key consumed in the minute that begins at time, on one of
// the pool's connections. row is the key's own place in Snapshot.Keys, or
// Unshown. Rows out of the span count for nothing.
func (r *Recent) Add(row int, time int64, a quota.Amounts) {
	minute := floorTo(time, MinuteMs)/MinuteMs - r.first
	if minute < 0 || minute >= Minutes {
		return
	}
	r.all.add(int(minute), a)
	if row != Unshown {
		r.rows[row].add(int(minute), a)
	}
	if r.rest != Unshown && (row == Unshown || !r.s.Keys[row].Own) {
		r.rows[r.rest].add(int(minute), a)
	}
}

// Finish puts the burn rates into the snapshot.
func (r *Recent) Finish() {
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
