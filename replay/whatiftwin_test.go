package replay

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
)

// hourMs is the only window of these histories.
const hourMs = 3_600_000

// twinRules are the rules of one side: three keys in one pool of one connection.
type twinRules struct {
	limit   int64 // tokens an hour
	weights [3]int64
	soft    [3]bool
	observe bool
	// reserve is that of the rule guarantee; below 0 the rule is threshold.
	reserve int64
}

func drawRules(t *rapid.T, name string) (r twinRules) {
	r.limit = rapid.Int64Range(300, 2000).Draw(t, name+" limit")
	for i := range r.weights {
		r.weights[i] = rapid.Int64Range(0, 60).Draw(t, name+" weight")
		r.soft[i] = rapid.IntRange(0, 3).Draw(t, name+" policy") == 0
	}
	r.observe = rapid.IntRange(0, 4).Draw(t, name+" mode") == 0
	r.reserve = drawReserve(t, name)
	return r
}

func drawReserve(t *rapid.T, name string) int64 {
	return rapid.SampledFrom([]int64{-1, 100, 0, 50, 400}).Draw(t, name+" reserve")
}

// sharing are the fields that say how the pool shares.
func (r *twinRules) sharing() string {
	if r.reserve < 0 {
		return `"rule":"threshold"`
	}
	return fmt.Sprintf(`"rule":"guarantee","reserve":%d`, r.reserve)
}

func (r *twinRules) pool() string {
	doc := `{"id":"p","name":"P","provider":"kimi","connections":[{"connectionId":"c"}],"allocations":[`
	for i, w := range r.weights {
		policy := "hard"
		if r.soft[i] {
			policy = "soft"
		}
		if i > 0 {
			doc += ","
		}
		doc += fmt.Sprintf(`{"apiKeyId":"k%d","weight":%d,"policy":%q}`, i, w, policy)
	}
	mode := "enforce"
	if r.observe {
		mode = "observe"
	}
	return doc + fmt.Sprintf(`],"mode":%q,%s}`, mode, r.sharing())
}

func (r *twinRules) plan() string {
	return fmt.Sprintf(`{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":%d}]}`, r.limit)
}

// share is that of a key, in thousandths of a token.
func (r *twinRules) share(key int) int64 {
	sum := r.weights[0] + r.weights[1] + r.weights[2]
	if sum == 0 {
		return r.limit * 1000 / 3
	}
	return r.limit * 1000 * r.weights[key] / max(100, sum)
}

// twinUse is something that was consumed.
type twinUse struct {
	at     int64
	key    int
	tokens int64 // thousandths
}

// twinHold is a request in flight.
type twinHold struct {
	key    int
	tokens int64
	end    int64
}

// twinSide is a history as a list.
type twinSide struct {
	rules   twinRules
	uses    []twinUse
	holds   map[string]twinHold
	settled map[string]int64 // when
	made    map[int]*whatif.Side
	counts  bool // we are in the range
	// By bucket, what nobody had room for; and which of that is of which request.
	stopped map[int64]int64
	refused map[string]twinUse
}

func newTwinSide(r twinRules) *twinSide {
	return &twinSide{rules: r, holds: map[string]twinHold{}, settled: map[string]int64{}, made: map[int]*whatif.Side{}, stopped: map[int64]int64{}, refused: map[string]twinUse{}}
}

func (s *twinSide) key(k int) *whatif.Side {
	if s.made[k] == nil {
		s.made[k] = &whatif.Side{}
	}
	return s.made[k]
}

// used is what a key (-1 = all) consumed of the window at now.
func (s *twinSide) used(key int, now int64) int64 {
	var curr, prev int64
	for _, u := range s.uses {
		if key >= 0 && u.key != key {
			continue
		}
		switch now/hourMs - u.at/hourMs {
		case 0:
			curr += u.tokens
		case 1:
			prev += u.tokens
		}
	}
	return curr + prev*(hourMs-now%hourMs)/hourMs
}

// held is what a key (-1 = all) has in flight, without one request.
func (s *twinSide) held(key int, without string, now int64) (sum int64) {
	for id, h := range s.holds {
		if id != without && h.end > now && (key < 0 || h.key == key) {
			sum += min(h.tokens, s.rules.limit*1000)
		}
	}
	return sum
}

