package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/pebblestore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
	"github.com/quotashare/quotashare/whatif"
	"github.com/quotashare/quotashare/wire"
)

// tight is the pool of shared, with a cap of so many tokens an hour for a.
func tight(capValue int, mode string) string {
	return fmt.Sprintf(`{"pools":[{"id":"p","name":"P","provider":"kimi","mode":%q,"connections":[{"connectionId":"c"}],
		"allocations":[{"apiKeyId":"a","weight":50,"caps":[{"unit":"tokens","window":"hourly","value":%d}]},{"apiKeyId":"b","weight":50}]}]}`, mode, capValue)
}

// blockedRow is a recorded block of a, asked at the connection.
func blockedRow(l *memory, ms int64, tokens int64, request string) *questions.Record {
	q := questions.Question{APIKeyID: "a", ConnectionID: "c", RequestID: request, MaxWaitMs: -1, Estimate: quota.Amounts{quota.Tokens: quota.Amount(tokens * 1000)}}
	r := questions.Reply{DecisionID: fmt.Sprintf("d%d", len(l.rows)), Reason: "fair-share", ScoreFactor: quota.RatioOne, HTTPStatus: 429}
	r.AsOf = questions.AsOf{Seq: uint64(len(l.list)), Time: began + ms}
	l.rows = append(l.rows, questions.Record{Time: began + ms, Index: questions.FromView, Count: 1, ConnectionID: "c", PoolID: "p", Process: "p", Question: q, Reply: r})
	return &l.rows[len(l.rows)-1]
}

// rowsOf are the lines of told that are about keys.
func rowsOf(r *whatif.Report) string {
	text := ""
	for _, line := range strings.SplitAfter(told(r), "\n") {
		if strings.Contains(line, "allowed") {
			text += line
		}
	}
	return text
}

