package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// spread puts the events anywhere in the two months before now, most of them
// lately, so that every window has something in its current and its previous
// bucket and refuses some.
func spread(d *rand.Rand, list []usage, now int64) {
	for i := range list {
		back := d.Int64N([]int64{3_600_000, 10 * 3_600_000, 10 * 86_400_000, 2 * monthMillis}[i%4])
		list[i].Time = now - back
	}
}

// shuffled is the list in any other order, with one event of five twice.
func shuffled(d *rand.Rand, list []usage) []usage {
	var again []usage
	for i, u := range list {
		again = append(again, u)
		if i%5 == 0 {
			again = append(again, u)
		}
	}
	d.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
	return again
}

// The same events, delivered in another order and some of them twice, give the
// same windows: the same answers at any time.
func TestOrderAndDuplicatesDoNotMatter(t *testing.T) {
	d := dice(t)
	now := time.Now().UnixMilli()
	list := traffic(d, "event-", 800)
	spread(d, list, now)
	once, other := newLog(t), newLog(t)
	first := once.fold(list)
	again := shuffled(d, list)
	second := other.fold(again)
	if got, want := second.Duplicates, uint64(len(again)-len(list)); got != want || first.Duplicates != 0 {
		t.Errorf("%d and %d duplicates, want 0 and %d", first.Duplicates, got, want)
	}
	blocks := 0
	for range 60 {
		at := now + d.Int64N([]int64{10_000, 3_600_000, 86_400_000, 3 * monthMillis}[d.IntN(4)])
		a, b := once.answers(at), other.answers(at)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("at %d, %d ms from now (- in order, + shuffled):\n%s", at, at-now, diff)
		}
		blocks += strings.Count(fmt.Sprint(a), "block")
	}
	if blocks == 0 {
		t.Error("no question was ever blocked: the limits show nothing")
	}
}

// oneLog is a broker with an engine over it.
type oneLog struct {
	t  *testing.T
	nc *nats.Conn
	e  *engine
}

func newLog(t *testing.T) *oneLog {
	t.Helper()
	b := brokertest.StartAgain(t)
	nc := b.Connect()
	js := brokertest.Streams(t, nc)
	var dimensions []string
	limits := map[string]int{"requests": 120, "tokens": 300_000, "usd": 1}
	for _, unit := range slices.Sorted(maps.Keys(limits)) {
		for _, window := range []string{"hourly", "5h", "daily", "weekly", "monthly"} {
			dimensions = append(dimensions, fmt.Sprintf(`{"unit":%q,"window":%q,"limit":%d}`, unit, window, limits[unit]))
		}
	}
	put(t, js, "quota.config.plan.conn%3A0", fmt.Sprintf(`{"connectionId":"conn:0","dimensions":[%s]}`, strings.Join(dimensions, ",")))
	put(t, js, "quota.config.pool.team", `{"id":"team","name":"Team","provider":"custom","connectionIds":["conn:0","conn:1","conn:2"],
		"allocations":[{"apiKeyId":"key 0","weight":50},{"apiKeyId":"key 1","weight":20,"policy":"soft"},{"apiKeyId":"*","weight":30}],
		"modelCaps":[{"apiKeyId":"key 0","model":"large","capUnit":"requests","capValue":5}]}`)
	l := &oneLog{t: t, nc: nc, e: startEngine(t, nc, filepath.Join(t.TempDir(), "state"))}
	l.e.awaitReady()
	return l
}

// counts of a log that was folded.
type counts struct{ Folded, Duplicates uint64 }

func (l *oneLog) fold(list []usage) counts {
	l.t.Helper()
	s := l.e.at(publish(l.t, jetStream(l.t, l.nc), list))
	return counts{s.Counts.Folded, s.Counts.Duplicates}
}

// answers asks about every key, with a model and without.
func (l *oneLog) answers(at int64) []answer {
	l.t.Helper()
	var questions []string
	for i := range numKeys {
		for _, model := range []string{"", `"model":"large",`} {
			questions = append(questions, fmt.Sprintf(`{"apiKeyId":%q,"connectionId":"conn:1",%s"at":%d,"explain":true}`, keyName(i), model, at))
		}
	}
	data := request(l.t, l.nc, "quota.decide", "["+strings.Join(questions, ",")+"]")
	var list []answer
	decode(l.t, string(data), &list)
	for i := range list {
		if list[i].Error != nil || len(list[i].Dimensions) != 15 {
			l.t.Fatalf("at %d: %s", at, data)
		}
	}
	return list
}
