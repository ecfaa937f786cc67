package projector_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/quota"
	view "github.com/quotashare/quotashare/usage"
)

// chart is a pool p of c1 and c2 with what was used on it and beside it.
type chart struct {
	loop      *projector.Loop
	now       int64
	used      []chartUse
	allocated []string
}

type chartUse struct {
	key, conn string
	minute    int64 // its first instant
	cost      quota.Amounts
	adjusted  bool
}

func drawChart(t *rapid.T) *chart {
	c := &chart{now: start}
	store := memstore.New()
	s := projector.NewState(store)
	c.allocated = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"bob", "alice", "a:b", "*"}), 0, 4, rapid.ID).Draw(t, "allocated")
	var list []string
	for _, key := range c.allocated {
		list = append(list, fmt.Sprintf(`{"apiKeyId":%q,"weight":10}`, key))
	}
	log := []events.Message{
		configMessage("quota.config.plan.c2", `{"connectionId":"c2","dimensions":[]}`), // seen before c1
		configMessage("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connectionIds":["c1","c2"],"allocations":[`+strings.Join(list, ",")+`]}`),
		configMessage("quota.config.plan.c1", `{"connectionId":"c1","dimensions":[{"unit":"tokens","window":"5h","limit":0},{"unit":"requests","window":"hourly","limit":1000000}]}`),
	}
	span := rapid.SampledFrom([]int64{240_000, 5_400_000, 2 * 86_400_000}).Draw(t, "span") // the longest is of three days
	for range rapid.IntRange(0, 25).Draw(t, "events") {
		log = append(log, c.drawUse(t, span))
	}
	for i := range log {
		log[i].Seq = uint64(i + 1)
	}
	fresh := rapid.IntRange(0, len(log)).Draw(t, "fresh") // not in the store yet
	fold(t, s, log[:len(log)-fresh], 4)
	cut(t, s, store)
	fold(t, s, log[len(log)-fresh:], 4)
	c.loop = projector.NewLoop(s, store, nil)
	return c
}

func configMessage(subject, body string) events.Message {
	return events.Message{Subject: subject, Time: start, Header: map[string][]string{"Quota-Config": {"put"}}, Data: []byte(body)}
}

// drawUse draws an event that is folded in time or late.
func (c *chart) drawUse(t *rapid.T, span int64) events.Message {
	e := usage(t, events.Consumption, c.now)
	e.ID, e.Time = "", c.now-rapid.Int64Range(0, span).Draw(t, "ago")
	e.Cost[quota.Percent] = 0
	if rapid.IntRange(0, 4).Draw(t, "adjusted") == 0 {
		e.Kind, e.Reason = events.Adjustment, "refund"
		e.Cost[quota.Tokens] = -e.Cost[quota.Tokens]
	}
	c.used = append(c.used, chartUse{e.APIKeyID, e.ConnectionID, e.Time / 60_000 * 60_000, e.Cost, e.Kind == events.Adjustment})
	m := events.Message{Subject: "quota.consumption", Time: c.now, Data: events.AppendJSON(nil, &e)}
	if e.Kind == events.Adjustment {
		m.Subject = "quota.adjustment"
	}
	return m
}

func (c *chart) listed(key string) bool {
	return key != quota.AllOthers && slices.Contains(c.allocated, key)
}

// sum adds up the pool's events of a time, that were adjusted or not and whose
// key is wanted.
func (c *chart) sum(from, to int64, adjusted bool, wanted func(key string) bool) (sum quota.Amounts) {
	for _, u := range c.used {
		if u.conn != "c3" && u.minute >= from && u.minute < to && u.adjusted == adjusted && wanted(u.key) {
			for i := range sum {
				sum[i] += u.cost[i]
			}
		}
	}
	return sum
}

// TestUsageHistoryAgainstEvents compares every row with the events of its time.
func TestUsageHistoryAgainstEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawChart(t)
		q := view.Query{
			PoolID: "p", From: c.now - rapid.Int64Range(1, 3*86_400_000).Draw(t, "ago"), To: c.now - rapid.Int64Range(-100_000, 0).Draw(t, "to"),
			StepMs: rapid.SampledFrom([]int64{0, 240_000, 1_080_000, 86_400_000}).Draw(t, "step"),
			Key:    rapid.SampledFrom([]string{"", "", "*", "alice", "bob", "nobody"}).Draw(t, "key"),
		}
		if q.Normalize(c.now) != nil {
			return
		}
		got, ok, err := c.loop.UsageHistory(context.Background(), q)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		want := view.NewHistory(&q)
		for i := range want.Rows {
			c.fill(&want.Rows[i], q.StepMs, q.Key)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
	})
}

func (c *chart) fill(r *view.Row, step int64, key string) {
	wanted := func(k string) bool { return key == "" || k == key }
	if key == quota.AllOthers {
		wanted = func(k string) bool { return !c.listed(k) }
	}
	r.Total = c.sum(r.Time, r.Time+step, false, wanted)
	r.Adjusted = c.sum(r.Time, r.Time+step, true, wanted)
	r.Unlisted = c.sum(r.Time, r.Time+step, false, func(k string) bool { return wanted(k) && !c.listed(k) })
	for _, own := range c.allocated {
		a := c.sum(r.Time, r.Time+step, false, func(k string) bool { return wanted(k) && k == own && c.listed(k) })
		if a != (quota.Amounts{}) {
			r.PerKey = append(r.PerKey, view.KeyAmounts{APIKeyID: own, Amounts: a})
		}
	}
}

// TestBurnRatesAgainstEvents compares every rate with the events of its minutes.
func TestBurnRatesAgainstEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawChart(t)
		clock := c.now + rapid.Int64Range(0, 4_000_000).Draw(t, "later")
		u, ok, err := c.loop.Usage(context.Background(), "p", clock)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		rate := func(unit quota.Unit, wanted func(string) bool) view.Rate {
			var minutes []quota.Amount
			for at := clock/60_000*60_000 - 60*60_000; at < clock/60_000*60_000; at += 60_000 {
				minutes = append(minutes, c.sum(at, at+60_000, false, wanted)[unit])
			}
			r, _ := view.EMA(minutes)
			return r
		}
		all := func(string) bool { return true }
		for _, d := range u.Dimensions {
			if want := rate(d.Unit, all); d.Burn.Rate != want {
				t.Fatalf("%s: %d, want %d", d.Unit, d.Burn.Rate, want)
			}
			for i, k := range u.Keys {
				want := rate(d.Unit, func(key string) bool { return key == k.ID })
				if k.Own && k.ID == quota.AllOthers {
					want = rate(d.Unit, func(key string) bool { return !c.listed(key) })
				}
				if got := d.Uses[i].Rate; got != want {
					t.Fatalf("%s of %s: %d, want %d", d.Unit, k.ID, got, want)
				}
			}
		}
		if want := rate(quota.Tokens, all); u.TokensPerSecond != want {
			t.Fatalf("tokens: %d, want %d", u.TokensPerSecond, want)
		}
	})
}

func TestUsageHistoryOfNoPool(t *testing.T) {
	store := memstore.New()
	l := projector.NewLoop(projector.NewState(store), store, nil)
	if h, ok, err := l.UsageHistory(context.Background(), view.Query{PoolID: "p", From: start - 90_000, To: start + 30_000, StepMs: 60_000}); h != nil || ok || err != nil {
		t.Errorf("history: %v %v %v", h, ok, err)
	}
	if u, ok, err := l.Usage(context.Background(), "p", start); u != nil || ok || err != nil {
		t.Errorf("usage: %v %v %v", u, ok, err)
	}
}

// A key that sends from the future has rows later than the log.
func TestBurnRateOfAFastClock(t *testing.T) {
	s := newScene(t)
	s.now = start / 60_000 * 60_000
	s.pool(`"c1"`, `,"allocations":[{"apiKeyId":"a","weight":10}]`)
	s.plan("c1", "tokens", "hourly", "0")
	s.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":"a","connectionId":"c1","time":%d,"cost":{"tokens":1e12}}`, s.now+120_000))
	for clock, want := range map[int64]bool{
		s.now + 180_000:                 false, // one sample
		s.now + 240_000:                 true,
		s.now + 120_000 + 61*60_000 - 1: true,
		s.now + 120_000 + 61*60_000:     false, // too long ago
	} {
		u, _, err := projector.NewLoop(s.State, s.store, nil).Usage(context.Background(), "p", clock)
		must(t, err)
		if d := u.Dimensions[0]; d.Burn.Rate > 0 != want || d.Uses[0].Rate > 0 != want {
			t.Errorf("after %d s: %d and %d", (clock-s.now)/1000, d.Burn.Rate, d.Uses[0].Rate)
		}
	}
}

