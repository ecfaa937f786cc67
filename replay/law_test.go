package replay

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// lawChecks is how many histories the law is held to, unless more are asked for.
const lawChecks = "1000"

// TestTheLaw: whoever folds a history has the same state. An engine folds it in batches,
// is killed and reads again what its store has not, collects what is idle and takes
// snapshots, all at random moments; another begins with any of its snapshots and lives
// like that; a player begins with the first message or with a snapshot, and is moved
// by runs and by steps. The twin folds message by message, and is done.
func TestTheLaw(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	if given := checks.Value.String(); given == checks.DefValue {
		must(t, checks.Value.Set(lawChecks))
		t.Cleanup(func() { must(t, checks.Value.Set(given)) })
	}
	parent, n := t.TempDir(), 0
	done := make(map[string]int) // so that none of it is left out unseen
	rapid.Check(t, func(t *rapid.T) {
		n++
		l := longHistory(t)
		want := folded(t, l.list)
		dir := snapdir.New(snapdir.Options{Dir: filepath.Join(parent, fmt.Sprint(n))})
		first := newLife(t, l, dir, done)
		first.live()
		first.ends(want, "an engine")
		for _, start := range []Start{nil, starts.Local{Dir: dir}} {
			p := open(t, l, start)
			moved(t, l, p)
			if p.Began().Seq > 0 {
				done["players from a snapshot"]++
			}
			if got, err := p.Digest(); err != nil || got != want || p.Missing() != (Missing{}) {
				t.Fatalf("a player that began at %d has %x, %v, want %x; missing %+v", p.Began().Seq, got[:4], err, want[:4], p.Missing())
			}
			must(t, p.Close())
		}
		if second := newLife(t, l, nil, done); second.begin(dir) {
			second.live()
			second.ends(want, "an engine that began with a snapshot")
		}
	})
	for _, what := range []string{
		"counters collected", "commits", "restarts", "messages read again", "snapshots", "restored", "players from a snapshot",
	} {
		if done[what] == 0 {
			t.Errorf("%s: none in all histories", what)
		}
	}
	t.Logf("%d histories: %v", n, done)
}

func must(t interface {
	Helper()
	Fatal(...any)
}, err error,
) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// longHistory is one with breaks after which counters are idle and ids forgotten.
func longHistory(t *rapid.T) *memory {
	l := &anything{memory: &memory{}, mode: "enforce", sharing: drawSharing}
	for _, c := range []string{"c", "d"} {
		l.publish("quota.config.plan."+c, `{"connectionId":%q,"dimensions":[{"unit":"tokens","window":"5h","limit":900},{"unit":"percent","window":"hourly","limit":90}]}`, c)
	}
	l.publish("quota.config.pool.p", "%s", mixed("enforce", drawSharing(t), 40, 30))
	for range rapid.IntRange(1, 50).Draw(t, "steps") {
		if rapid.IntRange(0, 9).Draw(t, "break") == 0 {
			l.now += rapid.SampledFrom([]int64{24 * hourMs, 8 * 24 * hourMs, 70 * 24 * hourMs}).Draw(t, "long")
		}
		l.step(t)
	}
	return l.memory
}

// life is an engine that folds a log.
type life struct {
	*rapid.T
	log   *memory
	dir   *snapdir.Dir // of its snapshots, nil = it takes none
	done  map[string]int
	store projector.Store
	state *projector.State
}

func newLife(t *rapid.T, l *memory, dir *snapdir.Dir, done map[string]int) *life {
	x := &life{T: t, log: l, dir: dir, done: done, store: memstore.New()}
	x.load()
	return x
}

func (x *life) load() {
	var err error
	x.state, err = projector.Load(x.store)
	must(x, err)
}

