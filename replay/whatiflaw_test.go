package replay

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/whatif"
)

// anything is a log in which everything may stand.
type anything struct {
	*memory
	now  int64
	n    int
	mode string // of pool p
	// sharing is how pool p shares when its document is written anew; nil = it is not.
	sharing func(t *rapid.T) string
}

// mixed is a pool of two connections with few places, in that mode, that shares like that.
func mixed(mode, sharing string, a, b int) string {
	return fmt.Sprintf(`{"id":"p","name":"P","provider":"kimi","mode":%q,%s,"connections":[{"connectionId":"c","maxConcurrent":2},{"connectionId":"d","weight":50,"maxConcurrent":1}],
		"allocations":[{"apiKeyId":"a","weight":%d},{"apiKeyId":"b","weight":%d,"policy":"soft"},{"apiKeyId":"*","weight":10}],"modelCaps":[{"apiKeyId":"a","model":"m","capValue":500,"capUnit":"tokens"}]}`, mode, sharing, a, b)
}

// drawSharing is a way of sharing, as fields of a pool.
func drawSharing(t *rapid.T) string {
	r := twinRules{reserve: drawReserve(t, "pool's")}
	return r.sharing()
}

func (l *anything) publish(subject, body string, args ...any) {
	l.add(l.now, subject, fmt.Sprintf(body, args...))
}

func (l *anything) step(t *rapid.T) {
	l.n++
	l.now += rapid.SampledFrom([]int64{0, 1, 700, 20_000, 200_000, hourMs}).Draw(t, "later")
	key := rapid.SampledFrom([]string{"a", "b", "x", "y"}).Draw(t, "key")
	conn := rapid.SampledFrom([]string{"c", "c", "d", "e"}).Draw(t, "connection")
	request := fmt.Sprintf("r%d", rapid.IntRange(max(0, l.n-8), l.n).Draw(t, "request"))
	tokens := rapid.IntRange(1, 400).Draw(t, "tokens")
	switch rapid.IntRange(0, 11).Draw(t, "what") {
	case 11:
		if l.sharing != nil {
			l.publish("quota.config.pool.p", "%s", mixed(l.mode, l.sharing(t), 40, rapid.SampledFrom([]int{30, 5}).Draw(t, "weight")))
		}
	case 0:
		l.publish("quota.hold", `{"id":"h%d","apiKeyId":%q,"requestId":%q,"pool":"p","maxWaitMs":%d,"estimate":{"tokens":%d,"requests":1},"leaseMs":60000,"decisionId":"h%d"}`,
			l.n, key, request, rapid.SampledFrom([]int{0, 1000, 300_000}).Draw(t, "wait"), tokens, l.n)
	case 1:
		id := rapid.IntRange(max(0, l.n-2), l.n).Draw(t, "hold") // now and then a copy, or a conflict
		l.publish("quota.hold", `{"id":"h%d","apiKeyId":%q,"requestId":%q,"connectionId":%q,"estimate":{"tokens":%d,"requests":1},"leaseMs":60000,"decisionId":"h%d"}`, id, key, request, conn, tokens, id)
	case 2:
		l.publish("quota.consumption", `{"apiKeyId":%q,"connectionId":%q,"requestId":%q,"partial":true,"cost":{"tokens":%d}}`, key, conn, request, tokens)
	case 3:
		l.publish("quota.adjustment", `{"apiKeyId":%q,"connectionId":%q,"reason":"r","cost":{"tokens":-%d}}`, key, conn, tokens)
	case 4:
		l.publish("quota.saturation", `{"connectionId":%q,"provider":"kimi","readings":[{"window":"hourly","usedPercent":%d,"resetAt":%d}]}`, conn, tokens/4, began+l.now+hourMs)
	case 5:
		l.publish("quota.release", `{"apiKeyId":%q,"requestId":%q}`, key, request)
	case 6:
		l.publish("quota.config.pool.q", `{"id":"q","name":"Q","provider":"kimi","connections":[{"connectionId":%q}]}`, conn)
	case 7:
		l.block(key, conn, tokens)
	case 8:
		l.publish("quota.consumption", `[{"id":"u%d","apiKeyId":%q,"connectionId":%q,"requestId":%q,"model":"m","cost":{"tokens":%d}},{"id":"u%d","apiKeyId":%q,"connectionId":"c"},{"apiKeyId":3}]`,
			l.n, key, conn, request, tokens, l.n/2, key)
	default:
		l.publish("quota.consumption", `{"apiKeyId":%q,"connectionId":%q,"requestId":%q,"time":%d,"cost":{"tokens":%d}}`,
			key, conn, request, began+l.now-rapid.SampledFrom([]int64{0, 5000, hourMs}).Draw(t, "ago"), tokens)
	}
}

