package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// claims asks for one point of the provider's 100 each.
func claims(prefix, key string, n int) []object {
	list := requests(prefix, key, "c", n)
	for _, q := range list {
		q["estimate"] = object{"percent": 1}
	}
	return list
}

// promises are two deciders, each a program, over one log with a pool of the rule
// guarantee.
type promises struct {
	operator
	front    *process
	dirs     [2]string
	deciders [2]*process
	clients  []*nats.Conn
}

func startPromises(t *testing.T) *promises {
	t.Helper()
	x := &promises{dirs: [2]string{t.TempDir(), t.TempDir()}}
	x.front = start(t, "ingest", "--data-dir", t.TempDir(), "--nats-addr", brokertest.FreeAddr(t), "--http-addr", "127.0.0.1:0", "--sync", "100ms")
	for i := range x.deciders {
		x.start(t, i)
	}
	for _, p := range x.deciders {
		p.awaitReady()
	}
	x.clients = connections(t, x.front.nats, 8)
	return x
}

func (x *promises) start(t *testing.T, i int) {
	t.Helper()
	x.deciders[i] = start(t, "decider", "--data-dir", x.dirs[i], "--store-nats-url", x.front.nats, "--http-addr", "127.0.0.1:0")
	x.operator = operator{x.deciders[0]}
}

// killed kills both deciders; they come back over their stores, with one state.
func (x *promises) killed() {
	t := x.t
	t.Helper()
	for i, p := range x.deciders {
		p.kill()
		x.start(t, i)
	}
	for _, p := range x.deciders {
		p.awaitReady()
	}
	last := lastSeq(t, x.front.nats)
	if a, b := x.deciders[0].at(last), x.deciders[1].at(last); a.Digest != b.Digest {
		t.Errorf("killed and started again they have digests %s and %s", a.Digest, b.Digest)
	}
}

// rush asks all at once, over NATS and over HTTP of both deciders, and returns what was
// let pass.
func (x *promises) rush(qs []object) []reply {
	t := x.t
	t.Helper()
	rs := make([]reply, len(qs))
	ways := make([]chan int, len(x.clients)+2*len(x.deciders))
	var all sync.WaitGroup
	for way := range ways {
		ways[way] = make(chan int, len(qs))
		all.Go(func() {
			for i := range ways[way] {
				if way < len(x.clients) {
					rs[i] = parseReply(t, request(t, x.clients[way], "quota.decide", text(t, qs[i])))
				} else {
					rs[i] = x.deciders[way%2].reply(qs[i])
				}
			}
		})
	}
	for i := range qs {
		ways[i%len(ways)] <- i
	}
	for _, way := range ways {
		close(way)
	}
	all.Wait()
	for i, r := range rs {
		if len(r.Degraded) > 0 || r.RequestID != qs[i]["requestId"] {
			t.Errorf("%v is answered %+v", qs[i], r)
		}
	}
	return admitted(rs)
}

// mustPass compares how many of what is asked at once is let pass, by key and detail.
func (x *promises) mustPass(want string, qs ...[]object) (passed []reply) {
	x.t.Helper()
	var parts []string
	var mixed []object
	for i := range max(len(qs[0]), len(qs[len(qs)-1])) {
		for _, of := range qs {
			if i < len(of) {
				mixed = append(mixed, of[i])
			}
		}
	}
	passed = x.rush(mixed)
	for _, of := range qs {
		key := fmt.Sprint(of[0]["apiKeyId"])
		n := 0
		for _, r := range passed {
			if strings.HasPrefix(r.RequestID, key) {
				n++
			}
		}
		parts = append(parts, fmt.Sprintf("%s %d of %d", key, n, len(of)))
	}
	if got := strings.Join(parts, ", "); got != want {
		x.t.Errorf("%s pass, want %s", got, want)
	}
	return passed
}

// provider lets the account's provider say how much is used, half a window before its
// reset.
func (x *promises) provider(used string, reset int64) {
	x.t.Helper()
	x.consume(reading("c", "5h", used, reset, time.Now().UnixMilli()))
}

// promised is what a decider says of a key, all of it under the rule guarantee.
func (x *promises) promised(key string) string {
	x.t.Helper()
	var said struct {
		Detail, Message string
		Dimensions      []struct {
			Mode                              string
			Consumed, Held, Promised, Kept    json.Number
			Headroom, Remaining, HeldTotal    json.Number
			ConsumedTotal, FairShare, Deficit json.Number
		}
	}
	decode(x.t, x.send("POST", apiPath("decide"), object{"apiKeyId": key, "connectionId": "c", "explain": true, "estimate": object{"percent": 1}}), &said)
	d := said.Dimensions[0]
	for name, n := range map[string]json.Number{"promised": d.Promised, "kept": d.Kept, "headroom": d.Headroom} {
		if n == "" {
			x.t.Errorf("%s is not told what is %s", key, name)
		}
	}
	return fmt.Sprintf("%s %s: %s and %s of %s and %s, promised %s, kept %s, headroom %s, remaining %s",
		d.Mode, said.Detail, d.Consumed, d.Held, d.ConsumedTotal, d.HeldTotal, whole(d.Promised), whole(d.Kept), d.Headroom, whole(d.Remaining))
}