// A history that nobody could look at is refused, in part it is not.
func TestUsageHistoryOfTooMuch(t *testing.T) {
	const keys, minutes = 200, 501
	s := newScene(t)
	s.now = start / 60_000 * 60_000
	var allocations, events []byte
	for k := range keys {
		allocations = fmt.Appendf(allocations, `,{"apiKeyId":"k%d","weight":0}`, k)
	}
	s.pool(`"c1"`, `,"allocations":[`+string(allocations[1:])+"]")
	for m := range minutes {
		events = events[:0]
		used := keys
		if m == minutes-1 {
			used = 1 // one too many
		}
		for k := range used {
			events = fmt.Appendf(events, `,{"apiKeyId":"k%d","connectionId":"c1","time":%d}`, k, s.now-int64(m)*60_000)
		}
		s.publish("quota.consumption", "["+string(events[1:])+"]")
	}
	l := projector.NewLoop(s.State, s.store, nil)
	q := view.Query{PoolID: "p", From: s.now - (minutes-1)*60_000, To: s.now + 60_000, StepMs: 60_000}
	_, _, err := l.UsageHistory(context.Background(), q)
	const want = "step gives more than 100000 amounts of keys: use a larger step, a shorter time, or key for one of them"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	q.From += 60_000
	h, _, err := l.UsageHistory(context.Background(), q)
	must(t, err)
	if n := len(h.Rows[0].PerKey); n != keys {
		t.Errorf("%d keys, want %d", n, keys)
	}
}