// judge applies the rule of the pool.
func (s *twinSide) judge(key int, tokens, now int64, without string) (d whatif.Decision) {
	if s.rules.reserve >= 0 {
		return s.promised(key, tokens, now, without)
	}
	return s.strict(key, tokens, now, without)
}

// strict applies the rules of the threshold, one after the other.
func (s *twinSide) strict(key int, tokens, now int64, without string) (d whatif.Decision) {
	limit := s.rules.limit * 1000
	total, own := s.used(-1, now)+s.held(-1, without, now), s.used(key, now)+s.held(key, without, now)
	above := 2*total >= limit && own > s.rules.share(key)
	d.Passes = true
	switch {
	case total >= limit || total+min(tokens, limit) > limit:
		d.Block, d.Reason = true, "global-saturated"
	case above && !s.rules.soft[key]:
		d.Block, d.Reason = true, "fair-share"
	case above && !s.rules.observe:
		d.Deprioritize = true
	}
	if d.Block {
		d.Passes = s.rules.observe
	}
	return d
}

func (s *twinSide) count(key int, d *whatif.Decision, n int64) {
	if s.counts {
		s.key(key).Count(d, n)
	}
}

// stop takes note of what was blocked. A request with an id is one.
func (s *twinSide) stop(d *whatif.Decision, id string, key int, tokens, now int64) {
	if _, again := s.refused[id]; !s.counts || !d.Block || d.Passes || again && s.refused[id].at/hourMs == now/hourMs {
		return
	}
	s.stopped[now/hourMs] += tokens
	if id != "" {
		s.refused[id] = twinUse{now, key, tokens}
	}
}

func (s *twinSide) consume(id string, key int, tokens, requests, at int64) {
	if r, again := s.refused[id]; again {
		delete(s.refused, id)
		if r.at/hourMs == at/hourMs {
			s.stopped[at/hourMs] -= r.tokens // so its bucket stays one in which somebody was stopped
		}
	}
	s.uses = append(s.uses, twinUse{at, key, tokens})
	if s.counts {
		s.key(key).Serve(&quota.Amounts{quota.Requests: quota.Amount(requests), quota.Tokens: quota.Amount(tokens)})
	}
}

// expire ends the leases that are over.
func (s *twinSide) expire(now int64) {
	for id, h := range s.holds {
		if h.end <= now {
			delete(s.holds, id)
		}
	}
}

// hold judges a hold, and opens it.
func (s *twinSide) hold(id string, key int, tokens, now int64) (d whatif.Decision) {
	d = s.judge(key, tokens, now, id)
	s.count(key, &d, 1)
	s.stop(&d, id, key, tokens, now)
	delete(s.holds, id)
	if d.Passes && !s.isSettled(id, now) {
		s.holds[id] = twinHold{key, tokens, now + 300_000}
	}
	return d
}

func (s *twinSide) isSettled(id string, now int64) bool {
	at, known := s.settled[id]
	return known && now-at < hourMs
}

func (s *twinSide) settle(id string, now int64) {
	delete(s.holds, id)
	if !s.isSettled(id, now) {
		s.settled[id] = now
	}
}

// twins are both sides, and the log that tells the same.
type twins struct {
	*memory
	sides   [2]*twinSide
	now     int64
	owners  map[string]int // of requests
	buckets map[int64]bool
	newly   map[int]*whatif.Row
}

func (w *twins) differ(key int, before, after *whatif.Decision, n int64) {
	if w.newly[key] == nil {
		w.newly[key] = &whatif.Row{}
	}
	w.newly[key].Differ(before, after, n)
}

func (w *twins) inRange() bool { return w.sides[0].counts }

// use is a consumption of which nobody knew before.
func (w *twins) use(key int, tokens int64) {
	w.memory.use(w.now-began, fmt.Sprintf("k%d", key), int(tokens))
	for _, s := range w.sides {
		s.expire(w.now)
	}
	w.arrive("", key, tokens*1000)
}

// arrive asks about a consumption on both sides.
func (w *twins) arrive(id string, key int, tokens int64) {
	before, after := w.sides[0], w.sides[1]
	if !w.inRange() {
		before.consume(id, key, tokens, 1000, w.now)
		after.consume(id, key, tokens, 1000, w.now)
		return
	}
	w.buckets[w.now/hourMs] = true
	b, a := before.judge(key, tokens, w.now, ""), after.judge(key, tokens, w.now, "")
	before.count(key, &b, 1)
	after.count(key, &a, 1)
	w.differ(key, &b, &a, 1)
	before.consume(id, key, tokens, 1000, w.now)
	if a.Passes || !b.Passes {
		after.consume(id, key, tokens, 1000, w.now)
	} else {
		after.stop(&a, id, key, tokens, w.now)
	}
}

