package questions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// routeOf is a question of quota.route as it is read when it says no more.
func routeOf(change func(*Question)) Question {
	q := Question{APIKeyID: "k", Reserve: true, MaxWaitMs: -1}
	q.Estimate[quota.Requests] = 1_000
	change(&q)
	return q
}

func TestDecodeRoute(t *testing.T) {
	tests := []struct {
		name, fields string // after apiKeyId
		want         Question
	}{
		{"by pool", `,"pool":"p"`, routeOf(func(q *Question) { q.Pool = "p" })},
		{"by pool for a model", `,"pool":"p","model":"m","reserve":true`, routeOf(func(q *Question) { q.Pool, q.Model = "p", "m" })},
		{"by the name of a route", `,"route":"qtSd/team%20a/kimi/k2/fast"`, routeOf(func(q *Question) {
			q.Route, q.Pool, q.Model = "qtSd/team%20a/kimi/k2/fast", "team a", "k2/fast"
		})},
		{"by candidates", `,"candidates":[{"connectionId":"a","score":0.5},{"connectionId":"b"},{"connectionId":"c","score":"1e6"}]`, routeOf(func(q *Question) {
			q.Candidates = []Candidate{
				{ConnectionID: "a", Score: 500_000, HasScore: true}, {ConnectionID: "b"}, {ConnectionID: "c", Score: MaxScore, HasScore: true},
			}
		})},
		{"with all that a hold may have", `,"pool":"p","estimate":{"requests":0,"tokens":5},"leaseMs":7,"requestId":"r","maxWaitMs":0,"minSeq":3,"explain":true`, routeOf(func(q *Question) {
			q.Pool, q.LeaseMs, q.RequestID, q.MaxWaitMs, q.MinSeq, q.Explain = "p", 7, "r", 0, 3, true
			q.Estimate = quota.Amounts{quota.Tokens: tokens(5)}
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachEncoding(t, `{"apiKeyId":"k"`+tt.fields+`}`, func(t *testing.T, data []byte, enc wire.Encoding) {
				var r Request
				if err := r.DecodeRoute(data, enc); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]Question{tt.want}, r.Questions); diff != "" || !r.Questions[0].Routed() {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}

func TestDecodeRouteFaults(t *testing.T) {
	const noName = "route is no route of a pool: use qtSd/<pool>/<provider>/<model>, with the ids escaped as in subjects"
	const one = "pool is one of three: send exactly one of pool, route and candidates"
	for text, want := range map[string]string{
		`{}`: "apiKeyId is missing: name the key that asks; " + one,
		`{"apiKeyId":"k","pool":"p","candidates":[{"connectionId":"c"}]}`: one,
		`{"apiKeyId":"k","pool":"p","route":"qtSd/p/kimi/m"}`:             one,
		`{"apiKeyId":"k","connectionId":"c"}`:                             "connectionId is chosen by a route: name a pool, a route or candidates, or ask quota.decide",
		`{"apiKeyId":"k","route":"qtSd/p/kimi/m","model":"m"}`:            "model is there beside route, which names it: leave it out",
		`{"apiKeyId":"k","pool":"p","reserve":false}`:                     "reserve is false, and a route always holds what it chooses: leave it out",
		`{"apiKeyId":"k","pool":"p","at":1790000000000}`:                  "at is not for a route: a hold is always taken now, leave it out",
		`{"apiKeyId":"k","route":7}`:                                      "route is a number, not a string",
		`{"apiKeyId":"k","route":""}`:                                     noName,
		`{"apiKeyId":"k","route":"qtSd/p/kimi"}`:                          noName,
		`{"apiKeyId":"k","route":"qtsd/p/kimi/m"}`:                        noName,
		`{"apiKeyId":"k","route":"qtSd/%70/kimi/m"}`:                      noName,
		`{"apiKeyId":"k","candidates":[]}`:                                "candidates is empty: name the connections to choose from",
		`{"apiKeyId":"k","candidates":{}}`:                                "candidates is an object, not an array",
		`{"apiKeyId":"k","candidates":[{"connectionId":"c"},7,{"score":1000000.000001},{"connectionId":"c","score":-1}]}`: "candidates[1] is a number, not an object; candidates[2].connectionId is missing; " +
			"candidates[2].score is not within 0 to 1000000; candidates[3].score is not within 0 to 1000000; candidates[3].connectionId is among the candidates twice",
	} {
		eachEncoding(t, text, func(t *testing.T, data []byte, enc wire.Encoding) {
			var r Request
			if diff := cmp.Diff(&Error{Code: CodeInvalid, Message: want}, r.DecodeRoute(data, enc)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
		})
	}
	many := strings.Repeat(`{"connectionId":"c"},`, 1000) + `{"connectionId":"c"}`
	var r Request
	if err := r.DecodeRoute([]byte(`{"apiKeyId":"k","candidates":[`+many+`]}`), wire.JSON); err == nil || err.Message != "candidates has 1001 items, more than 1000" {
		t.Errorf("1001 candidates are %v", err)
	}
}

// TestARequestIsOfOneSubject: what the other one knows is unknown to it, whatever
// was read before.
func TestARequestIsOfOneSubject(t *testing.T) {
	const both = `{"apiKeyId":"k","pool":"p","route":"x","candidates":7}`
	var r Request
	for range 2 {
		if err := r.DecodeRoute([]byte(both), wire.JSON); err == nil {
			t.Error("a route is named in three ways, and is read")
		}
		if err := r.Decode([]byte(both), wire.JSON); err != nil || r.Questions[0].Reserve || r.Questions[0].Candidates != nil {
			t.Errorf("decide knows the fields of route: %v, %+v", err, r.Questions)
		}
	}
	if err := r.Decode([]byte(`{"apiKeyId":"k","pool":"p","route":"qtSd/q/kimi/m"}`), wire.JSON); err != nil || r.Questions[0].Pool != "p" || r.Questions[0].Route != "" {
		t.Errorf("decide takes the pool of a route: %v, %+v", err, r.Questions)
	}
	const wrapped = `{"specversion":"1.0","id":"1","source":"s","type":"%s","data":{"apiKeyId":"k","pool":"p"}}`
	if err := r.DecodeRoute(fmt.Appendf(nil, wrapped, RouteSubject), wire.JSON); err != nil || !r.Questions[0].Routed() {
		t.Errorf("in an envelope: %v, %+v", err, r.Questions)
	}
	if err := r.DecodeRoute(fmt.Appendf(nil, wrapped, Subject), wire.JSON); err == nil || err.Message != "type is quota.decide: use quota.route" {
		t.Errorf("in the envelope of the other: %v", err)
	}
	if err := r.Decode(fmt.Appendf(nil, wrapped, Subject), wire.JSON); err != nil || r.Questions[0].Routed() {
		t.Errorf("by decide: %v, %+v", err, r.Questions)
	}
}

// TestUsualRouteIsScanned, as the usual question of decide is.
func TestUsualRouteIsScanned(t *testing.T) {
	for _, text := range []string{
		`{"apiKeyId":"k","pool":"p","requestId":"r","estimate":{"tokens":800},"maxWaitMs":2000}`,
		`{"apiKeyId":"k","route":"qtSd/p/kimi/m"}`,
	} {
		eachEncoding(t, text, func(t *testing.T, data []byte, enc wire.Encoding) {
			r := Request{routes: true}
			if ok, err := r.scan(string(data), enc); !ok || err != nil {
				t.Errorf("%s: scanned %v, %v", text, ok, err)
			}
		})
	}
}

// TestRouteNames: every pool, provider and model has a name, and no two have one.
func TestRouteNames(t *testing.T) {
	id := rapid.StringMatching(`[ -~é]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		want := [3]string{id.Draw(t, "pool"), id.Draw(t, "provider"), id.Draw(t, "model")}
		name := RouteName(want[0], want[1], want[2])
		pool, provider, model, ok := SplitRoute(name)
		if got := [3]string{pool, provider, model}; !ok || got != want {
			t.Fatalf("%q is %q, %v", name, got, ok)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`qtSd/[a-c%2]{0,4}/[a-c%F]{0,4}/[a-c/]{0,4}`).Draw(t, "name")
		if pool, provider, model, ok := SplitRoute(name); ok && RouteName(pool, provider, model) != name {
			t.Fatalf("%q is a second name of %q", name, RouteName(pool, provider, model))
		}
	})
	if got, want := RouteName("team a", "z.ai", "glm/4.6"), "qtSd/team%20a/z%2Eai/glm/4.6"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestARecordOutlivesTheMessage that its question was read from.
func TestARecordOutlivesTheMessage(t *testing.T) {
	for _, text := range []string{
		`{"apiKeyId":"k","route":"qtSd/p/kimi/m","requestId":"r"}`,
		`{"apiKeyId":"k","pool":"p","model":"m","requestId":"r"}`,
		`{"apiKeyId":"k","candidates":[{"connectionId":"a","score":0.5},{"connectionId":"b"}]}`,
	} {
		data := []byte(text)
		var r Request
		if err := r.DecodeRoute(data, wire.JSON); err != nil {
			t.Fatal(err)
		}
		q := &r.Questions[0]
		reply := Reply{RequestID: q.RequestID}
		if len(q.Candidates) > 0 {
			reply.ConnectionID = q.Candidates[0].ConnectionID
		}
		c := Keep(q, &reply)
		want := string(AppendQuestion(nil, q)) + reply.ConnectionID
		for i := range data {
			data[i] = '#'
		}
		if got := string(AppendQuestion(nil, &c.Question)) + c.Reply.ConnectionID; got != want {
			t.Errorf("the record of %s is %s when the message is another", want, got)
		}
	}
}