// block is a recorded block of a pool, or of one of its connections.
func (l *anything) block(key, conn string, tokens int) {
	q := questions.Question{APIKeyID: key, ConnectionID: conn, MaxWaitMs: -1}
	if tokens%3 == 0 {
		q.ConnectionID, q.Pool = "", "p"
	}
	q.Estimate[1] = 1000
	r := questions.Reply{DecisionID: fmt.Sprintf("d%d", l.n), Reason: "fair-share", ScoreFactor: 1_000_000, HTTPStatus: 429}
	r.AsOf = questions.AsOf{Seq: uint64(len(l.list)), Time: began + l.now}
	l.rows = append(l.rows, questions.Record{Time: began + l.now, Index: questions.FromView, Count: 2, ConnectionID: conn, PoolID: "p", Process: "p", Question: q, Reply: r})
}

// TestUnderTheSameRulesNothingChanges, whatever the history is like: who disobeys, what
// waits, what comes twice, in parts, late or out of order. And the side before is the
// log as every fold has it, however closely it is looked at.
func TestUnderTheSameRulesNothingChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &anything{memory: &memory{}, mode: rapid.SampledFrom([]string{"enforce", "observe", "off"}).Draw(t, "mode")}
		sharing := drawSharing(t)
		doc := `"pools":[` + mixed(l.mode, sharing, 40, 30) + `]`
		if rapid.Bool().Draw(t, "sharing alone") { // then its other documents of the range stay
			l.sharing = func(*rapid.T) string { return sharing }
			doc = `"rules":[{"poolId":"p",` + sharing + `}]`
		}
		for _, c := range []string{"c", "d"} {
			l.publish("quota.config.plan."+c, `{"connectionId":%q,"dimensions":[{"unit":"tokens","window":"hourly","limit":900},{"unit":"percent","window":"hourly","limit":90}]}`, c)
		}
		l.publish("quota.config.pool.p", "%s", mixed(l.mode, sharing, 40, 30))
		l.publish("quota.consumption", `{"apiKeyId":"a","connectionId":"c"}`)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			l.step(t)
		}
		from := rapid.IntRange(4, len(l.list)).Draw(t, "from")
		w := newWhatIf(WhatIfOptions{Options: Options{Log: l, Store: inMemory}, Rows: l}, trial(t, fmt.Sprintf(`{%s,"from":{"seq":%d}}`, doc, from)))
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := w.report()
		if digest, err := w.sides[whatif.Before].p.Digest(); err != nil || digest != folded(t, l.list) {
			t.Fatalf("the side before is another state than the log's, %v", err)
		}
		for _, r := range got.Rows {
			if diff := cmp.Diff(r.Sides[whatif.Before], r.Sides[whatif.After]); diff != "" || r.NewlyBlocked+r.NewlyAllowed > 0 {
				t.Fatalf("%s before (-) and after (+), newly %d and %d:\n%s", r.APIKeyID, r.NewlyBlocked, r.NewlyAllowed, diff)
			}
		}
		for _, p := range got.Pools {
			if p.Sides[whatif.Before] != p.Sides[whatif.After] {
				t.Fatalf("capacity %+v", p)
			}
		}
		if got.Asked.Waiting[0] != got.Asked.Waiting[1] {
			t.Fatalf("waiting %v", got.Asked.Waiting)
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
	})
}

// folded is the digest of a log folded by itself.
func folded(t interface{ Fatal(...any) }, list []events.Message) projector.Digest {
	store := memstore.New()
	s := projector.NewState(store)
	for _, m := range list {
		var run projector.Run
		run.Add(m)
		if err := s.Apply(&run); err != nil {
			t.Fatal(err)
		}
	}
	b := store.NewBatch()
	if err := s.Cut(b); err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(b); err != nil {
		t.Fatal(err)
	}
	s.Committed()
	d, err := s.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}