// take is a hold.
func (w *twins) take(id string, key int, tokens int64) {
	w.memory.hold(w.now-began, id, fmt.Sprintf("k%d", key), int(tokens))
	before, after := w.sides[0], w.sides[1]
	before.expire(w.now)
	after.expire(w.now)
	b, a := before.hold(id, key, tokens*1000, w.now), after.hold(id, key, tokens*1000, w.now)
	if !w.inRange() {
		return
	}
	w.buckets[w.now/hourMs] = true
	w.differ(key, &b, &a, 1)
	if _, open := after.holds[id]; open && !b.Passes {
		after.consume(id, key, tokens*1000, 1000, w.now)
		after.settle(id, w.now)
	}
}

// end is the consumption of a request that held, or should have.
func (w *twins) end(id string, key int, tokens int64) {
	w.memory.settle(w.now-began, id, fmt.Sprintf("k%d", key), int(tokens))
	before, after := w.sides[0], w.sides[1]
	before.expire(w.now)
	after.expire(w.now)
	_, heldBefore := before.holds[id]
	_, heldAfter := after.holds[id]
	if w.inRange() {
		w.buckets[w.now/hourMs] = true
	}
	switch {
	case heldBefore:
		before.consume(id, key, tokens*1000, 1000, w.now)
		if heldAfter {
			after.consume(id, key, tokens*1000, 1000, w.now)
		}
	case after.isSettled(id, w.now) && !before.isSettled(id, w.now):
		d := before.judge(key, tokens*1000, w.now, "")
		before.count(key, &d, 1)
		before.consume(id, key, tokens*1000, 1000, w.now)
	default:
		w.arrive(id, key, tokens*1000)
	}
	before.settle(id, w.now)
	after.settle(id, w.now)
}

// blocked is a recorded block, so many times.
func (w *twins) blocked(key int, tokens, n int64) {
	var r questions.Record
	r.Question = questions.Question{APIKeyID: fmt.Sprintf("k%d", key), ConnectionID: "c", MaxWaitMs: -1}
	r.Question.Estimate[quota.Tokens] = quota.Amount(tokens * 1000)
	r.Reply = questions.Reply{DecisionID: fmt.Sprintf("d%d", len(w.rows)), Reason: "fair-share", ScoreFactor: quota.RatioOne, HTTPStatus: 429}
	r.Reply.AsOf = questions.AsOf{Seq: uint64(len(w.list)), Time: w.now}
	r.Time, r.Index, r.Count, r.ConnectionID, r.PoolID, r.Process = w.now, questions.FromView, int(n), "c", "p", "p"
	w.rows = append(w.rows, r)
	if !w.inRange() {
		return
	}
	w.buckets[w.now/hourMs] = true
	before, after := w.sides[0], w.sides[1]
	b := before.judge(key, tokens*1000, w.now, "")
	before.count(key, &b, n)
	before.stop(&b, "", key, n*tokens*1000, w.now)
	for range n {
		a := after.judge(key, tokens*1000, w.now, "")
		after.count(key, &a, 1)
		after.stop(&a, "", key, tokens*1000, w.now)
		w.differ(key, &b, &a, 1)
		if a.Passes && !b.Passes {
			after.consume("", key, tokens*1000, 1000, w.now) // it did not say of how many requests it is
		}
	}
}

// capacity adds up the buckets in which somebody asked.
func (w *twins) capacity() (p whatif.Pool) {
	p = whatif.Pool{PoolID: "p", Unit: quota.Tokens, Window: quota.Hourly}
	for i, s := range w.sides {
		for b := range w.buckets {
			var used int64
			for _, u := range s.uses {
				if u.at/hourMs == b {
					used += u.tokens
				}
			}
			c := &p.Sides[i]
			c.Buckets++
			c.Limit += quota.Amount(s.rules.limit * 1000)
			unused := max(0, s.rules.limit*1000-used)
			c.Used += quota.Amount(used)
			c.Unused += quota.Amount(unused)
			if stopped, some := s.stopped[b]; some {
				c.Withheld += quota.Amount(unused)
				c.Wanted += quota.Amount(min(unused, stopped))
			}
		}
	}
	return p
}

