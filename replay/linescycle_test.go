package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// split is a log of a pool whose points are split among a and b.
func split() *memory {
	l := &memory{}
	l.add(0, "quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"percent","window":"5h","limit":100}]}`)
	l.add(0, "quota.config.pool.p", pool(50, 50))
	return l
}

// read stores a reading that was made at another time, all in ms after the beginning.
func (l *memory) read(ms, at int64, percent int, reset int64) {
	l.add(ms, "quota.saturation", fmt.Sprintf(
		`{"connectionId":"c","provider":"kimi","time":%d,"readings":[{"window":"5h","usedPercent":%d,"resetAt":%d}]}`, began+at, percent, began+reset))
}

// cycleStories are what a provider says and when, and what is found of its cycle.
var cycleStories = []struct {
	name   string
	tell   func(l *memory)
	at     int64
	found  quota.Amount
	events int
}{
	{"usage before the rollover's reading", func(l *memory) {
		l.read(1000, 1000, 10, 4*hour)
		l.use(2000, "a", 100)
		l.read(3000, 3000, 20, 4*hour)
		l.use(4*hour+1000, "a", 300)
		l.use(4*hour+2000, "b", 100)
		l.read(4*hour+3000, 4*hour+3000, 8, 9*hour)
	}, 4*hour + 4000, 6_000_000, 1},
	{"usage at the very instant of the reset", func(l *memory) {
		l.read(1000, 1000, 10, 4*hour)
		l.use(2000, "a", 100)
		l.read(3000, 3000, 20, 4*hour)
		l.use(4*hour, "a", 300)
		l.use(4*hour+2000, "b", 100)
		l.read(4*hour+3000, 4*hour+3000, 8, 9*hour)
	}, 4*hour + 4000, 6_000_000, 1},
	{"an answer of the last millisecond of a cycle", func(l *memory) {
		l.read(1000, 1000, 10, 4*hour)
		l.use(2000, "a", 100)
		l.read(3000, 3000, 20, 4*hour)
	}, 4*hour - 1, 10_000_000, 1},
	{"and one of its reset, when nobody has a part any more", func(l *memory) {
		l.read(1000, 1000, 10, 4*hour)
		l.use(2000, "a", 100)
		l.read(3000, 3000, 20, 4*hour)
	}, 4 * hour, 0, 0},
	{"and the provider was silent for a day", func(l *memory) {
		l.read(1000, 1000, 10, 4*hour)
		l.use(4*hour+1000, "a", 300)
		l.use(30*hour, "b", 100)
		l.read(30*hour+3000, 30*hour+3000, 8, 34*hour)
	}, 30*hour + 4000, 6_000_000, 1},
	{"a reading that comes late", func(l *memory) {
		l.use(2500, "a", 900)
		l.read(3000, 2000, 10, 4*hour)
		l.use(4000, "a", 30)
		l.use(4500, "b", 30)
		l.read(5000, 5000, 30, 4*hour)
	}, 6000, 10_000_000, 1},
	{"usage of the same millisecond, before the reading", func(l *memory) {
		l.use(2000, "a", 900)
		l.read(2000, 2000, 10, 4*hour)
		l.use(4000, "a", 30)
		l.use(4500, "b", 30)
		l.read(5000, 5000, 30, 4*hour)
	}, 6000, 10_000_000, 1},
	{"a reading whose clock is ahead", func(l *memory) {
		l.read(3000, 60_000, 10, 4*hour)
		l.use(4000, "a", 30)
		l.use(4500, "b", 30)
		l.read(65_000, 65_000, 30, 4*hour)
	}, 66_000, 10_000_000, 1},
	{"a reset before its time", func(l *memory) {
		l.read(1000, 1000, 60, 4*hour)
		l.use(2000, "a", 900)
		l.read(3000, 3000, 0, 4*hour)
		l.use(4000, "a", 20)
		l.use(4000, "b", 20)
		l.read(5000, 5000, 8, 4*hour)
	}, 6000, 4_000_000, 1},
}

// What a cycle is split by is what stands in the log after the reading that opened it,
// whatever time the reading names, and what came before for the time after a reset.
func TestACycleIsFoundByItsPlaceInTheLog(t *testing.T) {
	for _, c := range cycleStories {
		l := split()
		c.tell(l)
		x := l.explained(t, began+c.at)
		line := lineOf(t, x, quota.Percent, quota.FiveHour, "")
		if line.Consumed != c.found || line.Found != c.found || line.Events != c.events || len(x.Notes) > 0 {
			t.Errorf("%s: found %d of %d, want %d; %d events; notes %q", c.name, line.Found, line.Consumed, c.found, line.Events, x.Notes)
		}
	}
}

// providers is a history of what providers say late, early and about several cycles at
// once, and of usage that comes like that too.
func providers(t *rapid.T) *anything {
	l := &anything{memory: &memory{}}
	for _, c := range []string{"c", "d"} {
		l.publish("quota.config.plan."+c, `{"connectionId":%q,"dimensions":[{"unit":"percent","window":"hourly","limit":100},{"unit":"percent","window":"5h","limit":100}]}`, c)
	}
	l.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"kimi","connections":[{"connectionId":"c"},{"connectionId":"d"}],"allocations":[{"apiKeyId":"a","weight":50},{"apiKeyId":"*","weight":50}]}`)
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		l.now += rapid.SampledFrom([]int64{0, 1000, 60_000, hour / 3, 2 * hour, 9 * hour}).Draw(t, "later")
		conn := rapid.SampledFrom([]string{"c", "d"}).Draw(t, "connection")
		key := rapid.SampledFrom([]string{"a", "x", "y", "*"}).Draw(t, "key")
		at := began + l.now + rapid.SampledFrom([]int64{0, 0, -1000, -hour / 2, 60_000, 110_000, 500_000}).Draw(t, "off")
		n := rapid.IntRange(0, 100).Draw(t, "n")
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1, 2:
			reset := ""
			if in := rapid.SampledFrom([]int64{0, 1, 70_000, hour / 2, hour, 5 * hour}).Draw(t, "reset"); in > 0 {
				reset = fmt.Sprintf(`,"resetAt":%d`, (began+l.now+in)/600_000*600_000+rapid.Int64Range(0, 30_000).Draw(t, "jitter"))
			}
			scope := rapid.SampledFrom([]string{"", "", `,"scope":"m"`}).Draw(t, "scope")
			l.publish("quota.saturation", `{"id":"s%d","connectionId":%q,"provider":"kimi","time":%d,"readings":[{"window":"hourly","usedPercent":%d%s%s},{"window":"5h","usedPercent":%d%s}]}`,
				rapid.IntRange(0, 60).Draw(t, "id"), conn, at, n, reset, scope, n/2, reset)
		case 3:
			l.publish("quota.adjustment", `{"apiKeyId":%q,"connectionId":%q,"reason":"r","time":%d,"cost":{"tokens":-3,"percent":2}}`, key, conn, at)
		case 4: // some come twice, and some are others under the same id
			l.publish("quota.consumption", `{"id":"u%d","apiKeyId":%q,"connectionId":%q,"time":%d,"cost":{"tokens":7}}`, n/30, key, conn, began+int64(n/60))
		case 5:
			l.publish("quota.consumption", `{"apiKeyId":%q,"connectionId":%q,"time":%d,"cost":{"tokens":%d,"usd":0.03,"percent":1}}`, key, conn, at, n)
		default:
			l.publish("quota.consumption", `{"apiKeyId":%q,"connectionId":%q,"time":%d,"cost":{"tokens":%d}}`, key, conn, at, n)
		}
	}
	return l
}

// TestPointsAreFoundWhateverTheHistory of readings and usage, for every key and instant.
func TestPointsAreFoundWhateverTheHistory(t *testing.T) {
	some := 0
	rapid.Check(t, func(t *rapid.T) {
		l := providers(t)
		for range 4 {
			at := began + rapid.Int64Range(0, l.now+hour).Draw(t, "at")
			key := rapid.SampledFrom([]string{"a", "x", "y", "*"}).Draw(t, "asker")
			x, err := Explain(context.Background(), Options{Log: l, Store: inMemory}, &Ask{
				Question: questions.Question{APIKeyID: key, ConnectionID: "c", MaxWaitMs: -1}, At: at, Top: 100,
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range x.Lines {
				some += foundAll(t, &x.Lines[i])
			}
			if len(x.Lines) != 2 {
				t.Fatalf("%d lines", len(x.Lines))
			}
		}
	})
	if some == 0 {
		t.Error("nothing was consumed in all histories")
	}
}

// foundAll holds a line to what was consumed, and returns 1 if anything was.
func foundAll(t *rapid.T, l *explanation.Line) int {
	var weights quota.Amount
	for _, e := range l.Top {
		weights += e.Weight
	}
	step := quota.Amount(l.Events)
	if abs(l.Found-l.Consumed) > step || l.Found >= 0 && abs(weights-l.Found) > step+2 || len(l.Top) != l.Events {
		t.Fatalf("%s: found %d of %d, %d events of %d\n%+v", l.Window, l.Found, l.Consumed, l.Events, weights, l.Top)
	}
	return int(min(l.Consumed, 1))
}

// purged is a log without its first messages.
type purged struct {
	*memory
	first uint64
}

func (l purged) Bounds(context.Context) (first, last uint64, err error) {
	return l.first, uint64(len(l.list)), nil
}

func (l purged) From(ctx context.Context, seq uint64) (projector.Source, func(), error) {
	return l.memory.From(ctx, max(seq, l.first))
}

// holed is a log of which what retention deletes is gone below a message: all but
// configuration.
type holed struct {
	*memory
	first uint64
}

func (l holed) Source(ctx context.Context, after projector.Position) (projector.Source, func(), error) {
	return l.From(ctx, after.Seq+1)
}

func (l holed) From(_ context.Context, seq uint64) (projector.Source, func(), error) {
	var left []events.Message
	for _, m := range l.list {
		if m.Seq >= seq && (m.Seq >= l.first || strings.HasPrefix(m.Subject, events.ConfigPrefix)) {
			left = append(left, m)
		}
	}
	return &memorySource{left}, func() {}, nil
}

// snapshot keeps the state that the log folds to.
func (l *memory) snapshot(t *testing.T, dir *snapdir.Dir) {
	t.Helper()
	store := memstore.New()
	s := projector.NewState(store)
	var run projector.Run
	for _, m := range l.list {
		run.Add(m)
	}
	must(t, s.Apply(&run))
	b := store.NewBatch()
	must(t, s.Cut(b))
	must(t, store.Commit(b))
	_, _, err := projected.Save(t.Context(), dir, store)
	must(t, err)
}

// Of a cycle that was open before what the log still has, that is found: whether the log
// begins there now, or has the configuration of before.
func TestWhatIsLeftOfACycleIsFound(t *testing.T) {
	l := split()
	l.read(2000, 2000, 10, 4*hour)
	l.use(3000, "a", 30)
	at := uint64(len(l.list))
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	l.snapshot(t, dir)
	l.use(4000, "a", 10)
	l.use(4000, "b", 60)
	l.read(5000, 5000, 30, 4*hour)
	for name, log := range map[string]Log{"all is gone": purged{l, at + 1}, "configuration stays": holed{l, at + 1}} {
		x, err := Explain(t.Context(), Options{Log: log, Start: starts.Local{Dir: dir}, Store: inMemory}, &Ask{
			Question: questions.Question{APIKeyID: "a", ConnectionID: "c", MaxWaitMs: -1}, At: began + 6000, Top: 5,
		})
		must(t, err)
		line := lineOf(t, x, quota.Percent, quota.FiveHour, "")
		if line.Consumed != 8_000_000 || line.Found != 2_000_000 || line.Events != 1 {
			t.Errorf("%s: found %d of %d, %d events; notes %q", name, line.Found, line.Consumed, line.Events, x.Notes)
		}
		if e := line.Top[0]; !e.HasSplit || e.SplitBy != quota.Tokens || e.Split != 10_000 || e.Weight != 2_000_000 {
			t.Errorf("%s: the event is %+v", name, e)
		}
	}
}

// A cycle that was found goes on behind a gap in it.
func TestAGapWithinACycleBeginsNoOther(t *testing.T) {
	l := split()
	l.read(2000, 2000, 10, 4*hour)
	l.use(3000, "a", 30)
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	l.use(3500, "b", 10)
	gone := l.list[len(l.list)-1].Seq
	l.snapshot(t, dir)
	l.use(4000, "a", 10)
	l.read(5000, 5000, 30, 4*hour)
	x, err := Explain(t.Context(), Options{Log: without{l, gone}, Start: starts.Local{Dir: dir}, Store: inMemory}, &Ask{
		Question: questions.Question{APIKeyID: "a", ConnectionID: "c", MaxWaitMs: -1}, At: began + 6000, Top: 5,
	})
	must(t, err)
	if line := lineOf(t, x, quota.Percent, quota.FiveHour, ""); line.Events != 2 || line.Found != line.Consumed {
		t.Errorf("found %d of %d, %d events; notes %q", line.Found, line.Consumed, line.Events, x.Notes)
	}
}

// without is a log that lacks one message.
type without struct {
	*memory
	gone uint64
}

func (l without) Source(ctx context.Context, after projector.Position) (projector.Source, func(), error) {
	return l.From(ctx, after.Seq+1)
}

func (l without) From(_ context.Context, seq uint64) (projector.Source, func(), error) {
	left := slices.DeleteFunc(slices.Clone(l.list[min(seq-1, uint64(len(l.list))):]), func(m events.Message) bool { return m.Seq == l.gone })
	return &memorySource{left}, func() {}, nil
}

// TestAGapIsExplainedOrSaid: by rounding no more than the smallest amount for each event.
func TestAGapIsExplainedOrSaid(t *testing.T) {
	for _, c := range []struct {
		found, consumed quota.Amount
		missing         bool
		want            string // how a note begins, "" = there is none
	}{
		{100, 100, false, ""},
		{97, 100, false, "the events found do not weigh exactly"},
		{103, 100, false, "the events found do not weigh exactly"},
		{96, 100, false, "the events found for tokens/hourly weigh 0.004 less than what was consumed"},
		{104, 100, false, "the events found for tokens/hourly weigh 0.004 more than what was consumed"},
		{96, 100, true, ""}, // that messages are missing is said before
		{104, 100, true, "the events found for tokens/hourly weigh 0.004 more than what was consumed"},
	} {
		x := &explainer{made: &explanation.Explanation{Lines: []explanation.Line{
			{Unit: quota.Tokens, Window: quota.Hourly, Found: c.found, Consumed: c.consumed, HasConsumed: true, Events: 3},
			{Unit: quota.Tokens, Window: quota.Daily, Found: 9999}, // a cap: nobody says what was consumed
		}}}
		x.gaps(c.missing)
		if notes := x.made.Notes; c.want == "" && len(notes) > 0 || c.want != "" && (len(notes) != 1 || !slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, c.want) })) {
			t.Errorf("%+v: %q", c, notes)
		}
	}
}
