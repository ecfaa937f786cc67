package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/quotashare/quotashare/httpapi/openapitest"
	"github.com/quotashare/quotashare/internal/brokertest"
)

// judge is the way of all requests of these tests. It holds each one, and its
// answer, against the OpenAPI document of the process that answers; what is not
// as the document says fails the run when all tests are over.
type judge struct {
	http.RoundTripper

	mu     sync.Mutex
	texts  map[string]*openapitest.Document // documents by their text
	hosts  map[string]*openapitest.Document // of each process; nil = it serves none
	faults []string
}

var judges = &judge{
	RoundTripper: &http.Transport{DisableKeepAlives: true},
	texts:        map[string]*openapitest.Document{}, hosts: map[string]*openapitest.Document{},
}

// RoundTrip asks, and judges the answer unless it has no end.
func (j *judge) RoundTrip(r *http.Request) (*http.Response, error) {
	e := &openapitest.Exchange{Method: r.Method, Target: r.URL.RequestURI(), Sent: r.Header.Get("Content-Type")}
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		if e.Body, err = io.ReadAll(body); err != nil {
			return nil, err
		}
	}
	answer, err := j.RoundTripper.RoundTrip(r)
	if err != nil || strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return answer, err
	}
	e.Status, e.Header = answer.StatusCode, answer.Header
	if e.Answer, err = io.ReadAll(answer.Body); err != nil {
		answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(e.Answer), broken{err}))
		return answer, nil // half an answer is for the test to judge
	}
	answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(e.Answer))
	j.check(r, e)
	return answer, nil
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

func (j *judge) check(r *http.Request, e *openapitest.Exchange) {
	j.mu.Lock()
	defer j.mu.Unlock()
	doc, err := j.document(r)
	if err == nil && doc != nil {
		err = doc.Check(e)
	}
	if err != nil {
		j.faults = append(j.faults, err.Error())
	}
}

// document returns that of the process which was asked, nil when it serves none
// or is gone by now.
func (j *judge) document(asked *http.Request) (*openapitest.Document, error) {
	if doc, known := j.hosts[asked.URL.Host]; known {
		return doc, nil
	}
	r, err := http.NewRequestWithContext(asked.Context(), "GET", "http://"+asked.URL.Host+"/api/openapi.json", nil)
	if err != nil {
		return nil, err
	}
	answer, err := j.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, nil
	}
	doc := j.texts[string(text)]
	if doc == nil && answer.StatusCode == http.StatusOK {
		if doc, err = openapitest.Load(text); err != nil {
			return nil, err
		}
		j.texts[string(text)] = doc
	}
	j.hosts[asked.URL.Host] = doc
	return doc, nil
}

// TestARealEngineIsAsItsDocumentSays asks for everything that the document has.
func TestARealEngineIsAsItsDocumentSays(t *testing.T) {
	p := up(t, t.TempDir())
	doc, err := openapitest.Load([]byte(p.mustCall("GET", "/api/openapi.json", "")))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range doc.Faults() {
		t.Error(fault)
	}
	a := &asker{process: p, doc: doc}
	a.configure()
	a.use()
	a.look()
	a.audit()
	a.watch()
	a.remove()
	for _, operation := range doc.Unasked() {
		t.Errorf("%s is in the document, and was not asked for", operation)
	}
}

// asker asks a process, and judges by the document at once.
type asker struct {
	*process
	doc *openapitest.Document
}

func (a *asker) ask(want int, method, target, body string) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(deadline(a.t), method, a.http+target, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Quota-Actor", "e2e")
	r.Header.Set("X-Quota-Reason", "to see what comes back")
	answer, err := client.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	if answer.StatusCode != want {
		a.t.Errorf("%s %s: %d %s, want %d", method, target, answer.StatusCode, text, want)
	}
	a.judge(method, target, body, answer, text)
}

