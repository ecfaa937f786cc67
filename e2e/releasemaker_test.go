//go:build makerelease

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/internal/brokertest"
	thisversion "github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// maker writes the data of this version.
type maker struct {
	operator
	dir  string
	js   jetstream.JetStream
	base int64 // when it began, epoch ms
	r    *release
}

// TestMakeRelease makes the data of the version of this tree anew:
//
//	make release-data
func TestMakeRelease(t *testing.T) {
	to := filepath.Join(releases, thisversion.Version)
	if _, err := os.Stat(filepath.Join(to, "released")); err == nil {
		t.Fatalf("%s was released: its data is what it left behind, and stays as it is; give this tree its next version", to)
	}
	m := &maker{dir: t.TempDir(), base: time.Now().UnixMilli(), r: &release{Version: thisversion.Version, Made: time.Now().UTC(), Formats: formatsOfThis()}}
	m.live(t, m.keepForEver, m.configure, m.publish, m.publishBad, m.hold, m.wait)
	m.live(t, m.reconfigure, m.saturate, m.snapshot, m.decide)
	m.live(t, m.refund, m.tokens, m.questions)
	m.spool(t)
	m.save(t, to)
}

// live is one life of the engine, from start to stop.
func (m *maker) live(t *testing.T, chapters ...func()) {
	t.Helper()
	p := start(t, "quotashare", "up", "--data-dir", filepath.Join(m.dir, "data"), "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0")
	p.awaitReady()
	m.operator = operator{p}
	m.js = jetStream(t, brokertest.Connect(t, p.nats))
	for _, c := range chapters {
		c()
	}
	p.stop()
}

// keepForEver takes the age limits away from what the broker would delete by today's
// date when somebody reads it in years.
func (m *maker) keepForEver() {
	for _, name := range []string{"QUOTA_DECISIONS", "QUOTA_REJECTED"} {
		s, err := m.js.Stream(deadline(m.t), name)
		if err != nil {
			m.t.Fatal(err)
		}
		c := s.CachedInfo().Config
		c.MaxAge = 0
		if _, err := m.js.UpdateStream(deadline(m.t), c); err != nil {
			m.t.Fatal(err)
		}
	}
}

func (m *maker) configure() {
	m.send("PUT", apiPath("settings"), object{"saturationThreshold": 0.6, "decisionSampleRate": 1, "holdTtlMs": 600_000})
	m.plan("kimi-1", "requests/hourly 1000", "tokens/5h 20000", "usd/daily 66.67", "tokens/monthly 1000000000000")
	m.plan("kimi-2", "requests/hourly 500", "tokens/5h 0")
	m.plan("odd:c/1%", "tokens/weekly 0.001")
	m.plan("gone", "usd/monthly 0.000000001")
	m.send("POST", apiPath("pools"), object{
		"id": "team", "name": "Our team", "provider": "kimi", "onDegraded": "closed", "createdAt": "2026-01-02T03:04:05.678Z",
		"connections": []object{{"connectionId": "kimi-1"}, {"connectionId": "kimi-2", "weight": 50, "maxConcurrent": 30}},
		"allocations": []object{
			{"apiKeyId": "alice", "weight": 50, "policy": "hard"},
			{"apiKeyId": "bob", "weight": 30, "policy": "soft", "caps": []object{{"unit": "tokens", "window": "daily", "value": 5000}}},
			{"apiKeyId": "carol", "weight": 10.123456, "policy": "burst", "capUnit": "usd", "capValue": json.Number("1.000000001")},
			{"apiKeyId": "dave", "weight": 1, "suspended": true},
			{"apiKeyId": "*", "weight": 5, "policy": "hard"},
		},
		"modelCaps": []object{{"apiKeyId": "bob", "model": "kimi-k2", "capUnit": "requests", "capValue": 3}},
	})
	m.poolOf("odd/p:1%", []string{"odd:c/1%"}, "日本/鍵 100 burst", "* 0 soft")
	m.send("POST", apiPath("pools"), object{
		"id": "codex", "name": "Codex", "provider": "codex", "mode": "observe", "connectionIds": []string{"codex-1"}, "allocations": shares(m.t, "alice 60", "bob 40"),
	})
	m.narrow("routed", 1, "r-1", "r-2")
	m.poolOf("temporary", []string{"gone"}, "alice 100")
	m.mustCall("DELETE", apiPath("pools", "temporary"), "")
	m.mustCall("DELETE", apiPath("plans", "gone"), "")
}

