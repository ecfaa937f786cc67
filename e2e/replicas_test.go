package e2e

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/internal/enginetest"
)

// replica is one of several engines over a log, with its own API and store.
type replica struct {
	*engine
	url string
}

func startReplica(t *testing.T, nc *nats.Conn) *replica {
	t.Helper()
	r := &replica{engine: startEngine(t, nc, filepath.Join(t.TempDir(), "store"))}
	r.awaitReady()
	h, err := httpapi.New(httpapi.Config{Engine: r.Engine, Publisher: enginetest.Intake(t, nc), Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// writer is a person at one of the replicas.
type writer struct {
	t         *testing.T
	name      string
	url       string
	untilDone bool // reads again and repeats after a lost race; else gives up
	d         *rand.Rand
}

// edit is a patch that was accepted.
type edit struct {
	pool   string
	actor  string
	reason string
	seen   string // the revision it was made for
	patch  object
	answer object
}

// send returns status, ETag and body.
func (w *writer) send(method, path, ifMatch, reason, body string) (status int, tag string, answer object) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(deadline(w.t), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("X-Quota-Actor", w.name)
	r.Header.Set("X-Quota-Reason", reason)
	if ifMatch != "" {
		r.Header.Set("If-Match", ifMatch)
	}
	got, err := client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	decode(w.t, string(data), &answer)
	return got.StatusCode, got.Header.Get("ETag"), answer
}

// read makes a patch of what the writer sees, for the revision they see.
func (w *writer) read(pool, reason string) *edit {
	w.t.Helper()
	status, tag, answer := w.send("GET", apiPath("pools", pool), "", "", "")
	if status != 200 {
		w.t.Errorf("GET %s: %d %v", pool, status, answer)
	}
	return &edit{pool: pool, actor: w.name, reason: reason, seen: tag, patch: w.patch(answer["pool"].(object), reason)}
}

// patch adds 1 to the writer's own weight, in the list of everybody's that was
// read: what another writer did since would be lost. Some change more.
func (w *writer) patch(doc object, reason string) object {
	var list []any
	for _, one := range doc["allocations"].([]any) {
		a := maps.Clone(one.(object))
		if a["apiKeyId"] == w.name {
			a["weight"] = a["weight"].(float64) + 1
		}
		list = append(list, a)
	}
	p := object{"allocations": list}
	if w.d.IntN(2) == 0 {
		p["name"] = w.name + " in " + reason
	}
	if w.d.IntN(4) == 0 {
		p["mode"] = []string{"enforce", "observe", "off"}[w.d.IntN(3)]
	}
	return p
}

// try sends the patch, and reports whether it is in force.
func (w *writer) try(e *edit, all *edits) bool {
	w.t.Helper()
	status, tag, answer := w.send("PATCH", apiPath("pools", e.pool), e.seen, e.reason, text(w.t, e.patch))
	switch {
	case status == 200:
		e.answer = answer["pool"].(object)
		all.accept(w.t, tag, e)
		return true
	case status != 412 || answer["error"].(object)["code"] != "lost-race":
		w.t.Errorf("%s, %s: %d %v", w.name, e.reason, status, answer)
	}
	return false
}

// edits are the accepted patches by revision.
type edits struct {
	mu   sync.Mutex
	list map[uint64]*edit
}

func (all *edits) accept(t *testing.T, tag string, e *edit) {
	t.Helper()
	revision, err := strconv.ParseUint(strings.Trim(tag, `"`), 10, 64)
	if err != nil {
		t.Errorf("the answer's ETag: %v", err)
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.list[revision] != nil {
		t.Errorf("two patches are revision %d", revision)
	}
	all.list[revision] = e
}

// round lets every writer patch what they see at the same time: one wins. Those
// of the others who do not give up then go on until they win.
func (all *edits) round(t *testing.T, writers []*writer, pool, reason string) {
	t.Helper()
	tried := make([]*edit, len(writers))
	for i, w := range writers {
		tried[i] = w.read(pool, reason)
	}
	won := make([]bool, len(writers))
	together(writers, func(i int, w *writer) { won[i] = w.try(tried[i], all) })
	if n := strings.Count(fmt.Sprint(won), "true"); n != 1 {
		t.Errorf("%s: %d of %d patches for one revision won: %v", reason, n, len(writers), won)
	}
	together(writers, func(i int, w *writer) {
		for again := !won[i] && w.untilDone; again; {
			again = !w.try(w.read(pool, reason), all)
		}
	})
}

func together(writers []*writer, do func(int, *writer)) {
	var all sync.WaitGroup
	for i, w := range writers {
		all.Go(func() { do(i, w) })
	}
	all.Wait()
}

// 50 rounds of four writers at two replicas are 200 patches for a revision that
// somebody else may have changed, and those that are repeated.
func TestTwoReplicasNeverLoseAnUpdate(t *testing.T) {
	b := brokertest.StartAgain(t)
	nc := b.Connect()
	js := brokertest.Streams(t, nc)
	left, right := startReplica(t, nc), startReplica(t, nc)
	d := dice(t)
	var writers []*writer
	for i, r := range []*replica{left, right, left, right} {
		writers = append(writers, &writer{
			t: t, url: r.url, name: []string{"ann", "ben", "cem", "dan"}[i], untilDone: i < 2, d: rand.New(rand.NewPCG(d.Uint64(), 0)),
		})
	}
	pools := []string{"p-0", "p/1", "p.2"}
	for i, id := range pools {
		doc := object{"id": id, "name": id, "provider": "custom", "connectionIds": []string{fmt.Sprint("c-", i)}, "allocations": shares(t, "ann 0", "ben 0", "cem 0", "dan 0")}
		if status, _, answer := writers[i].send("POST", apiPath("pools"), "", "", text(t, doc)); status != 201 {
			t.Fatal(answer)
		}
	}
	right.at(uint64(len(pools)))
	left.at(uint64(len(pools)))

	all := &edits{list: map[uint64]*edit{}}
	for i := range 50 {
		all.round(t, writers, pools[i%len(pools)], fmt.Sprint("round ", i))
	}
	entries := logged(t, js, uint64(len(pools)+len(all.list)))
	all.mustBeIn(t, entries, len(pools))
	a, z := left.at(uint64(len(entries))), right.at(uint64(len(entries)))
	if a.AppliedSeq != uint64(len(entries)) || a.AppliedSeq != z.AppliedSeq || a.Digest != z.Digest || a.Counts != z.Counts {
		t.Errorf("the replicas are at\n%+v, and\n%+v, after %d events", a, z, len(entries))
	}
	mustEqualFreshFold(t, nc, a)
	for _, r := range []*replica{left, right} {
		r.mustHave(t, entries, pools)
	}
	all.mustHaveLostAndRepeated(t)
}

// entry is a configuration event.
type entry struct {
	Seq           uint64
	Kind, ID      string
	Change        string
	Actor, Reason string
	Document      object
}

// mustBeIn compares the patches with the history: each once, in its place, and
// the document made of the one before.
func (all *edits) mustBeIn(t *testing.T, entries []entry, created int) {
	t.Helper()
	now := map[string]entry{}
	for i, e := range entries {
		was, edit := now[e.ID], all.list[e.Seq]
		now[e.ID] = e
		if i < created {
			continue
		}
		if edit == nil || edit.pool != e.ID || edit.actor != e.Actor || edit.reason != e.Reason {
			t.Fatalf("event %d is %+v, the patch with that revision %+v", e.Seq, e, edit)
		}
		if want := fmt.Sprintf("%q", fmt.Sprint(was.Seq)); edit.seen != want {
			t.Errorf("revision %d was made for revision %s and follows %s: an update is lost", e.Seq, edit.seen, want)
		}
		want := maps.Clone(was.Document)
		maps.Copy(want, edit.patch) // no field is null and none an object, so this merges
		for name, got := range map[string]object{"the log": e.Document, "the answer": edit.answer} {
			if diff := cmp.Diff(own(want), own(got)); diff != "" {
				t.Errorf("revision %d in %s (- patched, + is):\n%s", e.Seq, name, diff)
			}
		}
	}
	if got := len(entries) - created; got != len(all.list) {
		t.Errorf("%d events, %d accepted patches", got, len(all.list))
	}
}

// own returns the fields of a pool that are not the server's.
func own(doc object) object {
	doc = maps.Clone(doc)
	for _, name := range []string{"connectionIds", "revision", "updatedAt", "actor", "reason", "enforcing", "warnings"} {
		delete(doc, name)
	}
	return doc
}

// mustHaveLostAndRepeated: in each round three of four lose, of whom the two
// kinds do what they do.
func (all *edits) mustHaveLostAndRepeated(t *testing.T) {
	t.Helper()
	by := map[string]int{}
	for _, e := range all.list {
		by[e.actor]++
	}
	if by["ann"] != 50 || by["ben"] != 50 {
		t.Errorf("who repeats until it is done was accepted %v times, want 50 each", by)
	}
	if gaveUp := 100 - by["cem"] - by["dan"]; gaveUp < 50 {
		t.Errorf("%d patches were given up, want 50 or more: one wins a round", gaveUp)
	}
}