// requestStories are histories under other rules, and what the side after does with them.
var requestStories = []struct {
	name  string
	tell  func(l *memory)
	trial string
	want  string
}{
	{
		"a consumption that is blocked now is not counted, so the next may pass",
		func(l *memory) { l.use(1, "a", 60); l.use(2, "a", 60); l.use(3, "a", 30) }, tight(100, "enforce"),
		"a | 3 allowed 0 blocked 0 deprioritized 150 tokens | 2 allowed 1 blocked 0 deprioritized 90 tokens | +1 -0\n",
	},
	{
		"what came in spite of a block comes in spite of this one",
		func(l *memory) { l.use(1, "a", 990); l.use(2, "a", 60) }, tight(1000, "enforce"),
		"a | 1 allowed 1 blocked 0 deprioritized 1050 tokens | 1 allowed 1 blocked 0 deprioritized 1050 tokens | +0 -0\n",
	},
	{
		"a pool that observes stops nobody",
		func(l *memory) { l.use(1, "a", 60); l.use(2, "a", 60) }, tight(100, "observe"),
		"a | 2 allowed 0 blocked 0 deprioritized 120 tokens | 1 allowed 1 blocked 0 deprioritized 120 tokens | +1 -0\n",
	},
	{
		"a hold that is refused now takes its consumption along",
		func(l *memory) { l.hold(1, "h1", "a", 200); l.settle(2, "h1", "a", 20) }, tight(100, "enforce"),
		"a | 1 allowed 0 blocked 0 deprioritized 20 tokens | 1 allowed 0 blocked 0 deprioritized 20 tokens | +0 -0\n",
	},
	{
		"… when the key has used its cap",
		func(l *memory) {
			l.use(0, "a", 90)
			l.hold(1, "h1", "a", 20)
			l.settle(2, "h1", "a", 5)
			l.use(3, "a", 5)
		}, tight(100, "enforce"),
		"a | 3 allowed 0 blocked 0 deprioritized 100 tokens | 2 allowed 1 blocked 0 deprioritized 95 tokens | +1 -0\n",
	},
	{
		"a hold that is granted now is paid with its estimate, and not again",
		func(l *memory) {
			l.use(0, "a", 950)
			l.hold(1, "h1", "a", 80)
			l.hold(2, "h2", "a", 80)
			l.settle(3, "h2", "a", 70) // its caller did not heed the block
		}, `{"plans":[{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":3000}]}]}`,
		"a | 1 allowed 3 blocked 0 deprioritized 1020 tokens | 3 allowed 0 blocked 0 deprioritized 1110 tokens | +0 -2\n",
	},
	{
		"a block that passes now is paid with its estimate, as often as it was given, until it is a block again",
		func(l *memory) { l.use(0, "a", 950); blockedRow(l, 1, 60, "").Count = 5 },
		`{"plans":[{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":2200}]}]}`,
		"a | 1 allowed 5 blocked 0 deprioritized 950 tokens | 4 allowed 2 blocked 0 deprioritized 1130 tokens | +0 -3\n",
	},
	{
		"each block of a row is asked for its own request",
		func(l *memory) {
			l.use(0, "a", 950)
			c := blockedRow(l, 1, 60, "r")
			for i, request := range []string{"s", "s", "t"} {
				c.Join(questions.Answered{DecisionID: fmt.Sprint("e", i), RequestID: request, Time: began + 2, Index: questions.FromView, AsOf: questions.AsOf{Seq: uint64(len(l.list)), Time: began + 2}})
			}
			c.Count += 7 // without names, as it is not known whether they are the same request
		},
		`{"plans":[{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":40000}]}]}`,
		"a | 1 allowed 11 blocked 0 deprioritized 950 tokens | 12 allowed 0 blocked 0 deprioritized 1550 tokens | +0 -11\n",
	},
	{
		"each block of a row is asked about where it was given",
		func(l *memory) {
			l.use(0, "a", 950)
			c := blockedRow(l, 1, 60, "")
			l.add(2, "quota.adjustment", `{"apiKeyId":"a","connectionId":"c","reason":"refund","cost":{"tokens":-100}}`)
			c.Join(questions.Answered{DecisionID: "e", Time: began + 3, Index: questions.FromView, AsOf: questions.AsOf{Seq: uint64(len(l.list)), Time: began + 3}})
			c.Join(questions.Answered{DecisionID: "f", Time: began + 4, Index: 0, AsOf: questions.AsOf{Seq: uint64(len(l.list)), Time: began + 4}}) // of the fold
		},
		`{"plans":[{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":2050}]}]}`,
		"a | 1 allowed 2 blocked 0 deprioritized 950 tokens | 3 allowed 0 blocked 0 deprioritized 1070 tokens | +0 -2\n",
	},
	{
		"those of which there is the number alone are one request when all that are named are",
		func(l *memory) {
			l.use(0, "a", 950)
			c := blockedRow(l, 1, 60, "r")
			c.Join(questions.Answered{DecisionID: "e", RequestID: "r", Time: began + 3, Index: questions.FromView, AsOf: questions.AsOf{Seq: uint64(len(l.list)), Time: began + 3}})
			c.Count += 7
		},
		`{"plans":[{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":40000}]}]}`,
		"a | 1 allowed 9 blocked 0 deprioritized 950 tokens | 10 allowed 0 blocked 0 deprioritized 1010 tokens | +0 -9\n",
	},
	{
		"a caller that names its request and asks again is one request",
		func(l *memory) {
			l.use(0, "a", 950)
			blockedRow(l, 1, 60, "r")
			blockedRow(l, 2, 60, "r")
			l.add(3, "quota.consumption", `{"apiKeyId":"a","connectionId":"c","requestId":"r","cost":{"tokens":60}}`)
		}, `{"plans":[{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":4000}]}]}`,
		"a | 1 allowed 3 blocked 0 deprioritized 1010 tokens | 3 allowed 0 blocked 0 deprioritized 1010 tokens | +0 -2\n",
	},
	{
		"the parts of a request have one answer",
		func(l *memory) {
			l.use(0, "a", 95)
			for i := range int64(3) {
				l.add(1+i, "quota.consumption", fmt.Sprintf(`{"apiKeyId":"a","connectionId":"c","requestId":"r","partial":%v,"cost":{"tokens":4}}`, i < 2))
			}
			l.add(5, "quota.consumption", `{"apiKeyId":"a","connectionId":"c","requestId":"s","partial":true,"cost":{"tokens":1}}`)
			l.add(6, "quota.consumption", `{"apiKeyId":"a","connectionId":"c","requestId":"s","cost":{"tokens":1}}`)
		}, tight(100, "enforce"),
		"a | 3 allowed 0 blocked 0 deprioritized 109 tokens | 2 allowed 1 blocked 0 deprioritized 107 tokens | +1 -0\n",
	},
	{
		"an adjustment is counted on both sides, and a copy of an event asks nothing",
		func(l *memory) {
			l.add(1, "quota.consumption", `{"id":"1","apiKeyId":"a","connectionId":"c","cost":{"tokens":120}}`)
			l.add(2, "quota.consumption", `{"id":"1","apiKeyId":"a","connectionId":"c","cost":{"tokens":120}}`)
			l.add(3, "quota.adjustment", `{"apiKeyId":"a","connectionId":"c","reason":"refund","cost":{"tokens":-60}}`)
			l.use(4, "a", 30)
		}, tight(100, "enforce"),
		"a | 2 allowed 0 blocked 0 deprioritized 150 tokens | 2 allowed 0 blocked 0 deprioritized 150 tokens | +0 -0\n",
	},
	{
		"a copy of an event that was blocked asks nothing either",
		func(l *memory) {
			l.use(0, "a", 100)
			l.add(1, "quota.consumption", `{"id":"1","apiKeyId":"a","connectionId":"c","cost":{"tokens":5}}`)
			l.add(2, "quota.consumption", `{"id":"1","apiKeyId":"a","connectionId":"c","cost":{"tokens":5}}`)
		}, tight(100, "enforce"),
		"a | 2 allowed 0 blocked 0 deprioritized 105 tokens | 1 allowed 1 blocked 0 deprioritized 100 tokens | +1 -0\n",
	},
	{
		"the events of an array see each other",
		func(l *memory) {
			l.add(1, "quota.consumption", `[{"apiKeyId":"a","connectionId":"c","cost":{"tokens":60}},{"apiKeyId":"a","connectionId":"c","cost":{"tokens":60}},{"apiKeyId":"b","connectionId":"c","cost":{"tokens":60}}]`)
		}, tight(100, "enforce"),
		"a | 2 allowed 0 blocked 0 deprioritized 120 tokens | 1 allowed 1 blocked 0 deprioritized 60 tokens | +1 -0\n" +
			"b | 1 allowed 0 blocked 0 deprioritized 60 tokens | 1 allowed 0 blocked 0 deprioritized 60 tokens | +0 -0\n",
	},
	{
		"each is asked about at its own time",
		func(l *memory) {
			l.add(hourMs+10, "quota.consumption", fmt.Sprintf(`{"apiKeyId":"a","connectionId":"c","time":%d,"cost":{"tokens":100}}`, began+10))
			l.add(hourMs+11, "quota.consumption", fmt.Sprintf(`{"apiKeyId":"a","connectionId":"c","time":%d,"cost":{"tokens":1}}`, began+11))
		}, tight(100, "enforce"),
		"a | 2 allowed 0 blocked 0 deprioritized 101 tokens | 1 allowed 1 blocked 0 deprioritized 100 tokens | +1 -0\n",
	},
	{
		"without its pool nobody is blocked",
		func(l *memory) {
			l.use(1, "a", 990)
			l.use(2, "b", 60)
			blockedRow(l, 3, 60, "").Question.Pool = "p"
			l.rows[0].Question.ConnectionID = ""
		},
		`{"withoutPools":["p"]}`,
		"a | 1 allowed 1 blocked 0 deprioritized 990 tokens | 2 allowed 0 blocked 0 deprioritized 1050 tokens | +0 -1\n" +
			"b | 0 allowed 1 blocked 0 deprioritized 60 tokens | 1 allowed 0 blocked 0 deprioritized 60 tokens | +0 -1\n",
	},
	{
		"a later threshold of the history is left out, and another setting of it too: they are one document",
		func(l *memory) {
			l.use(1, "a", 550)
			l.add(2, "quota.config.settings", `{"values":{"saturationThreshold":{"value":0.9,"source":"stored"}}}`)
			l.use(3, "a", 10)
		}, `{"settings":{"saturationThreshold":0.2}}`,
		"a | 2 allowed 0 blocked 0 deprioritized 560 tokens | 1 allowed 1 blocked 0 deprioritized 550 tokens | +1 -0\n",
	},
}