// put publishes a message as it is.
func (m *maker) put(subject string, header nats.Header, body []byte) uint64 {
	m.t.Helper()
	ack, err := m.js.PublishMsg(deadline(m.t), &nats.Msg{Subject: subject, Header: header, Data: body})
	if err != nil {
		m.t.Fatal(err)
	}
	return ack.Sequence
}

// ago is a time before the beginning, as events have it.
func (m *maker) ago(d time.Duration) string {
	return time.UnixMilli(m.base).Add(-d).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// publish brings usage in every encoding, of now and of long ago, once and twice.
func (m *maker) publish() {
	one := fmt.Sprintf(`{"id":"e-1","time":%q,"apiKeyId":"alice","connectionId":"kimi-1","model":"kimi-k2","requestId":"r","cost":{"requests":3,"tokens":"1.2345e3","usd":0.123456789}}`, m.ago(time.Minute))
	m.put("quota.consumption", nil, []byte(one))
	m.put("quota.consumption", nil, []byte(one))
	m.put("quota.consumption.eu.west", nats.Header{"Content-Type": {"application/json"}}, []byte(`{"apiKeyId":"bob","connectionId":"kimi-1","model":"kimi-k2","estimated":true,"unknown":[1,{}],"cost":{"tokens":0.001,"usd":-0}}`))
	var list []events.Event
	for i := range 20 {
		e := events.Event{Kind: events.Consumption, ID: fmt.Sprint("m-", i), APIKeyID: []string{"alice", "bob", "carol", "日本/鍵"}[i%4], ConnectionID: []string{"kimi-1", "kimi-2", "odd:c/1%"}[i%3]}
		e.Time = m.base - int64(i)*dayMs/8
		e.Cost[quota.Requests], e.Cost[quota.Tokens], e.Cost[quota.USD] = 1000, quota.Amount(100_001*(i+1)), quota.Amount(7_000_001*i)
		e.Given = 1<<quota.Requests | 1<<quota.Tokens | 1<<quota.USD
		list = append(list, e)
	}
	m.put("quota.consumption", nats.Header{"Content-Type": {"application/msgpack"}, "Nats-Msg-Id": {"array-1"}}, events.AppendArray(nil, wire.Msgpack, list))
	m.put("quota.consumption", nil, events.AppendArray(nil, wire.Msgpack, list[:2])) // again, told by its first byte
	m.put("quota.consumption", nats.Header{"Content-Type": {"application/cloudevents+json"}}, []byte(fmt.Sprintf(
		`{"specversion":"1.0","type":"quota.consumption","source":"/gateways/1","id":"ce-1","time":%q,"data":{"apiKeyId":"carol","connectionId":"kimi-2","provider":"kimi","cost":{"tokens":77}}}`, m.ago(25*time.Hour))))
	m.put("quota.consumption", nats.Header{
		"Content-Type": {"application/json"}, "ce-specversion": {"1.0"}, "ce-type": {"quota.consumption"}, "ce-source": {"/gateways/2"}, "ce-id": {"ce-1"}, "ce-time": {m.ago(20 * 24 * time.Hour)},
	}, []byte(`{"apiKeyId":"carol","connectionId":"kimi-1","cost":{"usd":0.5,"percent":1.000001}}`))
	m.put("quota.consumption", nil, []byte(fmt.Sprintf(`{"id":"late","time":%q,"apiKeyId":"bob","connectionId":"kimi-1","cost":{"tokens":9}}`, m.ago(70*24*time.Hour))))
	m.put("quota.consumption", nil, []byte(fmt.Sprintf(`{"id":"ahead","time":%q,"apiKeyId":"erin","connectionId":"kimi-1","cost":{"tokens":11}}`, m.ago(-time.Hour))))
	m.put("quota.adjustment", nil, []byte(`{"id":"a-1","apiKeyId":"bob","connectionId":"kimi-1","reason":"counted twice","cost":{"tokens":-50,"usd":"-0.000000001"}}`))
	m.send("POST", apiPath("events"), []object{
		{"id": "h-1", "apiKeyId": "alice", "connectionId": "kimi-1", "cost": object{"tokens": 5}},
		{"id": "h-2", "type": "quota.saturation", "connectionId": "kimi-1", "readings": []object{{"window": "5h", "usedPercent": 12.345678, "resetAt": m.ago(-4 * time.Hour)}}},
	})
}

// publishBad brings what is rejected, for every reason there is.
func (m *maker) publishBad() {
	m.put("quota.consumption", nil, []byte(`{"id":"e-1","apiKeyId":"alice","connectionId":"kimi-1","cost":{"tokens":2}}`))
	m.put("quota.consumption", nil, []byte(`{"apiKeyId":`))
	m.put("quota.consumption", nil, []byte("\x92\xc0\x2a"))
	m.put("quota.consumption", nil, []byte(`[{"apiKeyId":"alice"},{"id":"after-bad","apiKeyId":"alice","connectionId":"kimi-1","cost":{"tokens":1}},null]`))
	m.put("quota.release.x", nats.Header{"Nats-TTL": {"1h"}}, []byte(`{"apiKeyId":"alice","requestId":"r"}`))
	m.put("quota.config.pool.team", nil, nil)
	m.put("quota.config.pool.team", nats.Header{"Quota-Config": {"put"}, "Nats-TTL": {"never"}}, []byte(`{"id":"other"}`))
}

// hold leaves a hold in every state that one can be in.
func (m *maker) hold() {
	m.mustReply(hold("alice", "kimi-1", "requestId", "settled", "estimate", object{"tokens": 100}), "allow ok")
	m.send("POST", apiPath("events"), object{"id": "s-1", "apiKeyId": "alice", "connectionId": "kimi-1", "requestId": "settled", "cost": object{"tokens": 90}})
	m.mustReply(hold("alice", "kimi-1", "requestId", "released"), "allow ok")
	m.release("alice", "released")
	m.mustReply(hold("bob", "kimi-2", "requestId", "in-parts", "leaseMs", 3_600_000, "estimate", object{"tokens": 500, "usd": json.Number("0.25")}), "allow ok")
	m.send("POST", apiPath("events"), object{"id": "s-2", "apiKeyId": "bob", "connectionId": "kimi-2", "requestId": "in-parts", "partial": true, "cost": object{"tokens": 123}})
	m.mustReply(hold("carol", "kimi-1", "requestId", "short", "leaseMs", 1), "allow ok")
	m.mustReply(hold("nobody", "elsewhere", "requestId", "outside", "leaseMs", 3_600_000, "model", "m"), "allow no-pool")
}

// wait has a snapshot while somebody waits for a connection, who gets it later; and one
// who waits in vain.
func (m *maker) wait() {
	for _, request := range []string{"first", "second"} {
		q := toRoute("alice", "routed", request)
		q["leaseMs"] = 3_600_000
		if r := m.route(q); r.said() != "allow ok" {
			m.t.Fatalf("%s: %+v", request, r)
		}
	}
	answer := make(chan routed, 1)
	go func() { answer <- m.route(toRoute("bob", "routed", "third")) }()
	for waiting := 0; waiting == 0; {
		var doc struct {
			Usage struct{ Backlog struct{ Waiting int } }
		}
		decode(m.t, m.mustCall("GET", apiPath("pools", "routed", "usage"), ""), &doc)
		waiting = doc.Usage.Backlog.Waiting
	}
	m.snapshot()
	m.process.mustSay("stored a snapshot in the broker")
	m.release("alice", "first")
	if r := <-answer; r.said() != "allow ok" || r.ConnectionID != "r-1" {
		m.t.Fatalf("who waited is answered %+v", r)
	}
	vain := toRoute("bob", "routed", "fourth")
	vain["maxWaitMs"] = 20
	if r := m.route(vain); r.said() != "block capacity of connection" {
		m.t.Fatalf("who waits in vain is answered %+v", r)
	}
}

func (m *maker) snapshot() {
	var doc struct{ Snapshot struct{ Seq uint64 } }
	decode(m.t, m.mustCall("POST", apiPath("snapshots"), ""), &doc)
	m.r.Snapshots = append([]uint64{doc.Snapshot.Seq}, m.r.Snapshots...)
}

func (m *maker) reconfigure() {
	m.mustCall("PATCH", apiPath("pools", "team"), `{"name":"Our team, again","modelCaps":[{"apiKeyId":"bob","model":"kimi-k2","capUnit":"tokens","capValue":700.5}]}`)
	m.send("PUT", apiPath("settings"), object{"holdTtlMs": nil, "softDeprioritizeFactor": json.Number("0.654321")})
	m.plan("kimi-2", "requests/hourly 600", "tokens/5h 0")
}

// saturate has keys cause what a provider says.
func (m *maker) saturate() {
	resets := m.ago(-100 * time.Hour)
	for i, percent := range []string{"10", "12.5", "20"} {
		m.put("quota.saturation", nil, fmt.Appendf(nil, `{"id":"sat-%d","connectionId":"codex-1","provider":"codex","readings":[{"window":"weekly","usedPercent":%s,"resetAt":%q}]}`, i, percent, resets))
		m.send("POST", apiPath("events"), []object{
			{"apiKeyId": "alice", "connectionId": "codex-1", "cost": object{"tokens": 300}}, {"apiKeyId": "bob", "connectionId": "codex-1", "cost": object{"tokens": 100}},
		})
	}
	m.put("quota.saturation", nil, []byte(`{"connectionId":"claude-1","provider":"claude","status":200,"headers":{"anthropic-ratelimit-unified-5h-utilization":"0.5","anthropic-ratelimit-unified-5h-reset":"`+strconv.FormatInt(m.base/1000+9000, 10)+`","anthropic-ratelimit-unified-7d-utilization":"0.25","anthropic-ratelimit-unified-7d-reset":"`+strconv.FormatInt(m.base/1000+300_000, 10)+`"}}`))
}

// decide leaves decisions of most kinds.
func (m *maker) decide() {
	m.send("POST", apiPath("events"), []object{{"id": "much", "apiKeyId": "alice", "connectionId": "kimi-1", "cost": object{"tokens": 30_000}}})
	for _, q := range []object{
		{"apiKeyId": "alice", "connectionId": "kimi-1", "estimate": object{"tokens": 10}},
		{"apiKeyId": "bob", "connectionId": "kimi-1", "model": "kimi-k2", "reserve": true, "requestId": "judged", "leaseMs": 3_600_000},
		{"apiKeyId": "carol", "connectionId": "kimi-2", "explain": true},
		{"apiKeyId": "dave", "connectionId": "kimi-1"},
		{"apiKeyId": "erin", "connectionId": "kimi-1"},
		{"apiKeyId": "日本/鍵", "connectionId": "odd:c/1%"},
		{"apiKeyId": "alice", "connectionId": "codex-1"},
		{"apiKeyId": "alice", "connectionId": "nowhere"},
	} {
		r := m.reply(q)
		if q["apiKeyId"] == "alice" && r.Decision == "block" {
			m.r.Decision = r.DecisionID
		}
	}
	if m.r.Decision == "" {
		m.t.Fatal("alice is not blocked")
	}
}

// refund is what came after the newest snapshot, but for one event that sets log time.
func (m *maker) refund() {
	m.put("quota.adjustment", nil, []byte(`{"id":"a-2","apiKeyId":"alice","connectionId":"kimi-1","requestId":"settled","reason":"a refund","cost":{"tokens":-400}}`))
	m.send("POST", apiPath("events"), object{"id": "last", "apiKeyId": "bob", "connectionId": "odd:c/1%", "cost": object{"tokens": 0.001}})
}

func (m *maker) tokens() {
	data := filepath.Join(m.dir, "data")
	m.r.Key = "alice"
	m.r.Gateway = strings.TrimSpace(run(m.t, "quotashare", "keys", "issue", "--id", m.r.Key, "--data-dir", data))
	m.r.Dashboard = strings.TrimSpace(run(m.t, "quotashare", "tokens", "add", "--tokens-file", filepath.Join(data, "tokens.json"), "--name", "grafana", "--role", "read"))
}

// questions asks what every later version is asked.
func (m *maker) questions() {
	s := m.at(1)
	s = m.at(s.LastSeq)
	m.r.Seq, m.r.Digest, m.r.Counts = s.LastSeq, s.Digest, s.Counts
	var list struct{ Decisions []object }
	decode(m.t, m.mustCall("GET", apiPath("decisions")+"?limit=100", ""), &list)
	m.r.Decisions = len(list.Decisions)
	middle, last := m.timeOf(m.r.Seq/2), m.timeOf(m.r.Seq)
	paths := []string{
		"pools", "plans", "settings", "connections", "keys", "changes?limit=100", "rejected?limit=100", "decisions?limit=100",
		fmt.Sprintf("pools/team/history?from=%d&to=%d&step=%d", m.base-3*dayMs, m.base+1, 6*time.Hour.Milliseconds()),
	}
	for _, pair := range [][2]string{
		{"alice", "kimi-1"},
		{"bob", "kimi-2"},
		{"alice", "codex-1"},
		{"bob", "kimi-1"},
		{"carol", "kimi-2"},
		{"dave", "kimi-2"},
		{"erin", "kimi-1"},
		{"日本/鍵", "odd:c/1%"},
		{"bob", "codex-1"},
		{"bob", "r-1"},
		{"alice", "claude-1"},
		{"nobody", "elsewhere"},
	} {
		q := url.Values{"apiKeyId": {pair[0]}, "connectionId": {pair[1]}}
		for _, at := range []int64{middle, last} {
			q.Set("at", fmt.Sprint(at))
			paths = append(paths, "explain?"+q.Encode())
		}
		q.Set("explain", "true")
		for _, at := range []int64{last, last + dayMs/24, last + 5*dayMs} {
			q.Set("at", fmt.Sprint(at))
			paths = append(paths, "preview?"+q.Encode())
		}
	}
	for _, path := range paths {
		one := read{Path: "/api/quota/" + path}
		decodeExactly(m.t, m.mustCall("GET", one.Path, ""), &one.Answer)
		if strings.HasPrefix(path, "explain?") { // the rest is said elsewhere, and long
			one.Answer = kept(one.Answer.(object), "reply", "signals", "holds", "consumption")
		}
		m.r.reads = append(m.r.reads, one)
	}
	decodeExactly(m.t, run(m.t, "quotashare", "explain", m.r.Decision, "--json", "--http-addr", strings.TrimPrefix(m.http, "http://")), &m.r.Explained)
}

// kept are some fields of an answer.
func kept(answer object, names ...string) object {
	some := object{}
	for _, name := range names {
		some[name] = answer[name]
	}
	return some
}

const dayMs = int64(24 * time.Hour / time.Millisecond)

// timeOf is when the log stored a message, epoch ms.
func (m *maker) timeOf(seq uint64) int64 {
	at, _ := storedAt(m.t, m.js, seq)
	return at.UnixMilli()
}

// spool leaves events on the disk of a program whose log is away.
func (m *maker) spool(t *testing.T) {
	p := start(t, "quotashare", "up", "--data-dir", t.TempDir(), "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0")
	front := startWith(t, []string{"QUOTA_STORE_DRIVER=nats", "QUOTA_STORE_NATS_URL=" + p.nats}, "ingest", "--data-dir", filepath.Join(m.dir, "front"), "--http-addr", "127.0.0.1:0")
	p.stop()
	for i := range 3 {
		list := []object{}
		for k := range 4 {
			list = append(list, object{"id": fmt.Sprint("spooled-", i, "-", k), "time": m.base, "apiKeyId": "spooled", "connectionId": "c", "cost": object{"tokens": 1 + k}})
		}
		if answer := front.mustCall("POST", apiPath("events"), text(t, list)); strings.Count(answer, `"spooled":true`) != 4 {
			t.Fatalf("they are not spooled: %s", answer)
		}
		m.r.Spooled += len(list)
	}
	front.stop()
}

// save packs it all.
func (m *maker) save(t *testing.T, to string) {
	t.Helper()
	manifest, err := json.MarshalIndent(m.r, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	var reads []byte
	for _, one := range m.r.reads {
		reads = append(append(reads, text(t, one)...), '\n')
	}
	err = errors.Join(
		os.MkdirAll(to, 0o755),
		os.WriteFile(filepath.Join(to, "manifest.json"), append(manifest, '\n'), 0o644),
		os.WriteFile(filepath.Join(to, "reads.ndjson"), reads, 0o644),
		pack(filepath.Join(to, "data.tar.gz"), m.dir),
	)
	if err != nil {
		t.Fatal(err)
	}
}
