package replay

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots/snapdir"
	"github.com/quotashare/quotashare/wire"
)

const day = 24 * hour

// explained explains a question of key a on connection c.
func (l *memory) explained(t *testing.T, at int64) *explanation.Explanation {
	t.Helper()
	x, err := Explain(t.Context(), Options{Log: l, Store: inMemory}, &Ask{
		Question: questions.Question{APIKeyID: "a", ConnectionID: "c", MaxWaitMs: -1}, At: at, Top: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Ids come twice at every distance, up to weeks after the fold has forgotten them: each
// event is found where the fold counted it.
func TestEventsAreFoundWhereTheyCountedHoweverOld(t *testing.T) {
	l := &memory{}
	l.add(0, "quota.config.plan.c", `{"connectionId":"c","dimensions":[`+
		`{"unit":"tokens","window":"hourly","limit":1},{"unit":"tokens","window":"daily","limit":1},`+
		`{"unit":"tokens","window":"weekly","limit":1},{"unit":"tokens","window":"monthly","limit":1}]}`)
	l.add(0, "quota.config.pool.p", pool(50, 50))
	dice := rand.New(rand.NewPCG(3, 5))
	bodies := map[int]string{}
	for i := range 600 {
		now := int64(i)*3*hour/2 + hour - 60_000 // a minute before a bucket ends, or half of one later
		id, body := i, fmt.Sprintf(`{"id":"u%d","apiKeyId":"a","connectionId":"c","time":%d,"cost":{"tokens":%d}}`, i, began+now+110_000-int64(dice.IntN(day)), 1+dice.IntN(50))
		if old := dice.IntN(i + 1); bodies[old] != "" && dice.IntN(3) > 0 {
			id, body = old, bodies[old]
		}
		l.add(now, "quota.consumption", body)
		if dice.IntN(4) == 0 {
			l.add(now, "quota.consumption", body) // in the same millisecond
		}
		delete(bodies, id)
		if id == i {
			bodies[i] = body
		}
	}
	for range 25 {
		at := began + int64(dice.IntN(600*3*hour/2))
		x := l.explained(t, at)
		for _, line := range x.Lines {
			if line.Found != line.Consumed || line.Consumed == 0 && line.Window != quota.Hourly {
				t.Errorf("at %s: %s: found %d of %d", instant(at), line.Window, line.Found, line.Consumed)
			}
		}
		if len(x.Lines) != 4 || len(x.Notes) > 0 {
			t.Errorf("%d lines, notes %q", len(x.Lines), x.Notes)
		}
	}
}

// Of a percent dimension the provider's points are split, by what was used since the
// cycle began.
func TestPointsOfTheProviderAreTracedToEvents(t *testing.T) {
	l := &memory{}
	l.add(0, "quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"percent","window":"5h","limit":100}]}`)
	l.add(0, "quota.config.pool.p", pool(50, 50))
	read := func(ms int64, percent int) {
		l.add(ms, "quota.saturation", fmt.Sprintf(`{"connectionId":"c","provider":"kimi","readings":[{"window":"5h","usedPercent":%d,"resetAt":%d}]}`, percent, began+4*hour))
	}
	l.use(1000, "a", 500) // before the provider spoke: of no cycle
	read(2000, 10)
	l.use(3000, "a", 30)
	l.use(4000, "b", 60)
	l.use(5000, "a", 10)
	l.add(6000, "quota.adjustment", `{"apiKeyId":"a","connectionId":"c","reason":"x","cost":{"tokens":-9}}`)
	read(7000, 30)
	x := l.explained(t, began+8000)
	line := lineOf(t, x, quota.Percent, quota.FiveHour, "")
	if line.Consumed != 8_000_000 || line.Found != line.Consumed || line.Events != 2 || line.From != began+2000 {
		t.Errorf("%+v", line)
	}
	if len(line.Top) != 2 || line.Top[0].Seq != 5 || line.Top[0].Weight != 6_000_000 || line.Top[1].Weight != 2_000_000 {
		t.Errorf("top %+v", line.Top)
	}
}

// The state of a snapshot has sums, so the answer is right; what the events were is
// gone with them, and said.
func TestWhatWasPurgedIsSaid(t *testing.T) {
	r := newRig(t)
	last := r.spread(r.now())
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	r.snapshot(dir, r.messages()[:last])
	ask := &Ask{Question: questions.Question{APIKeyID: "a", ConnectionID: "c"}, Seq: last, Top: 3}
	whole := r.explain(Options{Start: starts.Local{Dir: dir}}, ask)
	s, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	for seq := uint64(10); seq < 100; seq++ {
		r.must(s.DeleteMsg(t.Context(), seq))
	}
	rest := r.explain(Options{Start: starts.Local{Dir: dir}}, ask)
	was, is := lineOf(t, whole, quota.Tokens, quota.Hourly, ""), lineOf(t, rest, quota.Tokens, quota.Hourly, "")
	if is.Consumed != was.Consumed || is.Found >= was.Found || len(Differences(&whole.Reply, &rest.Reply)) > 0 {
		t.Errorf("found %d of %d, and %d of %d before", is.Found, is.Consumed, was.Found, was.Consumed)
	}
	if len(rest.Notes) != 1 || !strings.HasPrefix(rest.Notes[0], "90 messages of the time that consumption is looked for in, or of right before it, are not in the log any more") || rest.Replay.Missing != 0 {
		t.Errorf("notes %q, %+v", rest.Notes, rest.Replay)
	}
	// From the first message, the answer may be wrong, and that is said first.
	rest = r.explain(Options{}, ask)
	if rest.Replay.Missing != 90 || rest.Replay.MissingFrom != 10 || rest.Replay.MissingTo != 99 || !strings.HasPrefix(rest.Notes[0], "90 of the messages from 10 to 99") {
		t.Errorf("notes %q, %+v", rest.Notes, rest.Replay)
	}
}

// What was purged from the log's beginning is missing as well, and so is what was right
// before the time that is looked at: what is not found may be of it.
func TestWhatIsGoneFromTheBeginningIsMissingToo(t *testing.T) {
	l := shared(50, 50)
	l.add(1, "quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":1000}]}`)
	for i := range int64(7) {
		l.use(2+i, "a", 100)
	}
	last := uint64(len(l.list))
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	l.snapshot(t, dir)
	ask := &Ask{Question: questions.Question{APIKeyID: "a", ConnectionID: "c", MaxWaitMs: -1}, Seq: last, Top: 9}
	for name, c := range map[string]struct {
		log     Log
		missing string
	}{
		"all but the last two":              {purged{l, last - 1}, fmt.Sprintf("%d messages", last-2)},
		"configuration stays":               {holed{l, last - 1}, "5 messages"},
		"and more in the middle of the log": {holed{l, last}, "6 messages"},
	} {
		x, err := Explain(t.Context(), Options{Log: c.log, Start: starts.Local{Dir: dir}, Store: inMemory}, ask)
		must(t, err)
		line := lineOf(t, x, quota.Tokens, quota.Hourly, "")
		if line.Consumed != 700_000 || line.Found >= line.Consumed || len(x.Notes) != 1 || !strings.HasPrefix(x.Notes[0], c.missing+" of the time that consumption is looked for in") {
			t.Errorf("%s: found %d of %d, notes %q", name, line.Found, line.Consumed, x.Notes)
		}
	}
}

// Without a sequence it is the last message that the broker had at the instant; without
// an instant it is the log time after that message.
func TestTheInstantSaysTheMessageAndTheMessageTheInstant(t *testing.T) {
	l := shared(50, 50)
	first := uint64(len(l.list))
	l.use(10_000, "a", 5)
	l.use(10_000, "b", 7)
	l.use(20_000, "a", 11)
	q := questions.Question{APIKeyID: "a", ConnectionID: "c", MaxWaitMs: -1}
	for _, c := range []struct {
		at       int64
		seq      uint64
		want     uint64
		time     int64
		consumed quota.Amount
	}{
		{began + 10_000, 0, first + 2, began + 10_000, 5000},
		{began + 19_999, 0, first + 2, began + 19_999, 5000},
		{began + 20_000, 0, first + 3, began + 20_000, 16_000},
		{0, first + 1, first + 1, began + 10_000, 5000},
		{began + 30_000, first + 1, first + 1, began + 30_000, 5000},
		{began + 10_000, first + 1, first + 1, began + 10_000, 5000},
	} {
		x, err := Explain(t.Context(), Options{Log: l, Store: inMemory}, &Ask{Question: q, At: c.at, Seq: c.seq, Top: 5})
		if err != nil {
			t.Fatal(err)
		}
		line := lineOf(t, x, quota.Tokens, x.Lines[0].Window, "")
		if x.Reply.AsOf.Seq != c.want || x.Reply.AsOf.Time != c.time || line.Consumed != c.consumed || line.Found != c.consumed {
			t.Errorf("at %d after %d: as of %+v, %d consumed, %d found", c.at-began, c.seq, x.Reply.AsOf, line.Consumed, line.Found)
		}
	}
	// Of an instant before its message there is no state: it would be answered of later.
	_, err := Explain(t.Context(), Options{Log: l, Store: inMemory}, &Ask{Question: q, At: began + 19_999, Seq: first + 3, Top: 5})
	var faults wire.Faults
	if !errors.As(err, &faults) || !strings.HasPrefix(err.Error(), "at is before message 5, whose log time is ") {
		t.Errorf("a millisecond before the message: %v", err)
	}
}

// What keys share is floored bucket by bucket, and what a key has alone is not.
func TestACorrectionAmongKeysThatShare(t *testing.T) {
	for allocation, want := range map[string]quota.Amount{"*": 50_000, "a": 0} {
		l := &memory{}
		l.add(0, "quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":1000}]}`)
		l.add(0, "quota.config.pool.p", `{"id":"p","name":"p","provider":"kimi","connections":[{"connectionId":"c"}],"allocations":[{"apiKeyId":"`+allocation+`","weight":100}]}`)
		begin := hour - began%hour // of the next bucket
		l.add(1000, "quota.consumption", `{"apiKeyId":"a","connectionId":"c","cost":{"tokens":100}}`)
		l.add(begin, "quota.adjustment", `{"apiKeyId":"a","connectionId":"c","reason":"refund","cost":{"tokens":-300}}`)
		x := l.explained(t, began+begin+hour/2)
		line := lineOf(t, x, quota.Tokens, quota.Hourly, "")
		if line.Consumed != want || line.Found != line.Consumed || line.Events != 2 || len(x.Notes) > 0 {
			t.Errorf("%s: found %d of %d, want %d; %d events, notes %q", allocation, line.Found, line.Consumed, want, line.Events, x.Notes)
		}
	}
}