// TestWhatBecomesOfARequest tells, story by story, what the side after does.
func TestWhatBecomesOfARequest(t *testing.T) {
	for _, c := range requestStories {
		t.Run(c.name, func(t *testing.T) {
			l := shared(50, 50)
			c.tell(l)
			doc := strings.TrimSuffix(c.trial, "}") + `,"from":{"seq":3}}`
			if got := rowsOf(whatIfOf(t, l, doc)); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// TestWhatIsRoutedElsewhereIsCountedThere, and for a pool that there is not nothing is.
func TestWhatIsRoutedElsewhereIsCountedThere(t *testing.T) {
	l := shared(50, 50)
	l.add(1, "quota.hold", `{"id":"h","apiKeyId":"a","requestId":"r","pool":"p","estimate":{"tokens":10,"requests":1},"leaseMs":60000,"decisionId":"h"}`)
	l.add(2, "quota.consumption", `{"apiKeyId":"a","connectionId":"c","provider":"kimi","requestId":"r","cost":{"tokens":10}}`)
	w := newWhatIf(WhatIfOptions{Options: Options{Log: l, Store: inMemory}}, trial(t, `{"pools":[{"id":"p","name":"P","provider":"glm","connections":[{"connectionId":"d"}]}],"from":{"seq":3}}`))
	defer func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := w.sides[whatif.After].p.State()
	if c, d := s.Counted("c", "a", "", quota.Tokens, quota.Hourly), s.Counted("d", "a", "", quota.Tokens, quota.Hourly); c.Curr != 0 || d.Curr != 10_000 {
		t.Errorf("after has %d on c and %d on d", c.Curr, d.Curr)
	}
	without := whatIfOf(t, l, `{"withoutPools":["p"],"from":{"seq":3}}`)
	if got := without.Rows[0].Sides[whatif.After]; got.Blocked != 1 || got.Reasons[unknownPool] != 1 || got.Served[quota.Tokens] != 0 {
		t.Errorf("without its pool: %+v", got)
	}
}

// TestWhoWaitsIsToldLater: a request that waits on one side has its verdict there when it
// comes, and what still waits at the end is none.
func TestWhoWaitsIsToldLater(t *testing.T) {
	l := &memory{}
	l.add(0, "quota.config.pool.p", `{"id":"p","name":"P","provider":"kimi","connections":[{"connectionId":"c","maxConcurrent":2}]}`)
	hold := func(ms int64, id string) {
		l.add(ms, "quota.hold", fmt.Sprintf(`{"id":%q,"apiKeyId":"a","requestId":%q,"pool":"p","maxWaitMs":60000,"estimate":{"tokens":10,"requests":1},"leaseMs":600000,"decisionId":%q}`, id, id, id))
	}
	hold(1, "h1")
	hold(2, "h2")
	l.add(3, "quota.release", `{"apiKeyId":"a","requestId":"h1"}`)
	hold(4, "h3")
	hold(5, "h4")
	r := whatIfOf(t, l, `{"pools":[{"id":"p","name":"P","provider":"kimi","connections":[{"connectionId":"c","maxConcurrent":1}]}],"from":{"seq":2}}`)
	if before, after := r.Rows[0].Sides[0], r.Rows[0].Sides[1]; before.Allowed != 3 || after.Allowed != 2 || before.Blocked+after.Blocked > 0 || r.Asked.Waiting != [2]int64{1, 2} {
		t.Errorf("before %+v, after %+v, waiting %v", before, after, r.Asked.Waiting)
	}
}

// TestTheRange is between places of the log, or its last day.
func TestTheRange(t *testing.T) {
	l := shared(50, 50) // 1 and 2
	for i := range int64(6) {
		l.use(i*usualRange/2+5, "a", 1) // 3 to 8, the last one 2.5 days later
	}
	for place, want := range map[string][2]uint64{
		`"from":{"seq":1}`:                {1, 8},
		`"from":{"seq":4},"to":{"seq":5}`: {4, 5},
		``:                                {6, 8},
		`"to":{"seq":7}`:                  {5, 7},
		fmt.Sprintf(`"from":%d`, began+5): {3, 8},
		fmt.Sprintf(`"from":%d`, began+6): {4, 8},
		fmt.Sprintf(`"from":%d,"to":%d`, began+1, began+5):          {3, 3},
		fmt.Sprintf(`"from":{"seq":2},"to":%d`, began+usualRange+4): {2, 4},
	} {
		doc := strings.Replace(`{"settings":{"maxLagMs":7},`+place+`}`, ",}", "}", 1)
		if r := whatIfOf(t, l, doc); r.From != want[0] || r.To != want[1] || r.FromAt != l.list[want[0]-1].Time || r.ToAt != l.list[want[1]-1].Time {
			t.Errorf("%s: %d at %d to %d at %d, want %v", place, r.From, r.FromAt, r.To, r.ToAt, want)
		}
	}
	for place, want := range map[string]string{
		`"to":{"seq":9}`:                  "to.seq is 9, and the log ends at 8",
		`"from":{"seq":9}`:                "from is message 9, and the range ends with message 8",
		`"from":{"seq":5},"to":{"seq":4}`: "from is message 5, and the range ends with message 4",
		fmt.Sprintf(`"to":%d`, began-10):  "to is before the log begins, which is with message 1",
	} {
		_, err := WhatIf(t.Context(), WhatIfOptions{Options: Options{Log: l, Store: inMemory}}, trial(t, `{"settings":{"maxLagMs":7},`+place+`}`))
		var faults wire.Faults
		if !errors.As(err, &faults) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", place, err, want)
		}
	}
}

// TestBlocksOfTheRange: those before it and after it are not asked about, nor those that
// no rule gave, nor the verdicts on holds.
func TestBlocksOfTheRange(t *testing.T) {
	l := shared(50, 50)
	blockedRow(l, 1, 60, "") // after message 2
	l.use(10, "a", 950)
	blockedRow(l, 11, 60, "")
	blockedRow(l, 11, 60, "").Reply.Reason = "degraded"
	blockedRow(l, 11, 60, "").Index = 0
	blockedRow(l, 11, 60, "").Reply.Allow = true
	l.use(20, "a", 1)
	blockedRow(l, 21, 60, "").Count = 3
	for place, want := range map[string]whatif.Asked{
		`"from":{"seq":3}`:                                {Consumptions: 2, Blocks: 4, Degraded: 1},
		`"from":{"seq":2},"to":{"seq":2}`:                 {Blocks: 1, Unlike: 1}, // it passed
		`"from":{"seq":4}`:                                {Consumptions: 1, Blocks: 3},
		`"from":{"seq":3},"to":{"seq":3}`:                 {Consumptions: 1, Blocks: 1, Degraded: 1},
		`"from":{"seq":1}`:                                {Consumptions: 2, Blocks: 5, Degraded: 1, Unlike: 1},
		fmt.Sprintf(`"from":%d`, began+10):                {Consumptions: 2, Blocks: 4, Degraded: 1},
		fmt.Sprintf(`"from":{"seq":3},"to":%d`, began+20): {Consumptions: 2, Blocks: 1, Degraded: 1},
	} {
		if got := whatIfOf(t, l, `{"settings":{"maxLagMs":7},`+place+`}`).Asked; got != want {
			t.Errorf("%s: %+v, want %+v", place, got, want)
		}
	}
}

// TestRulesAreChecked against those in force where the range begins.
func TestRulesAreChecked(t *testing.T) {
	l := shared(50, 50)
	l.add(1, "quota.config.pool.q", `{"id":"q","name":"Q","provider":"kimi","connections":[{"connectionId":"d"}]}`)
	l.use(2, "a", 1)
	l.add(3, "quota.config.pool.r", `{"id":"r","name":"R","provider":"kimi","connections":[{"connectionId":"e"}]}`)
	on := func(id, conn string) string {
		return fmt.Sprintf(`{"id":%q,"name":"N","provider":"kimi","connections":[{"connectionId":%q}]}`, id, conn)
	}
	for doc, want := range map[string]string{
		`"pools":[` + on("n", "c") + `]`: `pools[0].connections[0].connectionId is c, which was in pool p where the range begins`,
	} {
		_, err := WhatIf(t.Context(), WhatIfOptions{Options: Options{Log: l, Store: inMemory}}, trial(t, `{`+doc+`,"from":{"seq":4}}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", doc, err, want)
		}
	}
	for _, doc := range []string{
		`"pools":[` + on("p", "d") + `,` + on("q", "c") + `]`, // they change places
		`"pools":[` + on("n", "c") + `,` + on("p", "x") + `]`, // one makes room
		`"pools":[` + on("n", "d") + `],"withoutPools":["q"]`, // one goes
		`"pools":[` + on("p", "d") + `,` + on("q", "y") + `,` + on("n", "c") + `]`,
	} {
		whatIfOf(t, l, `{`+doc+`,"from":{"seq":4}}`)
	}
	if r := whatIfOf(t, l, `{"withoutPools":["n","r"],"from":{"seq":4}}`); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], `there was no pool "n"`) {
		t.Errorf("without pools of which one comes and one does not: %q", r.Notes)
	}
	r := whatIfOf(t, l, `{"pools":[`+on("n", "e")+`],"from":{"seq":4}}`)
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "message 5 changes quota.config.pool.r, which the rules tried do not let in") {
		t.Errorf("notes %q", r.Notes)
	}
}

// TestItBeginsWithASnapshot, forgets nothing, and says how far it is.
func TestItBeginsWithASnapshot(t *testing.T) {
	l := shared(50, 50)
	for i := range int64(20) {
		l.use(i, "a", 30)
	}
	const doc = `{"pools":[{"id":"p","name":"P","provider":"kimi","connections":[{"connectionId":"c"}],"allocations":[{"apiKeyId":"a","weight":10}]}],"from":{"seq":12}}`
	want := told(whatIfOf(t, l, doc))
	store := foldedStore(t, l)
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	if _, _, err := projected.Save(t.Context(), dir, store); err != nil {
		t.Fatal(err)
	}
	var shown [][2]uint64
	o := WhatIfOptions{
		Options: Options{Log: l, Start: starts.Local{Dir: dir}, Store: pebblestore.Temporary(t.TempDir(), nil)},
		Part:    func(done, all uint64) { shown = append(shown, [2]uint64{done, all}) },
	}
	r, err := WhatIf(t.Context(), o, trial(t, doc))
	if err != nil {
		t.Fatal(err)
	}
	if got := told(r); got != want || r.Replay.Snapshot != 8 {
		t.Errorf("from snapshot %d:\n%swant\n%s", r.Replay.Snapshot, got, want)
	}
	for i := range shown {
		if i > 0 && shown[i][0] < shown[i-1][0] {
			t.Errorf("it goes back: %v", shown)
		}
	}
	if last := shown[len(shown)-1]; last != [2]uint64{28, 28} {
		t.Errorf("it ends at %v of two times 14", last)
	}
	ended, cancel := context.WithCancel(t.Context())
	o.Pause = func(ctx context.Context) error { cancel(); return ctx.Err() }
	if _, err := WhatIf(ended, o, trial(t, doc)); !errors.Is(err, context.Canceled) {
		t.Errorf("it goes on: %v", err)
	}
}

// foldedStore is the store after message 8.
func foldedStore(t *testing.T, l *memory) projector.Store {
	p, err := Open(t.Context(), Options{Log: l, Store: inMemory}, 0)
	if err == nil {
		err = p.To(t.Context(), 8)
	}
	if err == nil {
		err = p.flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p.store
}
