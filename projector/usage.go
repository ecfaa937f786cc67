package projector

import (
	"cmp"
	"context"
	"slices"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
)

// Usage returns how the pool stands at the later of clock, which is the
// caller's, and the log time: the numbers that decisions at that instant would
// explain, all from one state. Which keys without an allocation of their own are
// shown, and how many there are, is as of some moment of the call before it. Lag
// and burn rates are not filled in. ok is false when there is no such pool.
func (s *State) Usage(poolID string, clock int64) (u *usage.Snapshot, ok bool) {
	sheet, ok, _ := s.usage(context.Background(), poolID, clock)
	if !ok {
		return nil, false
	}
	return sheet.snapshot, true
}

// usage is Usage that ends with the context, whose error it returns then.
func (s *State) usage(ctx context.Context, poolID string, clock int64) (*usageSheet, bool, error) {
	unlisted, ok, err := s.unlistedKeysOf(ctx, poolID, clock)
	if !ok || err != nil {
		return nil, false, err
	}
	sheet := s.usageSheetOf(poolID, clock, unlisted.first)
	if sheet == nil {
		return nil, false, nil
	}
	return sheet, true, sheet.fill(ctx, clock, unlisted.total)
}

// usageSheet is a snapshot in the making.
type usageSheet struct {
	*excerpt
	shown    []keyUse // of the unlisted keys
	now      int64
	facts    fairshare.Facts // of one row after the other
	crowd    fairshare.Crowd // of all rows
	rest     unlisted
	backlog  usage.Backlog
	snapshot *usage.Snapshot
	rows     map[ref]int // by key, the places in snapshot.Keys
}

// usageSheetOf takes what the snapshot is made of out of the state; nil when
// there is no such pool any more.
func (s *State) usageSheetOf(poolID string, clock int64, unlisted []keyUse) *usageSheet {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.pools[poolID]
	if p == nil {
		return nil
	}
	x := &usageSheet{shown: slices.DeleteFunc(unlisted, func(k keyUse) bool {
		_, own := p.alloc[k.key] // since it was chosen
		return own || p.isOthers(k.id)
	})}
	others := make([]ref, len(x.shown))
	for i, k := range x.shown {
		others[i] = k.key
	}
	x.excerpt, x.backlog = s.excerptOf(p, others), s.backlogOf(p, max(clock, s.logTime))
	return x
}

// fill makes the snapshot.
func (x *usageSheet) fill(ctx context.Context, clock int64, unlisted int) error {
	doc := x.pool.doc
	x.openHolds()
	x.now = max(clock, x.logTime)
	x.snapshot = &usage.Snapshot{
		PoolID: doc.ID, GeneratedAt: clock, AsOf: questions.AsOf{Seq: x.pos.Seq, Time: x.now},
		Mode: doc.Mode, Rule: doc.Rule, Enforcing: x.enforces(x.pool, x.now), Threshold: x.settings.doc.SaturationThreshold(),
		Unlisted: unlisted, Backlog: x.backlog,
	}
	x.addFlights()
	x.rows = make(map[ref]int, len(x.keys))
	x.addSignals()
	all := x.addPool()
	if err := x.addAllocations(ctx); err != nil {
		return err
	}
	x.addUnlisted(all)
	return nil
}

// addSignals adds what the provider says about each connection.
func (x *usageSheet) addSignals() {
	for i, conn := range x.pool.conns {
		d := x.dialOf(conn, x.pool.doc.Connections[i].ConnectionID, x.pool.doc.Provider, x.now)
		for _, m := range x.metersOf(conn) {
			x.snapshot.Signals = append(x.snapshot.Signals, d.signal(m))
		}
	}
}

// ask gathers the facts of a row: of one key, or of all unlisted ones together.
// Asked is for any connection, without a model and an estimate.
func (x *usageSheet) ask(allocation int, key ref, together bool) {
	r := reader{s: &x.State, p: x.pool, key: key, ttl: x.settings.doc.SignalTTLMs()}
	if together {
		r.others = &x.rest
	}
	x.facts.Gather(&fairshare.Question{
		Pool: x.pool.resolved, Allocation: allocation, Connection: fairshare.AnyConnection,
		Threshold: x.snapshot.Threshold, SoftFactor: x.settings.doc.SoftDeprioritizeFactor(),
		Crowd: &x.crowd,
	}, &r, x.now)
}

// unlistedRow is what all unlisted keys have in common.
type unlistedRow struct {
	key        usage.Key
	dimensions []questions.Dimension
}

