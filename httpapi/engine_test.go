package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
)

// double is an Engine in memory: it remembers what it was told and answers what
// the test wants. How the real one behaves is tested where it lives.
type double struct {
	watchedDouble
	snapshotsDouble
	explainDouble
	whatIfDouble
	mu       sync.Mutex
	seq      uint64
	pools    map[string]Pool
	plans    map[string]plans.PlanView
	settings Settings
	metas    []Meta
	messages []message
	room     int  // of a message; 0 = a mebibyte
	spools   bool // the log is away, and this is a front that keeps
	discard  bool // messages are counted, not kept
	notReady bool
	fail     error // of every write
	rejects  []events.Rejected
	decide   func(q questions.Question, r *questions.Reply)
	used     *usage.Snapshot // of every pool; nil = nothing was used
}

type message struct {
	seq     uint64
	subject string
	events  int
	data    string
}

func newDouble() *double {
	return &double{pools: map[string]Pool{}, plans: map[string]plans.PlanView{}, settings: Settings{Values: plans.DefaultSettings()}}
}

func (d *double) Decide(_ context.Context, qs []questions.Question, rs []questions.Reply) {
	for i := range qs {
		if d.decide != nil {
			d.decide(qs[i], &rs[i])
			continue
		}
		rs[i] = questions.Reply{
			DecisionID: "d1", Allow: true, Reason: "no-pool", HTTPStatus: 200, ScoreFactor: quota.RatioOne,
			RetryAfterMs: -1, RequestID: qs[i].RequestID, AsOf: questions.AsOf{Seq: 7, Time: 1_700_000_000_000},
		}
	}
}

func (d *double) Preview(ctx context.Context, qs []questions.Question, rs []questions.Reply) {
	d.Decide(ctx, qs, rs)
	for i := range rs {
		rs[i].DecisionID = "preview"
	}
}

func (d *double) State(ctx context.Context, minSeq uint64, digest bool) (State, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if minSeq > d.seq {
		d.mu.Unlock()
		<-ctx.Done()
		d.mu.Lock()
		return State{}, ctx.Err()
	}
	s := State{AppliedSeq: d.seq, LastSeq: d.seq + 1, LagMs: 3, Counts: Counts{Folded: 5, Duplicates: 4, Rejected: 3, Late: 2, Clamped: 1}}
	if digest {
		s.Digest, s.ReplayFrom = "abc123", 1_690_000_000_002
		s.Retention = &Retention{
			PlannedAt: 1_700_000_000_000, Finished: false, Problem: "purge-log: the log does not answer",
			Kept: []KeptSnapshot{{Seq: 4711, LogTime: 1_700_000_000_001, Why: "it is one of the 2 newest"}},
			Steps: []RetentionStep{
				{Action: "purge-log", Seq: 4711, Why: "snapshot 4711, the oldest, has them"},
				{Action: "drop-history", Before: 1_690_000_000_000, Why: "history is kept for 14 days"},
			},
		}
	}
	return s, nil
}

func (d *double) Ready() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.notReady
}

func (d *double) Pools() []Pool {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []Pool
	for _, p := range d.pools {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Pool) int { return strings.Compare(a.Doc.ID, b.Doc.ID) })
	return list
}

func (d *double) Pool(id string) (Pool, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, ok := d.pools[id]
	return p, ok
}

func (d *double) Plans(offset, limit int) (list []plans.PlanView, total int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(d.plans)) {
		list = append(list, d.plans[id])
	}
	return page(list, offset, limit), len(list)
}

func (d *double) Plan(connectionID string) plans.PlanView {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p, ok := d.plans[connectionID]; ok {
		return p
	}
	return plans.PlanView{ConnectionID: connectionID}
}

// write is what every configuration write has in common.
func (d *double) write(m Meta, have uint64) error {
	if d.fail != nil {
		return d.fail
	}
	if m.IfMatch && m.ExpectedRevision != have {
		return ErrLostRace
	}
	if m.Trial != nil {
		*m.Trial = aTrial()
		return nil
	}
	d.metas = append(d.metas, m)
	d.seq++
	return nil
}

