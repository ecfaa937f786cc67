package projector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
)

// TestRoutesEqualTheirDumbTwin: who holds what, who waits in which order, and what the
// connections owe each other.
func TestRoutesEqualTheirDumbTwin(t *testing.T) {
	equalsTwin(t, (*routesTwin).step, []int64{1, 1, 2}, 1, "waits", "granted", "timed out", "left", "refused", "not the first", "elsewhere")
}

// equalsTwin takes many steps, after each of which the twin has the same, and in which
// all of these were seen so many times. The connection of pool q takes one of most at a
// time.
func equalsTwin(t *testing.T, step func(*routesTwin), most []int64, times int, wants ...string) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := &routesTwin{
			T: t, s: projector.NewState(memstore.New()), now: start, seen: seen, queues: map[string]*twinQueue{"p": {}, "q": {}},
			holds: map[requestName]twinHold{}, tokens: map[requestName]int64{}, settled: map[requestName]int64{},
		}
		w.pool("p", []int64{1, 1, 2}, "c1", "c2", "c3")
		w.pool("q", most, "c4")
		for range rapid.IntRange(100, 200).Draw(t, "steps") {
			w.later()
			step(w)
			w.serve()
			w.compare()
		}
	})
	for _, want := range wants {
		if seen[want] < times {
			t.Errorf("%d times %s, of %v", seen[want], want, seen)
		}
	}
}

func (w *routesTwin) pool(id string, most []int64, connections ...string) {
	list, caps := "", ""
	if id == "q" {
		caps = `,"caps":[{"unit":"tokens","window":"hourly","value":5000}]`
	}
	for _, c := range connections {
		x := &twinConn{id: c, pool: id, weight: rapid.Int64Range(1, 4).Draw(w.T, "weight"), most: rapid.SampledFrom(most).Draw(w.T, "most")}
		w.conns = append(w.conns, x)
		list += fmt.Sprintf(`,{"connectionId":%q,"weight":%d,"maxConcurrent":%d}`, c, x.weight, x.most)
	}
	w.publish("quota.config.pool."+id, fmt.Sprintf(`{"id":%q,"name":"n","provider":"custom","connections":[%s],"allocations":[{"apiKeyId":"alice","weight":30%s},{"apiKeyId":"bob","weight":2}]}`,
		id, list[1:], caps))
}

func (w *routesTwin) publish(subject, body string) {
	w.seq++
	m := events.Message{Subject: subject, Seq: w.seq, Time: w.now, Data: []byte(body)}
	if strings.HasPrefix(subject, events.ConfigPrefix) {
		m.Header = map[string][]string{"Quota-Config": {"put"}}
	}
	fold(w.T, w.s, []events.Message{m}, 1)
	if n := w.s.Counts().Rejected; n > 0 {
		w.Fatalf("%s is rejected: %s", subject, body)
	}
}

// later lets time go by.
func (w *routesTwin) later() {
	w.now += rapid.SampledFrom([]int64{0, 0, 1, 1_000, 30_000}).Draw(w.T, "gap")
	for name, h := range w.holds {
		if h.end <= w.now {
			delete(w.holds, name)
		}
	}
	w.serve()
}

func (w *routesTwin) step() {
	name := requestName{rapid.SampledFrom([]string{"alice", "alice", "bob", "carol"}).Draw(w.T, "key"), manyRequests.Draw(w.T, "request")}
	switch 24 - rapid.IntRange(0, 24).Draw(w.T, "what") { // small numbers are drawn more often
	case 0:
		w.publish("quota.due", "{}")
	case 1, 2, 4, 5, 6, 7:
		w.release(name)
	case 3:
		w.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":%q,"requestId":%q,"connectionId":"c1"}`, name.key, name.request))
		w.leave(name)
		delete(w.holds, name)
		if at, known := w.settled[name]; !known || w.now-at >= 3_600_000 {
			w.settled[name] = w.now
		}
	default:
		e := routedHold(w.T, w.seq, 0)
		e.APIKeyID, e.RequestID = name.key, name.request
		e.MaxWaitMs = rapid.SampledFrom([]int64{0, 1_000, 3_600_000, 3_600_000}).Draw(w.T, "wait")
		switch of := rapid.IntRange(0, 9).Draw(w.T, "of one"); {
		case of == 0:
			e.ConnectionID, e.Pool, e.Candidates = rapid.SampledFrom([]string{"c1", "c4", "c9"}).Draw(w.T, "conn"), "", nil
		case of < 5: // another want than those of its key, mostly
			e.ConnectionID, e.Pool = "", ""
			e.Candidates = []events.Candidate{{ConnectionID: rapid.SampledFrom([]string{"c1", "c2", "c3", "c4"}).Draw(w.T, "conn")}}
		}
		w.publish("quota.hold", string(events.AppendJSON(nil, &e)))
		w.want(&e)
	}
}

func (w *routesTwin) release(name requestName) {
	w.publish("quota.release", fmt.Sprintf(`{"apiKeyId":%q,"requestId":%q}`, name.key, name.request))
	w.leave(name)
	delete(w.holds, name)
}

func (w *routesTwin) compare() {
	holds := map[[16]byte]twinHold{}
	for name, h := range w.holds {
		holds[projector.RequestOf(name.key, name.request)] = h
	}
	got := map[[16]byte]twinHold{}
	for name, h := range w.s.OpenHolds() {
		got[name] = twinHold{h.Connection, h.End}
	}
	if d := cmp.Diff(holds, got, cmp.AllowUnexported(twinHold{})); d != "" {
		w.Fatalf("holds (-twin +state):\n%s", d)
	}
	var waits, waiting [][16]byte
	for _, pool := range []string{"p", "q"} {
		for _, k := range w.queues[pool].keys {
			for _, x := range k.waiting {
				waits = append(waits, projector.RequestOf(x.key, x.request))
			}
		}
	}
	for _, x := range w.s.Waiting() {
		waiting = append(waiting, x.Request)
	}
	if d := cmp.Diff(waits, waiting); d != "" {
		w.Fatalf("who waits (-twin +state):\n%s", d)
	}
	var credits []int64
	for _, c := range w.conns {
		credits = append(credits, c.credit)
	}
	if d := cmp.Diff(credits, append(slices.Clone(w.s.Credits("p")), w.s.Credits("q")...)); d != "" {
		w.Fatalf("credits (-twin +state):\n%s", d)
	}
}
