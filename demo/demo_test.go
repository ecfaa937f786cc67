package demo

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// midday is when demos of tests begin, as far as their connections are concerned.
var midday = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// standing is how the engine says that everything stands.
func (e *engine) standing(d *demo) *board {
	e.t.Helper()
	b, err := d.API.board(within(e.t), d.id)
	must(e.t, err)
	return b
}

func (d *demo) habit(key string) *habit {
	return &cast[slices.IndexFunc(cast, func(h habit) bool { return h.key == key })]
}

// check holds a demo that is over against what it is to show.
func (e *engine) check(d *demo, out string) {
	e.t.Helper()
	b := e.standing(d)
	if b.held != "0" {
		e.t.Errorf("%s tokens are held when it is over", b.held)
	}
	for _, r := range b.rows {
		if all := strconv.Itoa(len(d.habit(r.key).schedule(d.For, d.Seed))); r.key != "bob" && r.served.String() != all {
			e.t.Errorf("%s was served %s times, and asked %s times", r.key, r.served, all)
		}
		if wrong := r.key == "bob" != (r.block == "fair-share"); wrong || r.key == "bob" != r.free.After(time.Now()) {
			e.t.Errorf("%s: blocked %q until %s", r.key, r.block, r.free)
		}
		if r.key == "bob" != (r.blocked > 0) {
			e.t.Errorf("%s was blocked %d times", r.key, r.blocked)
		}
		if r.behind != (r.key == "cleo") {
			e.t.Errorf("%s is deprioritized: %t", r.key, r.behind)
		}
	}
	last := out[strings.LastIndex(out, "KEY "):]
	for _, want := range append(d.screen.lines(b, 0)[:5], "\nseen:    "+b.seen(time.UTC)+"\n", "\nnext:    curl -s http://engine/api/quota/pools/demo/usage; ",
		"\nremove:  bin/quotashare pools delete demo; bin/quotashare plans delete "+d.id+"\n") {
		if !strings.Contains(last, want) {
			e.t.Errorf("the end does not have %q:\n%s", want, last)
		}
	}
}

func TestSharingIsSeen(t *testing.T) {
	e := startEngine(t)
	d, out := e.demo(midday)
	var asked paths
	d.API = asked.of(d.API)
	last, pacer := time.Duration(0), d.pace
	d.pace = func(start time.Time) pace {
		until := pacer(start)
		return func(ctx context.Context, at time.Duration) error {
			if at == d.For {
				last = at // when all have asked
			}
			return until(ctx, at)
		}
	}
	must(t, d.run(within(t)))
	if last != d.For {
		t.Errorf("it does not wait for its end")
	}
	asked.check(t) // before anybody else asks
	e.check(d, out.String())

	// Another one begins as if nothing had been.
	again, out := e.demo(midday.Add(time.Second))
	must(t, again.run(within(t)))
	e.check(again, out.String())
	var plans struct{ Plans []connection }
	e.get("/api/quota/plans?limit=1000", &plans)
	for _, p := range plans.Plans {
		var doc struct{ Plan struct{ Source string } }
		e.get(plansPath+p.ConnectionID, &doc)
		if manual := doc.Plan.Source == "manual"; manual != (p.ConnectionID == again.id) {
			t.Errorf("the plan of %s is there: %t", p.ConnectionID, manual)
		}
	}
}

// paths are what an engine was asked for.
type paths struct {
	mu  sync.Mutex
	all []string
}

func (p *paths) of(api API) API {
	return func(ctx context.Context, method, path string, header http.Header, body []byte) ([]byte, error) {
		p.mu.Lock()
		p.all = append(p.all, method+" "+path)
		p.mu.Unlock()
		return api(ctx, method, path, header, body)
	}
}

