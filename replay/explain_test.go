package replay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots/snapdir"
	"github.com/quotashare/quotashare/wire"
)

const hour = 3_600_000

// spread is usage over three hours, with what the fold does not count twice or at all.
func (r *rig) spread(now int64) (last uint64) {
	r.t.Helper()
	r.publish("quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":100000},{"unit":"requests","window":"daily","limit":1000}]}`)
	r.publish("quota.config.plan.d", `{"connectionId":"d","dimensions":[{"unit":"tokens","window":"hourly","limit":100000}]}`)
	r.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"kimi","connections":[{"connectionId":"c"},{"connectionId":"d"}],`+
		`"allocations":[{"apiKeyId":"a","weight":50,"caps":[{"unit":"usd","window":"5h","value":5}]},{"apiKeyId":"*","weight":50}],`+
		`"modelCaps":[{"apiKeyId":"a","model":"m","capValue":90000,"capUnit":"tokens"}]}`)
	dice := rand.New(rand.NewPCG(7, 7))
	for i := range 200 {
		key := []string{"a", "a", "b", "x"}[dice.IntN(4)]
		body := fmt.Sprintf(`{"id":"u%d","apiKeyId":%q,"connectionId":%q,"time":%d,"requestId":"r%d","cost":{"tokens":%d,"usd":0.01}`,
			i, key, string("cde"[dice.IntN(3)]), now-int64(dice.IntN(3*hour)), i, dice.IntN(300))
		if dice.IntN(2) == 0 {
			body += `,"model":"m"`
		}
		last = r.publish("quota.consumption", body+"}")
		switch dice.IntN(8) {
		case 0:
			r.publish("quota.consumption", "["+body+"},"+body+"}]")
		case 1:
			r.publish("quota.consumption", strings.Replace(body, `"tokens":`, `"tokens":1`, 1)+"}") // a conflict
		case 2:
			last = r.publish("quota.adjustment", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":"c","time":%d,"reason":"refund","cost":{"tokens":-7}}`, key, now-int64(dice.IntN(2*hour))))
		}
	}
	return last
}

func (r *rig) explain(o Options, ask *Ask) *explanation.Explanation {
	r.t.Helper()
	o.Log = r.log
	if o.Store == nil {
		o.Store = inMemory
	}
	ask.Question.MaxWaitMs = -1
	x, err := Explain(r.within(), o, ask)
	r.must(err)
	return x
}

// lineOf finds a line.
func lineOf(t *testing.T, x *explanation.Explanation, u quota.Unit, w quota.Window, model string) *explanation.Line {
	t.Helper()
	for i := range x.Lines {
		if l := &x.Lines[i]; l.Unit == u && l.Window == w && l.Model == model {
			return l
		}
	}
	t.Fatalf("no line %s/%s %q in %+v", u, w, model, x.Lines)
	return nil
}

// dumb is what a list of the events that were folded says of a line: every event that
// counts, the heaviest first.
func dumb(folded []explanation.Event, counts func(*explanation.Event) bool, now, width int64) (list []explanation.Event) {
	for _, e := range folded {
		if !counts(&e) {
			continue
		}
		age := now/width - e.Time/width
		switch {
		case age <= 0:
			e.Weight = e.Cost
		case age == 1:
			e.Weight = e.Cost * quota.Amount(width-now%width) / quota.Amount(width)
		default:
			continue
		}
		if e.Cost != 0 {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b explanation.Event) int { return heavier(&a, &b) })
	return list
}

// folded are the events that a fold takes, found by folding one message after the
// other and looking whether a count went up.
func (r *rig) folded(list []events.Message, u quota.Unit) (all []explanation.Event) {
	r.t.Helper()
	s, _ := r.fold(nil)
	for _, m := range list {
		for i, it := range events.Decode(&m, nil) {
			before := s.Counts().Folded
			alone := m
			alone.Data = it.Raw
			var run projector.Run
			run.Add(alone)
			r.must(s.Apply(&run))
			if e := &it.Event; s.Counts().Folded > before && !e.Kind.IsConfig() {
				all = append(all, explanation.Event{
					Seq: m.Seq, Index: i, ID: e.ID, Time: e.Time, Adjustment: e.Kind == events.Adjustment, Reason: e.Reason,
					APIKeyID: e.APIKeyID, ConnectionID: e.ConnectionID, Model: e.Model, RequestID: e.RequestID, Cost: e.Cost[u],
				})
			}
		}
	}
	return all
}

