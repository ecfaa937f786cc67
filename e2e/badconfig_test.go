package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// refusal is a call and how it is refused. What the message says is judged as
// who reads it would: it names what is wrong, and says what to do.
type refusal struct {
	call    string // method and path below /api/quota
	headers string // "name: value", "" = none
	body    string
	status  int
	code    string
	says    []string
}

// wide is an array of n values.
func wide(n int, value string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(value+",", n), ",") + "]"
}

// crowd are allocations of n keys, each with a name of 200 letters.
func crowd(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"apiKeyId":"%0200d","weight":0}`, i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

const (
	seeAgain = "read it again and repeat the change"
	newPool  = `{"name":"N","provider":"kimi","connectionIds":["n"]}`
)

// badDocuments are pools, or no documents at all.
var badDocuments = []refusal{
	{"POST /pools", "", ``, 400, "undecodable", []string{"the message is empty"}},
	{"PATCH /pools/team", "", `{"name":"x",}`, 400, "undecodable", []string{"not well formed"}},
	{"PATCH /pools/team", "", `{"name":"x","name":"y"}`, 400, "undecodable", []string{`"name"`, "twice"}},
	{"PUT /plans/c-1", "", `null`, 400, "invalid", []string{"null, not an object"}},
	{"PUT /settings", "", `["a"]`, 400, "invalid", []string{"an array, not an object"}},
	{"POST /pools", "", `{}`, 400, "invalid", []string{"name is missing", "provider is missing", "connections is missing: a pool has at least one connection"}},
	{"POST /pools", "", `{"name":"` + strings.Repeat("ä", 121) + `","provider":"p","connectionIds":["x"]}`, 400, "invalid", []string{"name has more than 120 characters"}},
	{"PATCH /pools/team", "", `{"id":"other"}`, 400, "invalid", []string{"id is not team: a pool keeps its id"}},
	{"PATCH /pools/team", "", `{"name":null}`, 400, "invalid", []string{"name is missing"}},
	{"PATCH /pools/team", "", `{"connectionIds":[]}`, 400, "invalid", []string{"connectionIds is empty: a pool has at least one connection"}},
	{"PATCH /pools/team", "", `{"connectionIds":["a","a"]}`, 400, "invalid", []string{`connectionIds has a twice: keep one`}},
	{"PATCH /pools/team", "", `{"connections":[{"connectionId":"a","weight":0},{"connectionId":"b","weight":1.5},{"connectionId":"c","maxConcurrent":0}]}`, 400, "invalid", []string{"connections[0].weight", "connections[1].weight", "connections[2].maxConcurrent"}},
	{"PATCH /pools/team", "", `{"mode":"on","onDegraded":"maybe","rule":"fair"}`, 400, "invalid", []string{"mode is on: use enforce, observe or off", "onDegraded is maybe: use open or closed", "rule is fair: use threshold or guarantee"}},
	{"PATCH /pools/team", "", `{"allocations":[{"apiKeyId":"a","weight":100.1},{"apiKeyId":"b","weight":-1},{"apiKeyId":"c","weight":0.0000001}]}`, 400, "invalid", []string{"allocations[0].weight is not within 0 to 100", "allocations[1].weight is not within 0 to 100", "allocations[2].weight"}},
	{"PATCH /pools/team", "", `{"allocations":[{"apiKeyId":"a","weight":1},{"apiKeyId":"a","weight":1}]}`, 400, "invalid", []string{"allocations[1].apiKeyId is there twice: keep one"}},
	{"PATCH /pools/team", "", `{"allocations":[{"apiKeyId":"a","weight":1,"policy":"firm","capValue":1},{"apiKeyId":"b","weight":1,"capUnit":"usd"},{"apiKeyId":"c","weight":1,"capUnit":"euro","capValue":1},{"apiKeyId":"d","weight":1,"capUnit":"usd","capValue":0}]}`, 400, "invalid", []string{
		"allocations[0].policy is firm: use hard, soft or burst", "allocations[0].capUnit is missing: capValue needs its unit",
		"allocations[1].capValue is missing", "allocations[2].capUnit is euro: use requests, tokens, usd or percent", "allocations[3].capValue is not above 0",
	}},
	{"PATCH /pools/team", "", `{"allocations":[{"apiKeyId":"a","weight":1,"caps":[{"unit":"usd","window":"yearly","value":1}]}]}`, 400, "invalid", []string{"allocations[0].caps[0].window is yearly: use hourly, 5h, daily, weekly or monthly"}},
	{"PATCH /pools/team", "", `{"modelCaps":[{"apiKeyId":"*","model":"m","capUnit":"usd","capValue":1},{"apiKeyId":"a","capUnit":"usd","capValue":1}]}`, 400, "invalid", []string{"modelCaps[0].apiKeyId", "modelCaps[1].model is missing"}},
	{"PATCH /pools/team?dryRun=perhaps", "", `{}`, 400, "invalid", []string{`dryRun is "perhaps": use true or false`}},
	{"POST /pools", "X-Quota-Actor: " + strings.Repeat("a", 257), newPool, 400, "invalid", []string{"X-Quota-Actor", "256 bytes"}},
	{"POST /pools", "X-Quota-Reason: " + strings.Repeat("a", 1001), newPool, 400, "invalid", []string{"X-Quota-Reason has more than 1000 characters"}},
	{"POST /pools", "", `[]`, 400, "invalid", []string{"0 pools: send 1 to 1000"}},
	{"POST /pools", "", wide(1001, newPool), 400, "invalid", []string{"1001 pools: send 1 to 1000"}},
	{"POST /pools", "", `[` + newPool + `,{"name":"","provider":"kimi","connectionIds":["n"]},7]`, 400, "invalid", []string{"[1].name is empty", "[1].connections[0].connectionId", "a connection is in at most one pool", "[2] is a number, not an object"}},
}

// badOthers are plans, settings, parameters and headers.
var badOthers = []refusal{
	{"PUT /plans/c-1", "", `{}`, 400, "invalid", []string{"dimensions is missing"}},
	{"PUT /plans/c-1", "", `{"connectionId":"c-2","dimensions":[{"unit":"minutes","window":"5h"},{"unit":"usd","window":"2h"},{"unit":"usd","window":"5h","limit":-1},{"unit":"usd","window":"5h","limit":1000001}]}`, 400, "invalid", []string{
		`connectionId is not "c-1", the one in the path: leave it out`, "dimensions[0].unit is minutes: use requests, tokens, usd or percent",
		"dimensions[1].window is 2h: use hourly, 5h, daily, weekly or monthly", "dimensions[2].limit is below 0: use 0 for unknown", "dimensions[3].limit",
	}},
	{"PUT /plans/c-1", "", `{"dimensions":[{"unit":"usd","window":"5h"},{"unit":"usd","window":"5h","limit":1}]}`, 400, "invalid", []string{"dimensions[1]", "there twice: keep one"}},
	{"PUT /plans/%07", "", `{"dimensions":[]}`, 400, "invalid", []string{"connectionId has a control character"}},
	{"PUT /settings", "", `{"maxLag":5,"holdTtlMs":"abc"}`, 400, "invalid", []string{"maxLag is unknown: use saturationThreshold", "holdTtlMs is not a whole number within 1 to"}},
	{"GET /pools?limit=1001&offset=-1", "", ``, 400, "invalid", []string{`limit is "1001": use a whole number from 1 to 1000`, `offset is "-1": use a whole number from 0`}},
	{"GET /plans?limit=all", "", ``, 400, "invalid", []string{`limit is "all": use a whole number from 1 to 1000`}},
	{"GET /connections?pooled=maybe", "", ``, 400, "invalid", []string{`pooled is "maybe": use true or false`}},
	{"GET /keys?offset=x", "", ``, 400, "invalid", []string{`offset is "x": use a whole number from 0`}},
	{"GET /changes?after=last", "", ``, 400, "invalid", []string{`after is "last": use a whole number from 0`}},
	{"GET /pools/team/history?from=yesterday&to=5", "", ``, 400, "invalid", []string{"from is not a time: use RFC 3339 with zone, or integer epoch milliseconds", "to is before 2000: use milliseconds, not seconds"}},
	{"GET /pools/team/history?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "", ``, 400, "invalid", []string{"from is not before to"}},
	{"GET /pools/team/history?step=90000", "", ``, 400, "invalid", []string{"step is 90000: use whole minutes in milliseconds, such as 60000"}},
	{"GET /pools/team/history?step=60000&from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z", "", ``, 400, "invalid", []string{"step gives 44640 rows, more than 2000: use a larger step or a shorter time"}},
	{"GET /stream?events=usage,news", "", ``, 400, "invalid", []string{`events "news" is none: use config, usage, state, decision`}},
	{"GET /stream", "Last-Event-ID: 7", ``, 400, "invalid", []string{`Last-Event-ID is "7", which is no id of this stream: send one that came with an event, or none`}},
	{"PATCH /pools/team", "If-Match: 2", `{"name":"x"}`, 400, "invalid", []string{`If-Match lacks quotes: send If-Match: "2", quotes included`}},
	{"DELETE /plans/c-1", "If-Match: *", ``, 400, "invalid", []string{`If-Match is "*": send the ETag`}},
	{"PUT /settings", `If-Match: W/"1"`, `{"maxLagMs":5}`, 400, "invalid", []string{"If-Match is", "send the ETag"}},
}

// notNow are right, but for what there is or is not.
var notNow = []refusal{
	{"GET /pools/nobody", "", ``, 404, "not-found", []string{`pool "nobody" does not exist: GET /api/quota/pools lists those that do`}},
	{"PATCH /pools/nobody", "", `{"name":"x"}`, 404, "not-found", []string{`pool "nobody" does not exist: GET /api/quota/pools lists`}},
	{"PATCH /pools/nobody?dryRun=true", "", `{"name":"x"}`, 404, "not-found", []string{`pool "nobody" does not exist: GET /api/quota/pools lists`}},
	{"DELETE /pools/nobody", "", ``, 404, "not-found", []string{`pool "nobody" does not exist: GET /api/quota/pools lists`}},
	{"GET /pools/nobody/usage", "", ``, 404, "not-found", []string{`pool "nobody" does not exist: GET /api/quota/pools lists`}},
	{"GET /pools/nobody/history", "", ``, 404, "not-found", []string{`pool "nobody" does not exist: GET /api/quota/pools lists`}},
	{"GET /pools/team/users", "", ``, 404, "not-found", []string{"/api/quota/pools/team/users", "GET / says what is"}},
	{"GET /plans/a/b", "", ``, 404, "not-found", []string{"/api/quota/plans/a/b", "GET / says what is"}},
	{"POST /pools", "", `{"id":"team","name":"N","provider":"kimi","connectionIds":["n"]}`, 409, "conflict", []string{`id is "team", which another pool has: choose another, or leave it out`}},
	{"POST /pools", "", `{"name":"N","provider":"kimi","connectionIds":["n","c-2"]}`, 409, "conflict", []string{`connections[1].connectionId is "c-2"`, `in pool "rival" ("The Rival") already: take it out there first`}},
	{"PATCH /pools/team", "", `{"connectionIds":["c-2","c-1"]}`, 409, "conflict", []string{`connections[0].connectionId is "c-2"`, `in pool "rival" ("The Rival") already: take it out there first`}},
	{"PATCH /pools/team?dryRun=true", "", `{"connectionIds":["c-2"]}`, 409, "conflict", []string{`in pool "rival" ("The Rival") already: take it out there first`}},
	{"POST /pools", "", `[` + newPool + `]`, 409, "conflict", []string{"there are pools already", "create these one by one"}},
	{"PATCH /pools/team", `If-Match: "999"`, `{"name":"x"}`, 412, "lost-race", []string{"at revision 4, not 999", seeAgain}},
	{"PATCH /pools/team", `If-Match: "999"`, `{}`, 412, "lost-race", []string{"at revision 4, not 999", seeAgain}},
	{"PATCH /pools/team?dryRun=true", `If-Match: "3"`, `{"name":"x"}`, 412, "lost-race", []string{"at revision 4, not 3", seeAgain}},
	{"DELETE /pools/team", `If-Match: "1"`, ``, 412, "lost-race", []string{"at revision 4, not 1", seeAgain}},
	{"PUT /plans/c-1", `If-Match: "1"`, `{"dimensions":[]}`, 412, "lost-race", []string{"at revision 2, not 1", seeAgain}},
	{"DELETE /plans/c-1", `If-Match: "1"`, ``, 412, "lost-race", []string{"at revision 2, not 1", seeAgain}},
	{"PUT /settings", `If-Match: "2"`, `{"maxLagMs":5}`, 412, "lost-race", []string{"at revision 1, not 2", seeAgain}},
}

// notThus are no way to say it, whatever it says.
var notThus = []refusal{
	{"PUT /pools/team", "", newPool, 405, "method-not-allowed", []string{`"PUT" does nothing here: use GET or PATCH or DELETE`}},
	{"DELETE /pools", "", ``, 405, "method-not-allowed", []string{`"DELETE" does nothing here: use GET or POST`}},
	{"POST /plans", "", `{}`, 405, "method-not-allowed", []string{`"POST" does nothing here: use GET`}},
	{"PATCH /plans/c-1", "", `{}`, 405, "method-not-allowed", []string{`"PATCH" does nothing here: use GET or PUT or DELETE`}},
	{"PATCH /settings", "", `{}`, 405, "method-not-allowed", []string{`"PATCH" does nothing here: use GET or PUT`}},
	{"POST /pools/team/usage", "", `{}`, 405, "method-not-allowed", []string{`"POST" does nothing here: use GET`}},
	{"POST /pools/team/history", "", `{}`, 405, "method-not-allowed", []string{`"POST" does nothing here: use GET`}},
	{"DELETE /keys", "", ``, 405, "method-not-allowed", []string{`"DELETE" does nothing here: use GET`}},
	{"DELETE /connections", "", ``, 405, "method-not-allowed", []string{`"DELETE" does nothing here: use GET`}},
	{"POST /changes", "", `{}`, 405, "method-not-allowed", []string{`"POST" does nothing here: use GET`}},
	{"PATCH /pools/team", "", `{"name":"` + strings.Repeat("n", 9<<20) + `"}`, 413, "too-large", []string{"8 MiB"}},
	{"PATCH /pools/team", "", `{"allocations":` + crowd(6000) + `}`, 413, "too-large", []string{"a message of the log 1048576 at most: use fewer or shorter ids"}},
	{"PUT /settings", "", `{"maxLagMs":` + strings.Repeat(" ", 9<<20) + `5}`, 413, "too-large", []string{"8 MiB"}},
	{"PATCH /pools/team", "Content-Type: application/x-ndjson", `{"name":"x"}`, 415, "unsupported-media-type", []string{`content-type: "application/x-ndjson" is not read here: use application/json`}},
	{"PATCH /pools/team", "Content-Type: application/msgpack", "\x80", 415, "unsupported-media-type", []string{"content-type:", "use application/json"}},
	{"PUT /plans/c-1", "Content-Type: application/json; charset=utf-16", `{}`, 415, "unsupported-media-type", []string{`charset "utf-16" is not read here: use utf-8`}},
	{"PUT /settings", "Content-Encoding: br", `{}`, 415, "unsupported-media-type", []string{`content-encoding: "br" is not read here: send the body as it is, or in gzip, once`}},
	{"PUT /settings", "Content-Encoding: gzip", `{}`, 400, "undecodable", []string{`content-encoding: the body is not gzip to its end`}},
}

// send sends the call and returns the answer's status, Allow header and error.
func (r *refusal) send(o operator) (status int, allow string, body string) {
	o.t.Helper()
	method, path, _ := strings.Cut(r.call, " ")
	req, err := http.NewRequestWithContext(deadline(o.t), method, o.http+"/api/quota"+path, strings.NewReader(r.body))
	if err != nil {
		o.t.Fatal(err)
	}
	if name, value, ok := strings.Cut(r.headers, ": "); ok {
		req.Header.Set(name, value)
	}
	answer, err := client.Do(req)
	if err != nil {
		o.t.Fatalf("%s: %v", r.call, err)
	}
	defer answer.Body.Close()
	var doc json.RawMessage
	if err := json.NewDecoder(answer.Body).Decode(&doc); err != nil {
		o.t.Errorf("%s: %v", r.call, err)
	}
	return answer.StatusCode, answer.Header.Get("Allow"), string(doc)
}

// reads reports what the answer lacks.
func (r *refusal) reads(t *testing.T, status int, allow, body string) {
	t.Helper()
	var doc struct {
		Error struct {
			Message, Type, Code string
			Faults              []struct{ Field, Problem string }
		}
	}
	decode(t, body, &doc)
	e := doc.Error
	if status != r.status || e.Code != r.code || e.Type == "" {
		t.Errorf("it is %d %s, want %d %s: %s", status, e.Code, r.status, r.code, body)
	}
	for _, words := range r.says {
		if !strings.Contains(e.Message, words) {
			t.Errorf("it does not say %q: %s", words, e.Message)
		}
	}
	for _, f := range e.Faults {
		if !strings.Contains(e.Message, f.Problem) || !strings.Contains(e.Message, f.Field) {
			t.Errorf("fault %+v is not in the message %s", f, e.Message)
		}
	}
	if e.Message == "" {
		t.Fatalf("it says nothing: %s", body)
	}
	if first := e.Message[:1]; r.headers == "" && first != strings.ToLower(first) {
		t.Errorf("the message begins with a capital, and no header does: %s", e.Message)
	}
	if (r.status == 405) != (allow != "") {
		t.Errorf("Allow is %q", allow)
	}
}

// Every refusal is read as a user reads it, and none of them wrote anything.
func TestEveryRefusalSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	o := newOperator(t)
	o.mustCall("PUT", "/api/quota/settings", `{"maxLagMs":5000}`)
	o.plan("c-1", "usd/daily 10")
	o.mustCall("POST", "/api/quota/pools", `{"id":"rival","name":"The Rival","provider":"kimi","connectionIds":["c-2"]}`)
	o.mustCall("POST", "/api/quota/pools", `{"id":"team","name":"Team","provider":"kimi","connectionIds":["c-1"]}`)
	before := o.at(0)
	for _, r := range slices.Concat(badDocuments, badOthers, notNow, notThus) {
		t.Run(fmt.Sprint(r.status, " ", r.call), func(t *testing.T) {
			status, allow, body := r.send(o)
			r.reads(t, status, allow, body)
		})
	}
	if after := o.at(0); after != before {
		t.Errorf("the log went from %+v to %+v", before, after)
	}
}