// step is something that happens.
func (w *twins) step(t *rapid.T, i int) {
	w.now += rapid.SampledFrom([]int64{0, 1, 900, 40_000, 290_000, 700_000, hourMs, 2*hourMs + 11}).Draw(t, "later")
	key := rapid.IntRange(0, 2).Draw(t, "key")
	tokens := rapid.Int64Range(1, 400).Draw(t, "tokens")
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0:
		id := fmt.Sprintf("h%d", i)
		if _, known := w.owners[id]; !known { // its consumption may have come before
			w.owners[id] = key
		}
		w.take(id, w.owners[id], tokens)
	case 1:
		w.blocked(key, tokens, rapid.Int64Range(1, 3).Draw(t, "times"))
	case 2:
		id := fmt.Sprintf("h%d", rapid.IntRange(0, i).Draw(t, "which"))
		if owner, known := w.owners[id]; known {
			key = owner
		}
		w.owners[id] = key
		w.end(id, key, tokens)
	default:
		w.use(key, tokens)
	}
}

// drawTrial is what is tried: all is another, or the way of sharing alone.
func drawTrial(t *rapid.T, live twinRules) (tried twinRules, doc string) {
	if rapid.IntRange(0, 2).Draw(t, "sharing alone") == 0 {
		tried = live
		tried.reserve = drawReserve(t, "tried")
		return tried, fmt.Sprintf(`"rules":[{"poolId":"p",%s}]`, tried.sharing())
	}
	tried = drawRules(t, "tried")
	return tried, fmt.Sprintf(`"pools":[%s],"plans":[%s]`, tried.pool(), tried.plan())
}

// TestTheDumbRunSaysTheSame about random histories under random rules.
func TestTheDumbRunSaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live := drawRules(t, "live")
		tried, doc := drawTrial(t, live)
		w := &twins{memory: &memory{}, now: began, owners: map[string]int{}, buckets: map[int64]bool{}, newly: map[int]*whatif.Row{}}
		w.sides = [2]*twinSide{newTwinSide(live), newTwinSide(live)}
		w.add(0, "quota.config.plan.c", live.plan())
		w.add(0, "quota.config.pool.p", live.pool())
		early, late := rapid.IntRange(0, 15).Draw(t, "before the range"), rapid.IntRange(1, 60).Draw(t, "in the range")
		for i := range early {
			w.step(t, i)
		}
		from := uint64(len(w.list)) + 1
		w.rows = nil // they are asked about after a message of the range
		w.sides[1].rules = tried
		for _, s := range w.sides {
			s.counts = true
		}
		w.use(0, 1) // so that the range has a message
		for i := range late {
			w.step(t, early+i)
		}
		got := whatIfOf(t, w.memory, fmt.Sprintf(`{%s,"from":{"seq":%d}}`, doc, from))
		w.compare(t, got)
	})
}

func (w *twins) compare(t *rapid.T, got *whatif.Report) {
	var want []whatif.Row
	for key := range 3 {
		row := whatif.Row{APIKeyID: fmt.Sprintf("k%d", key)}
		if n := w.newly[key]; n != nil {
			row.NewlyBlocked, row.NewlyAllowed = n.NewlyBlocked, n.NewlyAllowed
		}
		for i, s := range w.sides {
			row.Sides[i] = *s.key(key)
		}
		want = append(want, row)
	}
	asked := func(r whatif.Row) bool {
		return r.Differs() || r.Sides[0].Allowed+r.Sides[0].Blocked > 0 || r.Sides[0].Served != quota.Amounts{}
	}
	want = slices.DeleteFunc(want, func(r whatif.Row) bool { return !asked(r) })
	if diff := cmp.Diff(want, slices.DeleteFunc(got.Rows, func(r whatif.Row) bool { return !asked(r) })); diff != "" {
		t.Fatalf("twin (-) and what-if (+)\n%s", diff)
	}
	if diff := cmp.Diff([]whatif.Pool{w.capacity()}, got.Pools); diff != "" {
		t.Fatalf("capacity of the twin (-) and of what-if (+)\n%s", diff)
	}
}