func TestTheEventsFoundAreThoseThatTheFoldCounted(t *testing.T) {
	r := newRig(t)
	last := r.spread(r.now())
	tokens, usd := r.folded(r.messages(), quota.Tokens), r.folded(r.messages(), quota.USD)
	pooled := func(e *explanation.Event) bool { return e.ConnectionID != "e" }
	of := func(key string) func(*explanation.Event) bool {
		return func(e *explanation.Event) bool {
			return pooled(e) && (e.APIKeyID == key || key == "*" && e.APIKeyID != "a")
		}
	}
	for _, c := range []struct {
		asker, model string
		unit         quota.Unit
		window       quota.Window
		of           []explanation.Event
		counts       func(*explanation.Event) bool
	}{
		{"a", "", quota.Tokens, quota.Hourly, tokens, of("a")},
		{"a", "", quota.USD, quota.FiveHour, usd, of("a")},
		{"a", "m", quota.Tokens, quota.Hourly, tokens, func(e *explanation.Event) bool { return of("a")(e) && e.Model == "m" }},
		{"b", "", quota.Tokens, quota.Hourly, tokens, of("*")},
	} {
		q := questions.Question{APIKeyID: c.asker, ConnectionID: "c", Model: c.model}
		x := r.explain(Options{}, &Ask{Question: q, Seq: last, Top: 1000})
		at := x.Reply.AsOf.Time
		want := dumb(c.of, c.counts, at, c.window.Millis())
		l := lineOf(t, x, c.unit, c.window, c.model)
		if l.Events != len(want) {
			t.Errorf("%s %s/%s %q: %d events, want %d", c.asker, c.unit, c.window, c.model, l.Events, len(want))
		}
	}
}

func TestAnExplanationNamesTheHeaviest(t *testing.T) {
	r := newRig(t)
	now := r.now()
	last := r.spread(now)
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	r.snapshot(dir, r.messages()[:last-5])
	all := r.folded(r.messages(), quota.Tokens)
	x := r.explain(Options{Start: starts.Local{Dir: dir}}, &Ask{Question: questions.Question{APIKeyID: "a", ConnectionID: "c"}, Seq: last, Top: 10})
	if x.Replay.Snapshot != last-5 || x.Replay.Seq != last {
		t.Errorf("it was replayed %+v", x.Replay)
	}
	want := dumb(all, func(e *explanation.Event) bool { return e.ConnectionID != "e" && e.APIKeyID == "a" }, x.Reply.AsOf.Time, hour)
	l := lineOf(t, x, quota.Tokens, quota.Hourly, "")
	if !l.HasConsumed || l.Consumed != l.Found || l.Consumed == 0 {
		t.Errorf("found %d of %d", l.Found, l.Consumed)
	}
	if len(l.Top) != 10 || !slices.Equal(l.Top, want[:10]) {
		t.Errorf("the heaviest are\n%+v, want\n%+v", l.Top, want[:10])
	}
	var keys []string
	for i, k := range l.Keys {
		if i > 0 && l.Keys[i-1].Consumed < k.Consumed || k.Consumed == 0 {
			t.Errorf("keys are %+v", l.Keys)
		}
		keys = append(keys, k.APIKeyID)
	}
	slices.Sort(keys)
	if !slices.Equal(keys, []string{"a", "b", "x"}) {
		t.Errorf("keys are %q", keys)
	}
}

// TestAnExplanationPausesForEachRun of events, however few messages bring them: when it
// folds, and when it looks for what was consumed.
func TestAnExplanationPausesForEachRun(t *testing.T) {
	l := shared(50, 50)
	const messages = 6
	body := strings.Repeat(`,{"apiKeyId":"a","connectionId":"c","cost":{"tokens":1}}`, projector.MaxRunItems)
	for i := range int64(messages) {
		l.add(1000+i, "quota.consumption", "["+body[1:]+"]")
	}
	pauses := 0
	o := Options{Log: l, Store: inMemory, Pause: func(context.Context) error {
		pauses++
		return nil
	}}
	x, err := Explain(t.Context(), o, &Ask{Question: questions.Question{APIKeyID: "a", ConnectionID: "c"}, Seq: uint64(len(l.list)), Top: 1})
	if err != nil || len(x.Lines) == 0 {
		t.Fatalf("%+v, %v", x, err)
	}
	if pauses < 2*messages {
		t.Errorf("it paused %d times for %d runs", pauses, 2*messages)
	}
}

// TestLessThanNoneIsRefused: who bounds the lists by less than nothing made a mistake.
func TestLessThanNoneIsRefused(t *testing.T) {
	_, err := Explain(t.Context(), Options{}, &Ask{Seq: 1, Top: -1})
	if faults := wire.Faults(nil); !errors.As(err, &faults) || faults[0].Field != "top" {
		t.Errorf("it ended with %v", err)
	}
}