// addPool adds the dimensions. They are asked for as one asks for all unlisted
// keys, which every pool has, allocated or not.
func (x *usageSheet) addPool() unlistedRow {
	x.ask(x.pool.others, 0, true)
	row := unlistedRow{key: x.decide(), dimensions: x.facts.Explain(0, x.now, nil)}
	if x.pool.others >= 0 {
		row.key.Allocation = quota.AllOthers
	}
	rows := len(x.keys) + 1 // and that of all others
	var uses []fairshare.ConnectionUse
	for i, d := range row.dimensions {
		uses = x.facts.Connections(i, x.now, uses[:0])
		dimension := usage.Dimension{
			Unit: d.Unit, Window: d.Window, Limit: d.Limit, ConsumedTotal: d.ConsumedTotal, HeldTotal: d.HeldTotal,
			Mode: d.Mode, Unlisted: d.Consumed, Connections: x.connections(d.Window, uses), Uses: make([]usage.Use, 0, rows),
		}
		if p, ok := x.facts.Promises(i, x.now, nil); ok {
			dimension.Kept, dimension.KeptUntil, dimension.HasPromise = p.All, p.Until, true
		}
		x.snapshot.Dimensions = append(x.snapshot.Dimensions, dimension)
	}
	return row
}

func (x *usageSheet) connections(w quota.Window, uses []fairshare.ConnectionUse) []usage.Connection {
	list := make([]usage.Connection, len(uses))
	for i, u := range uses {
		list[i] = usage.Connection{
			ID: x.pool.doc.Connections[i].ConnectionID, Limit: u.Limit, ConsumedTotal: u.Consumed,
			ProviderUsed: u.ProviderUsed, HasProvider: u.HasProvider, ResetAt: u.ResetAt, Observed: u.Observed,
		}
		if m := x.meterOf(x.pool.conns[i], w); m != nil {
			list[i].Split = m.split(x.now, x.settings.doc.SignalTTLMs())
		}
	}
	return list
}

// decide returns what the decision on the row asked for last would be.
func (x *usageSheet) decide() usage.Key {
	a := x.facts.Decide(x.now)
	k := usage.Key{
		Allow: a.Allowed(), Reason: a.Reason.String(), Deprioritize: a.Deprioritize, WouldBlock: a.WouldBlock(),
	}
	if a.Reason.Blocks() {
		k.Detail = a.Detail
	}
	if a.RetryMs > 0 {
		k.RetryAt = x.now + a.RetryMs
	}
	return k
}

// addAllocations adds a row for each allocation, in pool order.
func (x *usageSheet) addAllocations(ctx context.Context) error {
	listed := x.pool.listed
	var dimensions []questions.Dimension
	for i, a := range x.pool.doc.Allocations {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i == x.pool.others {
			x.ask(i, 0, true)
		} else {
			x.rows[listed[0]] = i
			x.ask(i, listed[0], false)
			listed = listed[1:]
		}
		k := x.decide()
		k.ID, k.Allocation, k.Own = a.APIKeyID, a.APIKeyID, true
		dimensions = x.facts.Explain(0, x.now, dimensions[:0])
		x.add(k, dimensions)
	}
	return nil
}

// addUnlisted adds the unlisted keys that were chosen. What each consumed is its
// own. What remains, and what is decided, is that of all of them, who share one
// share or have none.
func (x *usageSheet) addUnlisted(all unlistedRow) {
	type row struct {
		keyUse
		dimensions []questions.Dimension
	}
	var rows []row
	for _, k := range x.shown {
		x.ask(-1, k.key, false)
		rows = append(rows, row{k, x.facts.Explain(0, x.now, nil)})
	}
	// More may have been used since they were chosen.
	slices.SortStableFunc(rows, func(a, b row) int {
		if len(a.dimensions) == 0 {
			return 0
		}
		return cmp.Or(cmp.Compare(b.dimensions[0].Consumed, a.dimensions[0].Consumed), cmp.Compare(a.id, b.id))
	})
	for _, r := range rows {
		k := all.key
		k.ID = r.id
		for i := range r.dimensions {
			r.dimensions[i].Remaining = all.dimensions[i].Remaining
		}
		x.rows[r.key] = len(x.snapshot.Keys)
		x.add(k, r.dimensions)
	}
}

func (x *usageSheet) add(k usage.Key, dimensions []questions.Dimension) {
	x.snapshot.Keys = append(x.snapshot.Keys, k)
	for i := range dimensions {
		d := &x.snapshot.Dimensions[i]
		d.Uses = append(d.Uses, usage.UseOf(&dimensions[i]))
	}
}
