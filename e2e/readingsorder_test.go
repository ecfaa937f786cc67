package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// dispatch is an event and the subject that it is for.
type dispatch struct {
	subject string
	event   object
}

func (s dispatch) send(t *testing.T, nc *nats.Conn) uint64 {
	t.Helper()
	return sequence(t, string(request(t, nc, s.subject, text(t, s.event))))
}

// course is what one account goes through: a level, then a request and a higher
// level each, whose reset jitters.
type course struct {
	levels   []dispatch
	requests []dispatch // requests[i] is between levels[i] and levels[i+1]
}

func newCourse(connection string, n int) course {
	d := rand.New(rand.NewPCG(1, 2)) // that of every account is the same
	began := ago(hours)
	var c course
	for i := range n {
		at := began + int64(i)*10_000
		e := reading(connection, "5h", fmt.Sprint(i+d.IntN(2)), began+3*hours+d.Int64N(3800)-1900, at)
		e["id"] = fmt.Sprint(connection, " level ", i)
		c.levels = append(c.levels, dispatch{"quota.saturation", e})
		e = used([]string{"alice", "bob"}[d.IntN(2)], connection, "tokens", fmt.Sprint(d.IntN(1000)+1), at+1)
		c.requests = append(c.requests, dispatch{"quota.consumption", e})
	}
	return c
}

// again is the same reading as another gateway has it: without the id.
func (s dispatch) again() dispatch {
	e := object{}
	for name, field := range s.event {
		if name != "id" {
			e[name] = field
		}
	}
	return dispatch{s.subject, e}
}

// overtaken is the course as two gateways report it, taking turns: each second
// level comes before the one it follows, and what was said is said again at any
// time after, under its id and without.
func (c *course) overtaken(d *rand.Rand) []dispatch {
	list := []dispatch{c.levels[0]}
	for i := 1; i+1 < len(c.levels); i += 2 {
		list = append(list, c.requests[i-1], c.requests[i], c.levels[i+1], c.levels[i])
		for range d.IntN(3) {
			old := c.levels[d.IntN(i+2)]
			list = append(list, old, old.again())
		}
	}
	return list
}

// accountOf is what the engine makes of an account, to be compared.
func (e *engine) accountOf(connection string) string {
	e.t.Helper()
	u, err := e.Usage(deadline(e.t), "team")
	if err != nil {
		e.t.Fatal(err)
	}
	for _, s := range u.Signals {
		if s.ConnectionID == connection {
			if !s.Known || s.Attributed+s.Unattributed != s.Used {
				e.t.Errorf("%s: %d + %d of %d points, known %v", connection, s.Attributed, s.Unattributed, s.Used, s.Known)
			}
			return fmt.Sprintf("%d until %s, said at %s; %d of keys, drift %d", s.Used, rfc(s.ResetAt), rfc(s.Observed), s.Attributed, s.Drift)
		}
	}
	e.t.Fatalf("nothing is said of %s", connection)
	return ""
}

// Two gateways report one account: everything twice, late, and in the wrong order.
// Its meter is that of an account which one gateway reported in order. And when
// they really race, the level is the same, no point is lost, and what was made of
// it in one go is made of it after a restart and from scratch.
func TestTwoGatewaysReportOneAccount(t *testing.T) {
	b := brokertest.StartAgain(t)
	left, right := b.Connect(), b.Connect()
	js := brokertest.Streams(t, left)
	put(t, js, "quota.config.pool.team", `{"id":"team","name":"Team","provider":"codex","connectionIds":["clean","turns","race"],
		"allocations":[{"apiKeyId":"alice","weight":50},{"apiKeyId":"bob","weight":50}]}`)
	dir := filepath.Join(t.TempDir(), "store")
	e := startEngine(t, left, dir)
	e.awaitReady()
	d := dice(t)

	clean, turns, race := newCourse("clean", 41), newCourse("turns", 41), newCourse("race", 41)
	for i, level := range clean.levels {
		level.send(t, left)
		clean.requests[i].send(t, left)
	}
	for i, one := range turns.overtaken(d) {
		one.send(t, []*nats.Conn{left, right}[i%2])
		if i == 40 {
			e.Stop() // and goes on from its store
			e = startEngine(t, left, dir)
			e.awaitReady()
		}
	}
	turns.requests[40].send(t, right) // waits for the next rise

	race.levels[0].send(t, left)
	both := slices.Concat(race.levels, race.requests)
	last := make([]uint64, 2)
	var done sync.WaitGroup
	for i, nc := range []*nats.Conn{left, right} {
		own := rand.New(rand.NewPCG(d.Uint64(), 0))
		done.Go(func() { last[i] = report(t, nc, own, both) })
	}
	done.Wait()

	before := e.at(slices.Max(last))
	if want := e.accountOf("clean"); e.accountOf("turns") != want {
		t.Errorf("taking turns\n  %s, want\n  %s", e.accountOf("turns"), want)
	}
	level := func(account string) (words string) {
		words, _, _ = strings.Cut(e.accountOf(account), ";")
		return words
	}
	if level("race") != level("clean") {
		t.Errorf("racing\n  %s, want\n  %s", level("race"), level("clean"))
	}
	e.Stop()
	e = startEngine(t, left, dir)
	e.awaitReady()
	if after := e.at(before.AppliedSeq); after.Digest != before.Digest || after.Counts != before.Counts {
		t.Errorf("after a restart\n  %+v, before\n  %+v", after, before)
	}
	mustEqualFreshFold(t, left, before)
}

// report sends everything in an order of its own, and returns the last sequence.
func report(t *testing.T, nc *nats.Conn, d *rand.Rand, all []dispatch) (last uint64) {
	for _, i := range d.Perm(len(all)) {
		m, err := nc.RequestWithContext(deadline(t), all[i].subject, []byte(text(t, all[i].event)))
		if err != nil {
			t.Error(err)
			return last
		}
		last = max(last, sequence(t, string(m.Data)))
	}
	return last
}