// whole are the whole points: the rest falls by one in some minutes.
func whole(n json.Number) string {
	points, _, _ := strings.Cut(n.String(), ".")
	return points
}

func (x *promises) mustPromise(key, want string) {
	x.t.Helper()
	if got := x.promised(key); got != want {
		x.t.Errorf("%s is told\n%s, want\n%s", key, got, want)
	}
}

// A key floods from everywhere, and leaves what the rule promises to another one that
// comes late, however it is told what was used, and by deciders that were killed too. What
// was answered follows from the log, and is explained.
func TestALateComerGetsWhatIsPromised(t *testing.T) {
	x := startPromises(t)
	x.plan("c", "percent/5h 100")
	x.send("PUT", apiPath("settings"), object{"decisionSampleRate": 1})
	x.send("POST", apiPath("pools"), object{
		"id": "p", "name": "p", "provider": "custom", "rule": "guarantee", "connectionIds": []string{"c"},
		"allocations": shares(t, "greedy 50", "late 50"),
	})
	reset := time.Now().UnixMilli() + 5*hours/2
	x.provider("0", reset)
	from := lastSeq(t, x.front.nats)
	flood := x.mustPass("greedy 75 of 96", claims("greedy-1-", "greedy", 96))
	x.mustPromise("greedy", "guarantee reserved: 0 and 75 of 0 and 75, promised 0, kept 24, headroom 4.6875, remaining 0")
	x.mustPromise("late", "guarantee guaranteed: 0 and 0 of 0 and 75, promised 24, kept 0, headroom 0, remaining 25")
	x.mustTell()
	x.killed()
	// What was held is used, and then known from the provider alone.
	var uses []object
	for _, r := range flood {
		uses = append(uses, settlement("greedy", "c", r, object{"requests": 1, "tokens": 10}))
	}
	publishAll(t, jetStream(t, x.clients[0]), uses)
	x.provider("75", reset)
	x.mustPromise("late", "guarantee guaranteed: 0 and 0 of 75 and 0, promised 24, kept 0, headroom 0, remaining 25")
	x.mustPass("greedy 0 of 40, late 24 of 24", claims("greedy-2-", "greedy", 40), claims("late-1-", "late", 24))
	x.killed()
	// One point is nobody's: it goes to the one that has used less.
	x.mustPass("greedy 0 of 12, late 1 of 12", claims("greedy-3-", "greedy", 12), claims("late-2-", "late", 12))
	x.mustPromise("late", "guarantee : 0 and 25 of 75 and 25, promised 0, kept 0, headroom 0, remaining 0")
	x.audited(from)
}

// mustTell waits until the blocks of the flood are recorded, which a decider that is
// killed before their second is over does not do.
func (x *promises) mustTell() {
	x.t.Helper()
	blocks := ""
	for ctx := deadline(x.t); !strings.Contains(blocks, `"detail":"reserved"`); {
		if ctx.Err() != nil {
			x.t.Fatalf("the blocks are\n%s", blocks)
		}
		blocks = run(x.t, "quotashare", "decisions", "--key", "greedy", "--reason", "fair-share", "--json", "--http-addr", strings.TrimPrefix(x.http, "http://"))
	}
	if strings.Contains(blocks, `"decision":"allow"`) {
		x.t.Errorf("the blocks are\n%s", blocks)
	}
}

// audited stops the deciders, and audits the log.
func (x *promises) audited(from uint64) {
	t := x.t
	t.Helper()
	for _, p := range x.deciders {
		p.stop()
	}
	var proved struct {
		Decisions struct{ Answers, Same, Different uint64 }
		Holds     struct{ Verdicts, Agreed, Different uint64 }
	}
	decode(t, run(t, "quotashare", "verify", "--store-nats-url", x.front.nats, "--json"), &proved)
	if d, h := proved.Decisions, proved.Holds; d.Different+h.Different > 0 || d.Same < 20 || h.Agreed < 100 {
		t.Errorf("verify says %+v", proved)
	}
	file := filepath.Join(t.TempDir(), "threshold.json")
	pool := object{"id": "p", "name": "p", "provider": "custom", "connectionIds": []string{"c"}, "allocations": shares(t, "greedy 50", "late 50")}
	if err := os.WriteFile(file, []byte(text(t, object{"pools": []object{pool}})), 0o600); err != nil {
		t.Fatal(err)
	}
	said := run(t, "quotashare", "whatif", "-f", file, "--from", fmt.Sprint(from), "--store-nats-url", x.front.nats)
	if !strings.Contains(strings.Join(strings.Fields(said), " "), " greedy 75 -> 51 ") {
		t.Errorf("under the rule threshold it would have been\n%s", said)
	}
}