// begin fills the store from any snapshot there is.
func (x *life) begin(dir *snapdir.Dir) bool {
	s, err := starts.Local{Dir: dir}.Newest(context.Background(), x.any("snapshot not after"))
	if errors.Is(err, snapdir.ErrNone) {
		return false
	}
	must(x, err)
	must(x, projected.Restore(context.Background(), x.store, s))
	must(x, s.Close())
	x.load()
	x.done["restored"]++
	return true
}

// any is a sequence of the log.
func (x *life) any(label string) uint64 {
	return rapid.Uint64Range(1, uint64(len(x.log.list))).Draw(x.T, label)
}

// live folds to the end of the log.
func (x *life) live() {
	for {
		at := x.state.Position().Seq
		if at == uint64(len(x.log.list)) {
			return
		}
		x.fold(x.log.list[at:][:rapid.IntRange(1, min(12, len(x.log.list)-int(at))).Draw(x.T, "run")])
		switch rapid.SampledFrom([]string{"", "", "cut", "cut", "restart", "kill", "collect", "snapshot"}).Draw(x.T, "then") {
		case "cut":
			x.cut()
		case "restart":
			x.cut()
			x.load()
			x.done["restarts"]++
		case "kill":
			x.kill()
		case "collect":
			x.collect()
		case "snapshot":
			x.snapshot()
		}
	}
}

func (x *life) fold(list []events.Message) {
	var run projector.Run
	for _, m := range list {
		run.Add(m)
	}
	must(x, x.state.Apply(&run))
}

func (x *life) cut() {
	b := x.store.NewBatch()
	must(x, x.state.Cut(b))
	must(x, x.store.Commit(b))
	x.state.Committed()
	x.done["commits"]++
}

// kill loses what is not in the store; it will be read again.
func (x *life) kill() {
	was := x.state.Position().Seq
	x.load()
	x.done["messages read again"] += int(was - x.state.Position().Seq)
}

// collect drops all that it may, however young; it may be killed before the store knows.
func (x *life) collect() {
	c := &projector.Collection{Counters: math.MaxInt64, Models: math.MaxInt64}
	for !x.state.Collect(c) {
	}
	x.done["counters collected"] += c.Dropped
}

func (x *life) snapshot() {
	if x.dir == nil {
		return
	}
	x.cut()
	h, _, err := projected.Save(context.Background(), x.dir, x.store)
	must(x, err)
	if want := folded(x, x.log.list[:h.Seq]); h.Digest != want {
		x.Fatalf("in the snapshot at %d is %x, want %x", h.Seq, h.Digest[:4], want[:4])
	}
	x.done["snapshots"]++
}

func (x *life) ends(want projector.Digest, who string) {
	x.cut()
	x.load()
	if got, err := x.state.Digest(); err != nil || got != want {
		x.Fatalf("%s has %x, %v, want %x", who, got[:4], err, want[:4])
	}
}

func open(t *rapid.T, l *memory, start Start) *Player {
	notAfter := rapid.Uint64Range(0, uint64(len(l.list))).Draw(t, "not after")
	p, err := Open(context.Background(), Options{Log: l, Start: start, Store: inMemory}, notAfter)
	must(t, err)
	return p
}

// moved moves a player to the end, and looks at it once on the way.
func moved(t *rapid.T, l *memory, p *Player) {
	looked := false
	for p.in.passed < p.End() {
		to := p.in.passed + 1
		if rapid.Bool().Draw(t, "one step") {
			must(t, p.Step(context.Background()))
		} else {
			to = rapid.Uint64Range(to, p.End()).Draw(t, "to")
			must(t, p.To(context.Background(), to))
		}
		if looked {
			continue
		}
		looked = true
		if got, err := p.Digest(); err != nil || got != folded(t, l.list[:to]) {
			t.Fatalf("a player that was moved to %d has %x, %v", to, got[:4], err)
		}
	}
	if err := p.Step(context.Background()); !errors.Is(err, io.EOF) {
		t.Fatalf("a step beyond the end: %v", err)
	}
}