// A store that cannot be read is not a pool that was not used, whichever read it
// is that fails.
func TestUsageOfABrokenStore(t *testing.T) {
	s := newScene(t)
	s.pool(`"c1"`, `,"allocations":[{"apiKeyId":"a","weight":10},{"apiKeyId":"b","weight":10}]`)
	s.use("a", "c1", `"requests":1`)
	s.use("b", "c1", `"requests":1`)
	calls := map[string]func(l *projector.Loop) error{"usage": func(l *projector.Loop) error {
		_, _, err := l.Usage(context.Background(), "p", start)
		return err
	}}
	for _, key := range []string{"", "*", "a", "c"} {
		calls[fmt.Sprintf("history of %q", key)] = func(l *projector.Loop) error {
			_, _, err := l.UsageHistory(context.Background(), view.Query{PoolID: "p", Key: key, From: start - 90_000, To: start + 30_000, StepMs: 60_000})
			return err
		}
	}
	s.use("c", "c1", `"requests":1`)
	for name, call := range calls {
		reads := 0
		for ; ; reads++ {
			left := reads
			err := call(projector.NewLoop(s.State, brokenStore{s.store, &left}, nil))
			if left >= 0 {
				must(t, err)
				break
			}
			if !errors.Is(err, errBroken) {
				t.Errorf("%s, read %d fails: %v", name, reads, err)
			}
		}
		if reads < 3 {
			t.Errorf("%s reads the store %d times only", name, reads)
		}
	}
}

var errBroken = errors.New("broken")

// brokenStore is one whose read after so many others fails.
type brokenStore struct {
	projector.Store
	left *int
}

func (s brokenStore) read() error {
	if *s.left--; *s.left == -1 {
		return errBroken
	}
	return nil
}

func (s brokenStore) Snapshot() (projector.Snapshot, error) {
	if err := s.read(); err != nil {
		return nil, err
	}
	snap, err := s.Store.Snapshot()
	return brokenSnapshot{snap, s}, err
}

type brokenSnapshot struct {
	projector.Snapshot
	store brokenStore
}

func (s brokenSnapshot) Get(key, dst []byte) ([]byte, bool, error) {
	value, ok, err := s.Snapshot.Get(key, dst)
	return value, ok, errors.Join(s.store.read(), err)
}

func (s brokenSnapshot) Scan(from, to []byte, fn func(key, value []byte) error) error {
	return errors.Join(s.store.read(), s.Snapshot.Scan(from, to, fn))
}