func (a *asker) judge(method, target, body string, answer *http.Response, text []byte) {
	a.t.Helper()
	err := a.doc.Check(&openapitest.Exchange{
		Method: method, Target: target, Sent: "application/json", Body: []byte(body),
		Status: answer.StatusCode, Header: answer.Header, Answer: text,
	})
	if err != nil {
		a.t.Errorf("%v\n%s", err, text)
	}
}

func (a *asker) configure() {
	const pools = "/api/quota/pools"
	a.ask(201, "POST", pools, `[{"id":"old","name":"Old","provider":"codex","connectionId":"codex-1"},{"id":"spare","name":"Spare","provider":"nobody","connectionIds":["n-1"],"naem":1}]`)
	a.ask(409, "POST", pools, `[{"id":"old","name":"Old","provider":"codex","connectionId":"codex-1"}]`)
	a.ask(201, "POST", pools, `{"id":"a/b c","name":"Team","provider":"kimi","connections":[{"connectionId":"kimi-1","maxConcurrent":2},{"connectionId":"kimi-2"}],
		"allocations":[{"apiKeyId":"alice","weight":50,"caps":[{"unit":"usd","window":"daily","value":0.5}]},{"apiKeyId":"bob","weight":0,"suspended":true},{"apiKeyId":"*","weight":10,"policy":"soft"}],
		"modelCaps":[{"apiKeyId":"alice","model":"k2","capUnit":"requests","capValue":3}]}`)
	a.ask(400, "POST", pools, `{"name":"","provider":7}`)
	a.ask(409, "POST", pools, `{"name":"X","provider":"kimi","connectionIds":["kimi-1"]}`)
	a.ask(200, "PATCH", pools+"/old?dryRun=true", `{"mode":"off"}`)
	a.ask(200, "PATCH", pools+"/old", `{"mode":"observe","rule":"guarantee"}`)
	a.ask(404, "PATCH", pools+"/nobody", `{}`)
	a.ask(200, "PUT", "/api/quota/plans/kimi-2", `{"dimensions":[{"unit":"requests","window":"hourly","limit":4},{"unit":"tokens","window":"weekly"}]}`)
	a.ask(200, "PUT", "/api/quota/settings", `{"saturationThreshold":"0.25","maxLagMs":60000}`)
	a.ask(400, "PUT", "/api/quota/settings", `{"maxLag":1}`)
}

// use makes usage, and a message that cannot be folded.
func (a *asker) use() {
	var events []string
	for i := range 4 {
		events = append(events, fmt.Sprintf(`{"apiKeyId":"alice","connectionId":"kimi-1","model":"k2","cost":{"tokens":%d,"usd":0.01}}`, i))
	}
	events = append(events, `{"apiKeyId":"zoe","connectionId":"kimi-2"}`, `{"apiKeyId":"yan","connectionId":"astray"}`, `{"apiKeyId":""}`,
		`{"type":"quota.adjustment","apiKeyId":"alice","connectionId":"kimi-1","cost":{"tokens":-1},"reason":"refund"}`)
	a.ask(200, "POST", "/api/quota/events", "["+strings.Join(events, ",")+"]")
	a.ask(400, "POST", "/api/quota/events", `{"apiKeyId":"alice"}`)
	js := jetStream(a.t, brokertest.Connect(a.t, a.nats))
	ack, err := js.Publish(deadline(a.t), "quota.consumption.astray", []byte(`{"apiKeyId":7}`))
	if err != nil {
		a.t.Fatal(err)
	}
	a.ask(200, "GET", fmt.Sprintf("/api/quota/state?digest=true&minSeq=%d", ack.Sequence), "")
}

