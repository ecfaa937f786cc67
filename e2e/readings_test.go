package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// minutes and hours are in the milliseconds of the engine.
const (
	minutes = int64(60_000)
	hours   = 60 * minutes
)

// ago is an instant before now, in whole seconds: what headers can say.
func ago(ms int64) int64 { return (time.Now().UnixMilli() - ms) / 1000 * 1000 }

// rfc is an instant as it is in answers.
func rfc(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// reading is an event: at that time the provider says so of a window. A reset of
// 0 is not said.
func reading(connection, window, usedPercent string, reset, at int64) object {
	r := object{"window": window, "usedPercent": json.Number(usedPercent)}
	if reset != 0 {
		r["resetAt"] = reset
	}
	return object{"type": "quota.saturation", "connectionId": connection, "time": at, "readings": []object{r}}
}

// codexPool creates a pool of Codex accounts, with the catalogue's plan: percent
// of 5 hours and of a week.
func (o operator) codexPool(id string, connections []string, allocations ...string) {
	o.t.Helper()
	o.send("POST", apiPath("pools"), object{
		"id": id, "name": id, "provider": "codex", "connectionIds": connections, "allocations": shares(o.t, allocations...),
	})
}

// judgement is what these tests read of an answer.
type judgement struct {
	Decision, Reason, Scope, Message string
	RetryAt                          string
	Alternatives                     []string
	Dimensions                       []judgedDimension
	Degraded                         []string
	Error                            any
}

type judgedDimension struct {
	Window, Mode, ResetAt                            string
	FairShare, Consumed, ConsumedTotal, ProviderUsed json.Number
}

// String is decision, reason and who else is free, as most tests compare it.
func (v *judgement) String() string {
	s := v.Decision + " " + v.Reason
	if v.RetryAt != "" {
		s += " until " + v.RetryAt
	}
	if len(v.Alternatives) > 0 {
		s += ", free: " + strings.Join(v.Alternatives, " ")
	}
	return s
}

// judge asks about a connection, or pool, at an instant.
func (o operator) judge(key string, target object, at int64) *judgement {
	o.t.Helper()
	target["apiKeyId"], target["at"], target["explain"] = key, at, true
	v := new(judgement)
	decode(o.t, o.send("POST", apiPath("decide"), target), v)
	if v.Error != nil || len(v.Degraded) > 0 {
		o.t.Fatalf("%v: %v, degraded %v", target, v.Error, v.Degraded)
	}
	return v
}

func (o operator) mustJudge(key string, target object, at int64, want string) *judgement {
	o.t.Helper()
	v := o.judge(key, target, at)
	if v.String() != want {
		o.t.Errorf("%s on %v: %s, want %s", key, target, v, want)
	}
	return v
}

func account(id string) object { return object{"connectionId": id} }

// mustHavePoints compares what a key has of the 5 hours, what all have, and what
// the provider says.
func (o operator) mustHavePoints(v *judgement, key, all, provider string) {
	o.t.Helper()
	d := v.Dimensions[0]
	if d.Window != "5h" || d.Consumed.String() != key || d.ConsumedTotal.String() != all || d.ProviderUsed.String() != provider {
		o.t.Errorf("%s of %s, the provider says %q; want %s of %s, and %q", d.Consumed, d.ConsumedTotal, d.ProviderUsed, key, all, provider)
	}
}

// signals returns what a pool's usage shows of its providers, without what
// connection it is of.
func (o operator) signals(pool string) map[string][]object {
	o.t.Helper()
	var doc struct {
		Usage struct{ Signals []object }
	}
	decode(o.t, o.mustCall("GET", apiPath("pools", pool, "usage"), ""), &doc)
	by := map[string][]object{}
	for _, s := range doc.Usage.Signals {
		id := s["connectionId"].(string)
		delete(s, "connectionId")
		by[id] = append(by[id], s)
	}
	return by
}

// Two keys share a Codex account half and half, and nobody counts points: of the
// 60 that were observed, 54 are alice's. When the provider's window ends, both
// have nothing, to the millisecond.
func TestFairShareOnACodexPlan(t *testing.T) {
	o := newOperator(t)
	o.codexPool("team", []string{"codex-1"}, "alice 50 hard", "bob 50 hard")
	began := ago(3 * hours)
	reset := began + 2*hours
	seen := began + 2*minutes
	o.consume(
		reading("codex-1", "5h", "10", reset, began),
		used("alice", "codex-1", "tokens", "900", began+minutes),
		used("bob", "codex-1", "tokens", "100", began+minutes),
		reading("codex-1", "5h", "70", reset, seen),
	)
	for _, at := range []int64{seen, reset - 1} {
		v := o.mustJudge("alice", account("codex-1"), at, "block fair-share until "+rfc(reset))
		o.mustHavePoints(v, "54", "70", "70")
		if d := v.Dimensions[0]; d.FairShare != "50" || d.Mode != "strict" || d.ResetAt != rfc(reset) {
			t.Errorf("the share is %s, %s, until %s", d.FairShare, d.Mode, d.ResetAt)
		}
		o.mustHavePoints(o.mustJudge("bob", account("codex-1"), at, "allow ok"), "6", "70", "70")
	}
	for _, key := range []string{"alice", "bob"} {
		o.mustHavePoints(o.mustJudge(key, account("codex-1"), reset, "allow ok"), "0", "0", "")
	}

	o.consume(
		used("bob", "codex-1", "tokens", "100", reset+minutes),
		reading("codex-1", "5h", "4", reset+5*hours, reset+2*minutes),
	)
	stand := o.usage("team").Dimensions[0]
	if got, want := stand.String(), "percent/5h 4 of 100; alice 0 of 50; bob 4 of 50"; got != want {
		t.Errorf("the next window stands at %s, want %s", got, want)
	}
}

// A stream of 90,000 tokens reports them at its end, when the provider has said
// every rise beside ten short calls of 1,000: a tenth of the points is theirs.
func TestALongStreamBesideShortCalls(t *testing.T) {
	o := newOperator(t)
	o.codexPool("team", []string{"c"}, "stream 50", "short 50")
	began := ago(hours)
	reset := began + 4*hours
	events := []object{reading("c", "5h", "20", reset, began)}
	for i := int64(1); i <= 10; i++ {
		events = append(events,
			used("short", "c", "tokens", "1000", began+i*minutes),
			reading("c", "5h", fmt.Sprint(20+5*i), reset, began+i*minutes+1))
	}
	o.consume(append(events, used("stream", "c", "tokens", "90000", began+11*minutes))...)
	stand := o.usage("team").Dimensions[0]
	if got, want := stand.String(), "percent/5h 70 of 100; stream 45 of 50; short 5 of 50"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// An account that its provider calls used up blocks whoever asks for it, and the
// answer names the account that is free.
func TestAnAccountAtItsEndSendsToAnother(t *testing.T) {
	o := newOperator(t)
	o.codexPool("team", []string{"full", "free"}, "hard 20 hard", "soft 20 soft", "burst 20 burst")
	at := ago(minutes)
	reset := at + 2*hours
	o.consume(reading("full", "5h", "99.999999", reset, at-1))
	o.mustJudge("hard", account("full"), at, "allow ok, free: free")
	o.consume(reading("full", "5h", "100", reset, at))
	for _, key := range []string{"hard", "soft", "burst", "stranger"} {
		v := o.mustJudge(key, account("full"), at, "block global-saturated until "+rfc(reset)+", free: free")
		if words := "Provider codex quota window is saturated"; v.Scope != "connection" || !strings.HasPrefix(v.Message, words) {
			t.Errorf("%s: scope %s, %q", key, v.Scope, v.Message)
		}
	}
	o.mustJudge("hard", account("free"), at, "allow ok")
	o.mustJudge("hard", object{"pool": "team"}, at, "allow ok, free: free")
	o.mustJudge("hard", account("full"), reset-1, "block global-saturated until "+rfc(reset)+", free: free")
	o.mustJudge("hard", account("full"), reset, "allow ok, free: free")
	o.consume(reading("free", "weekly", "100", reset+hours, at))
	o.mustJudge("hard", object{"pool": "team"}, at, "block global-saturated until "+rfc(reset))
}

// A gateway dies. What it said last without a reset is no news after the signal's
// life-time, and blocks nobody; what names a reset that lies ahead stands until
// then. The other gateway's words are as good as before.
func TestADeadGatewayBlocksNothing(t *testing.T) {
	o := newOperator(t)
	o.codexPool("team", []string{"left", "right"}, "alice 50")
	at := ago(hours)
	dying, living := brokertest.Connect(t, o.nats), brokertest.Connect(t, o.nats)
	request(t, dying, "quota.saturation", text(t, reading("left", "5h", "100", 0, at)))
	dying.Close()
	o.at(sequence(t, string(request(t, living, "quota.saturation", text(t, reading("right", "5h", "40", 0, at+20_000))))))
	o.mustJudge("alice", account("left"), at+29_999, "block global-saturated until "+rfc(at+30_000)+", free: right")
	o.mustHavePoints(o.mustJudge("alice", account("left"), at+30_000, "allow ok, free: right"), "0", "40", "")
	o.mustHavePoints(o.mustJudge("alice", account("right"), at+49_999, "allow ok, free: left"), "0", "40", "40")
	o.mustHavePoints(o.mustJudge("alice", account("right"), at+50_000, "allow ok, free: left"), "0", "0", "")
	for connection, list := range o.signals("team") {
		if s := list[0]; len(list) != 1 || s["signal"] != "none" || s["usedPercent"] != nil || s["drift"] != nil {
			t.Errorf("an hour later %s shows %v", connection, list)
		}
	}

	o.send("PUT", apiPath("settings"), object{"signalTtlMs": 60_000})
	o.mustJudge("alice", account("left"), at+30_000, "block global-saturated until "+rfc(at+60_000)+", free: right")

	reset := at + 48*hours
	o.consume(reading("left", "weekly", "100", reset, at))
	o.mustJudge("alice", account("left"), reset-1, "block global-saturated until "+rfc(reset)+", free: right")
	o.mustJudge("alice", account("left"), reset, "allow ok, free: right")
}