// check that the last board is of a state that includes everything.
func (p *paths) check(t *testing.T) {
	t.Helper()
	for i, want := range []string{"GET /api/quota/state", "GET /api/quota/state?minSeq=", "GET /api/quota/pools/demo/usage", "GET /api/quota/decisions?"} {
		if got := p.all[len(p.all)-4+i]; !strings.HasPrefix(got, want) {
			t.Errorf("%s is asked for in the end, want %s", got, want)
		}
	}
}

// What the provider charged is what the engine counted.
func TestEverythingIsCharged(t *testing.T) {
	e := startEngine(t)
	d, _ := e.demo(midday)
	must(t, d.run(within(t)))
	charged := map[string]int64{}
	for _, c := range d.stage.provider.Charges() {
		charged["all"] += c.Total
	}
	used, err := e.standing(d).used.Int64()
	must(t, err)
	if used != charged["all"] || used == 0 {
		t.Errorf("%d tokens are counted, and %d charged", used, charged["all"])
	}
}

const owned = `{"id": "demo", "name": "Our demo", "provider": "kimi", "connections": [{"connectionId": "demo-1"}]}`

func TestAPoolOfSomebodysOwnIsLeftAlone(t *testing.T) {
	e := startEngine(t)
	e.send(http.MethodPost, "/api/quota/pools", owned)
	d, out := e.demo(midday)
	if err := d.run(within(t)); err == nil || !strings.Contains(err.Error(), `named "Our demo", is none of a demo`) {
		t.Errorf("the error is %v", err)
	}
	var doc struct{ Pool pool }
	e.get(poolPath, &doc)
	if doc.Pool.Name != "Our demo" || doc.Pool.Revision != 1 || out.Len() > 0 {
		t.Errorf("the pool is %+v, and it was said: %s", doc.Pool, out)
	}
}

// midway makes something happen once, when the provider has had ten requests, and lets
// nobody ask any more from then on.
func (d *demo) midway(what func()) {
	once := sync.OnceFunc(what)
	d.pace = func(time.Time) pace {
		return func(ctx context.Context, _ time.Duration) error {
			if len(d.stage.provider.Charges()) >= 10 {
				once()
				<-ctx.Done()
			}
			return ctx.Err()
		}
	}
}

// Somebody who deletes the pool, or starts another demo, ends this one.
func TestAPoolThatIsTaken(t *testing.T) {
	e := startEngine(t)
	d, _ := e.demo(midday)
	d.midway(func() { e.send(http.MethodDelete, poolPath, "") })
	if err := d.run(within(t)); !errors.Is(err, errTaken) {
		t.Errorf("the error is %v, want %v", err, errTaken)
	}
}

// Who stops it is told how everything stands, and how to remove it; what was in flight
// comes to its end.
func TestStopped(t *testing.T) {
	e := startEngine(t)
	d, out := e.demo(midday)
	ctx, stop := context.WithCancel(within(t))
	d.midway(stop)
	must(t, d.run(ctx))
	if b := e.standing(d); b.held != "0" || b.used == "0" {
		t.Errorf("%s tokens are held and %s used", b.held, b.used)
	}
	for _, c := range d.stage.provider.Charges() {
		if !c.Whole {
			t.Errorf("an answer to %s was cut", c.API)
		}
	}
	if !strings.Contains(out.String(), "\nremove:  bin/quotashare pools delete demo; ") {
		t.Errorf("it does not say how to remove it:\n%s", out)
	}
}

// The two addresses may be of two engines.
func TestTwoEngines(t *testing.T) {
	e, other := startEngine(t), startEngine(t)
	d, out := e.demo(midday)
	d.NATS = other.nc
	if err := d.run(within(t)); err == nil || !strings.Contains(err.Error(), "both addresses must be those of one engine") {
		t.Errorf("the error is %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("it began: %s", out)
	}
}

func TestRunRefusesLengths(t *testing.T) {
	for _, length := range []time.Duration{0, Shortest - 1, Longest + 1} {
		if err := Run(within(t), Options{For: length}, midday); err == nil || !strings.HasPrefix(err.Error(), "--for is ") {
			t.Errorf("%s: the error is %v", length, err)
		}
	}
}