func (a *asker) look() {
	for _, target := range []string{
		"/", "/healthz", "/readyz", "/metrics", "/api/openapi.json", "/api/asyncapi.json", "/api/schemas/consumption.json",
		"/api/quota/pools?limit=1&offset=1", "/api/quota/pools/a%2Fb%20c", "/api/quota/pools/a%2Fb%20c/usage", "/api/quota/pools/old/usage",
		"/api/quota/pools/a%2Fb%20c/history?step=60000&from=" + hourAgo(), "/api/quota/pools/a%2Fb%20c/history?key=alice",
		"/api/quota/plans", "/api/quota/plans/kimi-2", "/api/quota/plans/nobody", "/api/quota/settings",
		"/api/quota/connections?pooled=false", "/api/quota/keys?pool=a%2Fb%20c", "/api/quota/keys", "/api/quota/changes?after=1&limit=2", "/api/quota/changes", "/api/quota/rejected",
	} {
		a.ask(200, "GET", target, "")
	}
	for _, question := range []string{
		`{"apiKeyId":"alice","connectionId":"kimi-1","model":"k2","explain":true,"requestId":"r-1"}`,
		`{"apiKeyId":"zoe","pool":"a/b c","estimate":{"requests":1500},"explain":true}`,
		`{"apiKeyId":"alice","connectionId":"kimi-1","estimate":{"tokens":9},"reserve":true,"leaseMs":60000,"maxWaitMs":20000,"requestId":"r-2"}`,
		`[{"apiKeyId":"bob","connectionId":"kimi-2"},{"apiKeyId":"yan","connectionId":"astray","minSeq":1000000,"maxWaitMs":0},{"apiKeyId":"yan"},{"apiKeyId":"yan","connectionId":"codex-1"}]`,
	} {
		a.ask(200, "POST", "/api/quota/decide", question)
	}
	a.ask(400, "POST", "/api/quota/decide", `{"apiKeyId":"alice","connectionId":"kimi-1","at":946684800000}`)
	a.ask(200, "POST", "/api/quota/reach", `{"name":"Draft","provider":"kimi","connectionIds":["kimi-2"],"rule":"guarantee","allocations":[{"apiKeyId":"alice","weight":50}]}`)
	a.ask(200, "GET", "/api/quota/preview?apiKeyId=alice&connectionId=kimi-1&estimate.tokens=9&reserve=true&requestId=r-2&explain=true", "")
	a.ask(400, "GET", "/api/quota/preview?apiKeyId=alice&pool=old&reserve=true&at=946684800000", "")
	a.ask(200, "GET", "/api/quota/preview?apiKeyId=alice&pool=old&reserve=true", "")
	a.ask(200, "GET", "/api/quota/preview?apiKeyId=alice&candidates=kimi-1&candidates=astray", "")
	a.ask(200, "POST", "/api/quota/route", `{"apiKeyId":"alice","pool":"a/b c","requestId":"r-3","maxWaitMs":20000,"explain":true}`)
	a.ask(200, "POST", "/api/quota/route", `[{"apiKeyId":"alice","candidates":[{"connectionId":"astray","score":0.5}],"requestId":"r-4","maxWaitMs":20000},{"apiKeyId":"alice"}]`)
	a.ask(400, "POST", "/api/quota/route", `{"apiKeyId":"alice","route":"qtSd/a%2Fb%20c/nobody/k2"}`)
	a.ask(200, "POST", "/api/quota/release", `[{"apiKeyId":"alice","requestId":"r-3"},{"apiKeyId":"alice","requestId":"r-4"}]`)
	a.ask(200, "POST", "/api/quota/release", `[{"apiKeyId":"alice","requestId":"r-2"},{"apiKeyId":"alice"}]`)
	a.ask(400, "POST", "/api/quota/release", `{"apiKeyId":"alice"}`)
	a.ask(200, "GET", "/api/quota/decisions?decision=block&limit=1", "")
	a.ask(400, "GET", "/api/quota/decisions?limit=many", "")
	a.ask(404, "GET", "/api/quota/pools/nobody/history", "")
	a.ask(404, "GET", "/api/quota/nothing", "")
	a.ask(200, "GET", "/api/quota/session", "")
	a.ask(200, "POST", "/api/quota/session", `{"token":"nobody needs one here"}`)
	a.ask(204, "DELETE", "/api/quota/session", "")
}