func (d *double) ChangePool(_ context.Context, id string, change PoolChange, m Meta) (Pool, error) {
	now, _ := d.Pool(id)
	next, err := change(now.Doc)
	if err != nil {
		return Pool{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Doc != nil && now.Doc.Equal(next) && (!m.IfMatch || m.ExpectedRevision == now.Revision) {
		return now, nil
	}
	if err := d.write(m, now.Revision); err != nil {
		return Pool{}, err
	}
	if m.Trial != nil {
		return Pool{Doc: next, Stamp: now.Stamp}, nil
	}
	d.pools[id] = Pool{Doc: next, Stamp: d.stamp(m)}
	return d.pools[id], nil
}

func (d *double) stamp(m Meta) plans.Stamp {
	return plans.Stamp{Revision: d.seq, UpdatedAt: 1_700_000_000_000 + int64(d.seq), Actor: m.Actor, Reason: m.Reason}
}

func (d *double) CreatePools(ctx context.Context, docs []*plans.Pool, m Meta) (made []Pool, err error) {
	if len(d.Pools()) > 0 {
		return nil, Refuse(ErrConflict, "there are pools already")
	}
	for _, doc := range docs {
		p, err := d.ChangePool(ctx, doc.ID, func(*plans.Pool) (*plans.Pool, error) { return doc, nil }, m)
		if err != nil {
			return nil, err
		}
		made = append(made, p)
	}
	return made, nil
}

// aTrial is what every trial of the double finds.
func aTrial() Trial {
	return Trial{
		Blocked: []Effect{
			{PoolID: "team", APIKeyID: "alice", Reason: "model-cap", Binding: questions.Binding{Unit: quota.Tokens, Window: quota.Hourly, Model: "k2"}, HasBinding: true, RetryAfterMs: 1500},
			{PoolID: "team", APIKeyID: "bob", Reason: "suspended", RetryAfterMs: -1},
		},
		Freed: []Effect{{PoolID: "rest", APIKeyID: "*", Reason: "global-saturated", RetryAfterMs: 7}},
	}
}

func (d *double) Usage(_ context.Context, id string) (*usage.Snapshot, error) {
	if _, ok := d.Pool(id); !ok {
		return nil, ErrNotFound
	}
	if d.used != nil {
		return d.used, nil
	}
	return &usage.Snapshot{PoolID: id, GeneratedAt: 1_700_000_000_000, AsOf: questions.AsOf{Seq: 7, Time: 1_700_000_000_000}}, nil
}

// Reach is that of a pool of one dimension of 1,000 requests, of which all keys have the
// same.
func (d *double) Reach(_ context.Context, doc *plans.Pool, offset, limit int) (*usage.Reach, error) {
	r := &usage.Reach{Total: len(doc.Allocations), Dimensions: []usage.ReachDimension{
		{Unit: quota.Requests, Window: quota.Hourly, Limit: 1_000_000}, {Unit: quota.Tokens, Window: quota.Daily},
	}}
	for _, a := range page(doc.Allocations, offset, limit) {
		r.Dimensions[0].Keys = append(r.Dimensions[0].Keys, usage.KeyReach{
			ID: a.APIKeyID, Share: 250_000, Threshold: usage.Reached{AtOnce: 500_000, ByEnd: 500_000}, Guarantee: usage.Reached{AtOnce: 444_001, ByEnd: 1_000_000},
		})
	}
	return r, nil
}

func (d *double) History(_ context.Context, q usage.Query) (*usage.History, error) {
	if _, ok := d.Pool(q.PoolID); !ok {
		return nil, ErrNotFound
	}
	h := usage.NewHistory(&q)
	h.Rows[0].Total[quota.Requests] = 1500
	h.Rows[0].PerKey = []usage.KeyAmounts{{APIKeyID: "alice", Amounts: quota.Amounts{quota.Requests: 1000, quota.Tokens: 7000}}}
	h.Rows[0].Unlisted[quota.Requests] = 500
	h.Rows[0].Adjusted = quota.Amounts{-1000, 1000, -1_000_000_000, 1_000_000}
	return h, nil
}

func (d *double) Connections() []Connection {
	return []Connection{
		{ConnectionID: "k-1", Provider: "kimi", PoolID: "team", Source: plans.Catalogue, Keys: 2, LastEventAt: 1_700_000_000_000},
		{ConnectionID: "k-2", Provider: "kimi", PoolID: "team", Source: plans.Catalogue},
		{ConnectionID: "kimi-1", Keys: 1, LastEventAt: 1_700_000_000_001},
	}
}

func (d *double) Keys() []Key {
	return []Key{
		{APIKeyID: "alice", Connections: 1, Pools: []KeyPool{{PoolID: "team", Allocation: "alice"}}, LastEventAt: 1_700_000_000_000},
		{APIKeyID: "alize", Connections: 1, Outside: true, LastEventAt: 1_700_000_000_001},
		{APIKeyID: "bob", Pools: []KeyPool{{PoolID: "team", Allocation: "bob"}}},
		{APIKeyID: "carol", Connections: 2, Outside: true, Pools: []KeyPool{{PoolID: "rest", Allocation: "*"}, {PoolID: "team"}}, LastEventAt: 1_700_000_000_002},
	}
}

func (d *double) Settings() Settings {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.settings
}

func (d *double) ChangeSettings(_ context.Context, change func(plans.Settings) (plans.Settings, error), m Meta) (Settings, error) {
	now := d.Settings()
	next, err := change(now.Values)
	if err != nil {
		return Settings{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.write(m, now.Revision); err != nil {
		return Settings{}, err
	}
	if m.Trial != nil {
		return Settings{Values: next, Stamp: now.Stamp}, nil
	}
	d.settings = Settings{Values: next, Stamp: d.stamp(m)}
	return d.settings, nil
}

func (d *double) DeletePool(_ context.Context, id string, m Meta) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.pools[id]; !ok {
		return ErrNotFound
	}
	err := d.write(m, d.pools[id].Revision)
	if err == nil && m.Trial == nil {
		delete(d.pools, id)
	}
	return err
}

func (d *double) DeletePlan(_ context.Context, id string, m Meta) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.write(m, d.plans[id].Revision)
	if err == nil && m.Trial == nil {
		delete(d.plans, id)
	}
	return err
}

func (d *double) PutPlan(_ context.Context, id string, dims []plans.Dimension, m Meta) (plans.PlanView, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.write(m, d.plans[id].Revision); err != nil {
		return plans.PlanView{}, err
	}
	made := plans.PlanView{
		ConnectionID: id, Provider: "codex", Stamp: d.stamp(m),
		Plan: plans.Plan{Dimensions: dims, Source: plans.Manual},
	}
	if m.Trial != nil {
		made.Stamp = d.plans[id].Stamp
		return made, nil
	}
	d.plans[id] = made
	return made, nil
}

// Room implements Publisher.
func (d *double) Room() int { return cmp.Or(d.room, 1<<20) }

func (d *double) Publish(_ context.Context, subject string, data []byte, n int) (Receipt, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return Receipt{}, d.fail
	}
	if len(data) > d.Room() {
		return Receipt{}, Refuse(ErrTooLarge, "%d bytes are too many", len(data))
	}
	if d.spools {
		return Receipt{Spooled: true}, nil
	}
	d.seq++
	if !d.discard {
		d.messages = append(d.messages, message{d.seq, subject, n, string(data)})
	}
	return Receipt{Seq: d.seq}, nil
}

func (d *double) Rejected(_ context.Context, q *RejectedQuery) (p RejectedPage, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p.Total = len(d.rejects)
	if !q.Newest {
		p.List = d.rejects[min(q.Offset, p.Total):min(q.Offset+q.Limit, p.Total)]
		return p, nil
	}
	for i := p.Total; i > 0 && len(p.List) < q.Limit; i-- {
		if seq := uint64(i); (q.Before == 0 || seq < q.Before) && q.Wants(&d.rejects[i-1]) {
			p.List, p.Next = append(p.List, d.rejects[i-1]), seq
		}
	}
	if len(p.List) < q.Limit {
		p.Next = 0
	}
	return p, nil
}

// published describes the messages since the last call.
func (d *double) published() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b strings.Builder
	for _, m := range d.messages {
		fmt.Fprintf(&b, "%d %s %s\n", m.seq, m.subject, m.data)
	}
	d.messages = nil
	return b.String()
}
