package decider

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// asked asks for a block of each key on the connection.
func (r *running) asked(connection string, keys ...string) {
	r.t.Helper()
	for _, k := range keys {
		if got := r.ask(questions.Question{APIKeyID: k, ConnectionID: connection}); got.Allow {
			r.t.Fatalf("%s is let pass: %+v", k, got)
		}
	}
}

func keysOf(list []questions.Record) (keys []string) {
	for i := range list {
		keys = append(keys, list[i].Question.APIKeyID)
	}
	return keys
}

// TestEveryFilter finds its rows, those that are stored and those that are not.
func TestEveryFilter(t *testing.T) {
	now := newClock()
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", atClock(now))
	r.sampling(quota.RatioOne)
	p := r.blocking("p", "c")
	began := now.ms()
	first := r.ask(questions.Question{APIKeyID: "k0", ConnectionID: "c"}).DecisionID
	equal := r.ask(questions.Question{APIKeyID: "k0", ConnectionID: "c"}).DecisionID
	now.add(blockSpan)
	r.ask(questions.Question{APIKeyID: "k1", ConnectionID: "free"})
	r.stored(1)
	now.add(blockSpan)
	r.stored(2)
	observing := *p
	observing.Mode = plans.Observe
	_, err := r.putPool(r.within(), &observing, httpapi.Meta{})
	r.must(err)
	r.ask(questions.Question{APIKeyID: "k2", Pool: "p"})
	for _, c := range []struct {
		name string
		q    httpapi.DecisionQuery
		want string
	}{
		{"none", httpapi.DecisionQuery{}, "k2 k1 k0"},
		{"key", httpapi.DecisionQuery{APIKeyID: "k1"}, "k1"},
		{"connection", httpapi.DecisionQuery{ConnectionID: "c"}, "k2 k0"},
		{"another connection", httpapi.DecisionQuery{ConnectionID: "free"}, "k1"},
		{"an unknown connection", httpapi.DecisionQuery{ConnectionID: "x"}, ""},
		{"pool", httpapi.DecisionQuery{PoolID: "p"}, "k2 k0"},
		{"decision", httpapi.DecisionQuery{DecisionID: first}, "k0"},
		{"an equal decision", httpapi.DecisionQuery{DecisionID: equal}, "k0"},
		{"block", httpapi.DecisionQuery{Kind: questions.Block}, "k0"},
		{"would-block", httpapi.DecisionQuery{Kind: questions.WouldBlock}, "k2"},
		{"allow", httpapi.DecisionQuery{Kind: questions.Allow}, "k1"},
		{"reason", httpapi.DecisionQuery{Reason: "no-pool"}, "k1"},
		{"from", httpapi.DecisionQuery{From: began + 1}, "k2 k1"},
		{"to", httpapi.DecisionQuery{To: began + blockSpan}, "k0"},
		{"from and to", httpapi.DecisionQuery{From: began + 1, To: began + 2*blockSpan}, "k1"},
		{"long ago", httpapi.DecisionQuery{To: began - 3_600_000}, ""},
		{"much later", httpapi.DecisionQuery{From: began + 3_600_000}, ""},
	} {
		if got := strings.Join(keysOf(r.listed(c.q)), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestPagesHaveNoHolesAndNothingTwice, with rows that are not stored at first and
// stored later, rows of another process in between, and new ones all the time.
func TestPagesHaveNoHolesAndNothingTwice(t *testing.T) {
	for _, limit := range []int{1, 3, 7, 1000} {
		nc := startLog(t, t.TempDir())
		now := newClock()
		a, b := start(t, nc, t.TempDir()+"/a", atClock(now)), start(t, nc, t.TempDir()+"/b", atClock(now))
		a.blocking("p", "c", "d")
		_, err := b.State(b.within(), a.Applied(), false)
		b.must(err)
		want, messages := map[string]int{}, 0
		ask := func(r *running, connection string, n int) {
			for range n {
				key := fmt.Sprint("k", len(want))
				r.asked(connection, key)
				want[key] = 1
			}
		}
		settle := func() {
			now.add(blockSpan)
			messages += 4
			a.stored(messages)
		}
		for range 3 { // four messages each time
			for _, r := range []*running{a, b} {
				ask(r, "c", 2)
				ask(r, "d", 1)
			}
			settle()
		}
		ask(a, "c", 5) // not stored when the first page is read
		ask(a, "d", 4)
		got, pages := map[string]int{}, 0
		q := httpapi.DecisionQuery{Limit: limit}
		for ctx := a.within(); ; {
			page, next, err := a.Decisions(ctx, &q)
			a.must(err)
			for _, key := range keysOf(page) {
				if !strings.HasPrefix(key, "new") {
					got[key]++
				}
			}
			if next == nil {
				break
			}
			q.Before = next
			if pages++; pages < 4 { // what was not stored is now, and other rows come
				for _, r := range []*running{a, b} {
					r.asked("c", fmt.Sprint("new ", pages))
				}
				now.add(blockSpan)
				a.awaitEmpty()
				b.awaitEmpty()
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages of %d: rows (-want +got):\n%s", limit, diff)
		}
	}
}

// TestWhatIsStoredBeforeThatIsKnown is listed once, also when it becomes known
// between two pages.
func TestWhatIsStoredBeforeThatIsKnown(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) {
		e.changeDecisions = func(w *decisionsWriter) { w.every = time.Hour } // the test publishes
	})
	r.blocking("p", "c")
	for _, limit := range []int{1, 2, 3, 5, 1000} {
		for known := range 7 {
			r.asked("c", "k0", "k1", "k2", "k3", "k4")
			flight, number := r.decisions.take(0, true)
			w := decisionsWriter{rows: r.decisions, most: 1 << 20}
			for _, b := range w.batches(flight, number) {
				_, err := r.js.PublishMsg(r.within(), b.msg)
				r.must(err)
			}
			got := map[string]int{}
			q := httpapi.DecisionQuery{Limit: limit, From: flight[0].Time}
			ctx := r.within()
			for page := 0; ; page++ {
				if page == known {
					r.decisions.landed()
				}
				list, next, err := r.Decisions(ctx, &q)
				r.must(err)
				for i := range list {
					got[list[i].Reply.DecisionID]++
				}
				if q.Before = next; next == nil {
					break
				}
			}
			for _, row := range flight {
				if n := got[row.Reply.DecisionID]; n != 1 {
					t.Errorf("pages of %d, known at page %d: %s is there %d times", limit, known, row.Question.APIKeyID, n)
				}
			}
			r.decisions.landed()
		}
	}
}

// awaitEmpty waits until every row is stored.
func (r *running) awaitEmpty() {
	r.t.Helper()
	for ctx := r.within(); ; {
		if list, _ := r.decisions.unstored(); len(list) == 0 {
			return
		}
		r.must(ctx.Err())
	}
}

// TestALongLogIsReadBackwards, sparse and dense, whatever the pages.
func TestALongLogIsReadBackwards(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	js, err := jetstream.New(nc)
	r.must(err)
	const messages, each = 3000, 3
	var last jetstream.PubAckFuture
	for i := range messages {
		connection, list := "busy", make([]questions.Record, each)
		if i%500 == 7 {
			connection = "rare"
		}
		for k := range list {
			list[k] = questions.Record{
				Time: 1_790_000_000_000 + int64(i), Index: questions.FromView, Count: 1, ConnectionID: connection, Process: "p",
				Question: questions.Question{APIKeyID: fmt.Sprint("k", i*each+k), ConnectionID: connection, MaxWaitMs: -1},
				Reply:    questions.Reply{DecisionID: fmt.Sprintf("p-%d", i), Reason: "suspended", AsOf: questions.AsOf{Time: 1_790_000_000_000}},
			}
			list[k].Reply.HTTPStatus = 429
		}
		last, err = js.PublishAsync(decisionSubject(connection), questions.AppendRecords(nil, list))
		r.must(err)
	}
	r.acked(last)
	await(t, js.PublishAsyncComplete(), "the word of the broker on all before the last")
	for _, c := range []struct {
		q    httpapi.DecisionQuery
		want int
	}{
		{httpapi.DecisionQuery{Limit: 1000}, messages * each},
		{httpapi.DecisionQuery{Limit: 700}, messages * each},
		{httpapi.DecisionQuery{Limit: 1000, ConnectionID: "rare"}, 6 * each},
		{httpapi.DecisionQuery{Limit: 4, ConnectionID: "rare"}, 6 * each},
		{httpapi.DecisionQuery{Limit: 1000, DecisionID: "p-0"}, each},
		{httpapi.DecisionQuery{Limit: 1000, APIKeyID: "k4500"}, 1},
		{httpapi.DecisionQuery{Limit: 1000, From: 1_790_000_000_000 + messages - 10}, 10 * each},
	} {
		seen := map[string]int{}
		list := r.listed(c.q)
		for _, key := range keysOf(list) {
			seen[key]++
		}
		if len(list) != c.want || len(seen) != c.want {
			t.Errorf("%+v: %d rows of %d keys, want %d", c.q, len(list), len(seen), c.want)
		}
	}
}

// TestStrayMessagesHideNoDecision, and are said.
func TestStrayMessagesHideNoDecision(t *testing.T) {
	now := newClock()
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", atClock(now))
	r.blocking("p", "c")
	r.asked("c", "k0")
	now.add(blockSpan)
	r.stored(1)
	for _, body := range []string{"no JSON", `[{"count":1}]`, `{}`, `[]`} {
		_, err := r.send("quota.decisions.stray", []byte(body))
		r.must(err)
	}
	if got := keysOf(r.listed(httpapi.DecisionQuery{Limit: 10})); len(got) != 1 {
		t.Errorf("listed are %v", got)
	}
	if said := r.said.String(); strings.Count(said, "quota.decisions.stray") != 3 || !strings.Contains(said, "process is missing") {
		t.Errorf("said was %s", said)
	}
}

// TestTheBrokerIsAwayAndBack: rows are tried again, said once, and stored once.
func TestTheBrokerIsAwayAndBack(t *testing.T) {
	nc := startLog(t, t.TempDir())
	now := newClock()
	r := start(t, nc, t.TempDir()+"/state", atClock(now))
	r.blocking("p", "c")
	cfg := ingest.Configs(14, 1)[2]
	r.must(r.js.DeleteStream(r.within(), cfg.Name))
	r.asked("c", "k0")
	now.add(blockSpan)
	r.awaitSaid("decisions cannot be recorded")
	r.asked("c", "k1")
	now.add(blockSpan)
	_, err := r.js.CreateStream(r.within(), cfg)
	r.must(err)
	list := r.stored(2)
	r.awaitSaid("decisions are recorded again")
	if n := strings.Count(r.said.String(), "cannot be recorded"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
	if a, b := string(list[0].Data()), string(list[1].Data()); !strings.Contains(a, `"k0"`) || !strings.Contains(b, `"k1"`) {
		t.Errorf("stored are %s and %s", a, b)
	}
	r.awaitEmpty()
	if got := keysOf(r.listed(httpapi.DecisionQuery{})); strings.Join(got, " ") != "k1 k0" || r.decisions.stored.Load() != 2 {
		t.Errorf("listed are %v, counted %d", got, r.decisions.stored.Load())
	}
}

// TestWhatTheBrokerDoesNotTakeIsCounted, after it was tried long enough.
func TestWhatTheBrokerDoesNotTakeIsCounted(t *testing.T) {
	now := newClock()
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) {
		atClock(now)(e)
		e.changeDecisions = func(w *decisionsWriter) {
			soon(w)
			w.giveUp = 0
		}
	})
	r.blocking("p", "c")
	r.must(r.js.DeleteStream(r.within(), ingest.DecisionsStream))
	r.asked("c", "k0", "k1")
	now.add(blockSpan)
	r.awaitEmpty()
	if n := r.decisions.dropped.Load(); n != 2 {
		t.Errorf("%d rows were dropped, want 2", n)
	}
}

// TestTheEndStoresWhatThereIs, over or not, and another process lists it.
func TestTheEndStoresWhatThereIs(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	r.blocking("p", "c")
	r.asked("c", "k0", "k1", "k0")
	r.stop()
	r = start(t, nc, r.dir, nil)
	if got := lined(r.listed(httpapi.DecisionQuery{Limit: 5})); len(got) != 2 || !strings.HasPrefix(got[0], "k1") || !strings.HasSuffix(got[1], "×2") {
		t.Errorf("after a restart: %v", got)
	}
}

// TestMessagesOfRows: a flight is one message for each connection, as far as rows
// and bytes allow, each under an id of its own.
func TestMessagesOfRows(t *testing.T) {
	d := newDecisions("p")
	for i := range 2*maxRows + 1 {
		q := questions.Question{APIKeyID: fmt.Sprint("k", i), ConnectionID: "c"}
		r := questions.Reply{Reason: "suspended", DecisionID: "p-1", HTTPStatus: 429, AsOf: questions.AsOf{Time: 1_790_000_000_000}}
		d.add(&q, &r, &about{index: questions.FromView, connection: []string{"", "c"}[min(i, 1)]}, r.AsOf.Time)
	}
	flight, number := d.take(1_790_000_005_000, false)
	w := decisionsWriter{rows: d, most: 1 << 20}
	var got []string
	for _, b := range w.batches(flight, number) {
		rows, err := questions.ParseRecords(b.msg.Data)
		if err != nil || len(rows) != b.rows || len(b.msg.Data) > 1<<20 {
			t.Errorf("%s has %d rows, %d were meant: %v", b.msg.Subject, len(rows), b.rows, err)
		}
		got = append(got, fmt.Sprintf("%s %s %d", b.msg.Subject, b.msg.Header.Get(events.HeaderMsgID), b.rows))
	}
	want := []string{"quota.decisions._ p.1.0 1", "quota.decisions.c p.1.1 1000", "quota.decisions.c p.1.2 1000"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	one := len(flight[5].AppendJSON(nil)) + 2
	if _, n := pack(flight[5:], one); n != 1 {
		t.Errorf("%d rows where one has room", n)
	}
	if data, n := pack(flight[5:], 2*one-1); n != 2 || len(data) != 2*one-1 {
		t.Errorf("%d rows in %d bytes where two have room", n, len(data))
	}
	if _, n := pack(flight[5:], 2*one-2); n != 1 {
		t.Errorf("%d rows where a byte is missing for two", n)
	}
	if _, n := pack(flight[5:], 1); n != 1 {
		t.Errorf("%d rows where none has room, want one that the broker refuses", n)
	}
}