// audit asks why answers were what they were, and what others would have been.
func (a *asker) audit() {
	a.ask(201, "POST", "/api/quota/snapshots", "")
	a.ask(200, "GET", "/api/quota/snapshots", "")
	const explain = "/api/quota/explain"
	var page struct{ Decisions []struct{ DecisionID string } }
	decode(a.t, a.mustCall("GET", "/api/quota/decisions?apiKeyId=bob&decision=block&limit=1", ""), &page)
	if len(page.Decisions) != 1 {
		a.t.Fatalf("%d blocks of bob are recorded, want the one of the suspended key", len(page.Decisions))
	}
	a.ask(200, "GET", explain+"?top=3&decisionId="+page.Decisions[0].DecisionID, "")
	at := fmt.Sprint("&at=", soon())
	for _, question := range []string{
		"connectionId=kimi-1&model=k2&estimate.requests=1&estimate.tokens=9&estimate.usd=0.01&estimate.percent=1&requestId=r-2&reserve=true",
		"pool=old&reserve=true", "route=qtSd/a%252Fb%2520c/kimi/k2", "candidates=kimi-1&candidates=astray&model=k2",
	} {
		a.ask(200, "GET", explain+"?apiKeyId=alice&"+question+at, "")
	}
	a.ask(200, "GET", explain+"?apiKeyId=yan&connectionId=astray&seq=1", "")
	a.ask(400, "GET", explain+"?apiKeyId=yan&connectionId=astray", "")
	a.ask(400, "GET", explain+"?apiKeyId=yan&route=qtSd/old/codex/k2&candidates=astray&seq=1", "")
	a.ask(404, "GET", explain+"?decisionId=nobody-1", "")
	const whatIf = "/api/quota/whatif"
	a.ask(200, "POST", whatIf, `{"withoutPools":["a/b c"],"plans":[{"connectionId":"kimi-2","dimensions":null}],"from":{"seq":1}}`)
	a.ask(200, "POST", whatIf, `{"settings":{"saturationThreshold":0.9}}`)
	a.ask(200, "POST", whatIf, `{"rules":[{"poolId":"old","rule":"guarantee","reserve":50}],"from":{"seq":1}}`)
	a.ask(400, "POST", whatIf, `{"withoutPools":[],"until":1}`)
}

func hourAgo() string { return fmt.Sprint(soon() - 3_600_000) }

// watch reads the stream from the first change until it has told something of
// each kind.
func (a *asker) watch() {
	const target = "/api/quota/stream?lastEventId=0.nobody.0"
	r, err := http.NewRequestWithContext(deadline(a.t), "GET", a.http+target, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	answer, err := client.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer answer.Body.Close()
	var text []byte
	left := []string{"event: config\n", "event: usage\n", "event: state\n", "event: decision\n", "event: gap\n"}
	for buf := make([]byte, 64<<10); len(left) > 0; {
		n, err := answer.Body.Read(buf)
		if err != nil {
			a.t.Fatalf("%v before %q:\n%s", err, left, text)
		}
		text = append(text, buf[:n]...)
		for len(left) > 0 && bytes.Contains(text, []byte(left[0])) {
			left = left[1:]
		}
	}
	text = text[:bytes.LastIndex(text, []byte("\n\n"))+1]
	a.judge("GET", target, "", answer, text)
}

func (a *asker) remove() {
	a.ask(204, "DELETE", "/api/quota/pools/a%2Fb%20c", "")
	a.ask(404, "DELETE", "/api/quota/pools/a%2Fb%20c", "")
	a.ask(204, "DELETE", "/api/quota/plans/kimi-2", "")
	a.ask(200, "GET", "/api/quota/changes", "")
	a.ask(405, "POST", "/healthz", "")
}
