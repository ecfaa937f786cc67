package e2e

import (
	"strings"
	"testing"
)

// badCall is a request that HTTP has to refuse.
type badCall struct {
	name, method, path string
	contentType        string // "" = application/json
	body               string
	status             int
	words              string // in the message: the field, most of all
}

func pool(fields string) string {
	return `{"name":"P","provider":"custom","connectionIds":["fresh"],` + fields + `}`
}

var badCalls = []badCall{
	{name: "no JSON", method: "POST", path: "/api/quota/pools", body: `{"name"`, status: 400},
	{name: "trailing data", method: "POST", path: "/api/quota/pools", body: `{} {}`, status: 400},
	{name: "null", method: "POST", path: "/api/quota/pools", body: `null`, status: 400},
	{name: "no name", method: "POST", path: "/api/quota/pools", body: `{"provider":"p","connectionIds":["x"]}`, status: 400, words: "name"},
	{name: "no connections", method: "POST", path: "/api/quota/pools", body: `{"name":"P","provider":"p","connectionIds":[]}`, status: 400, words: "connectionIds"},
	{name: "connection twice", method: "POST", path: "/api/quota/pools", body: `{"name":"P","provider":"p","connectionIds":["x","x"]}`, status: 400, words: "connectionIds"},
	{name: "connection of another pool", method: "POST", path: "/api/quota/pools", body: `{"name":"P","provider":"custom","connectionIds":["conn:2"]}`, status: 409, words: "conn:2"},
	{name: "id taken", method: "POST", path: "/api/quota/pools", body: `{"id":"team","name":"P","provider":"p","connectionIds":["x"]}`, status: 409, words: "team"},
	{name: "unknown mode", method: "POST", path: "/api/quota/pools", body: pool(`"mode":"on"`), status: 400, words: "mode"},
	{name: "unknown policy", method: "POST", path: "/api/quota/pools", body: pool(`"allocations":[{"apiKeyId":"a","weight":1,"policy":"gentle"}]`), status: 400, words: "allocations[0].policy"},
	{name: "weight above 100", method: "POST", path: "/api/quota/pools", body: pool(`"allocations":[{"apiKeyId":"a","weight":101}]`), status: 400, words: "allocations[0].weight"},
	{name: "weight is NaN", method: "POST", path: "/api/quota/pools", body: pool(`"allocations":[{"apiKeyId":"a","weight":"NaN"}]`), status: 400, words: "allocations[0].weight"},
	{name: "key twice", method: "POST", path: "/api/quota/pools", body: pool(`"allocations":[{"apiKeyId":"a","weight":1},{"apiKeyId":"a","weight":1}]`), status: 400, words: "allocations[1].apiKeyId"},
	{name: "cap without unit", method: "POST", path: "/api/quota/pools", body: pool(`"allocations":[{"apiKeyId":"a","weight":1,"capValue":5}]`), status: 400, words: "capUnit"},
	{name: "cap of zero", method: "POST", path: "/api/quota/pools", body: pool(`"allocations":[{"apiKeyId":"a","weight":1,"capValue":0,"capUnit":"usd"}]`), status: 400, words: "capValue"},
	{name: "model cap of everybody", method: "POST", path: "/api/quota/pools", body: pool(`"modelCaps":[{"apiKeyId":"*","model":"m","capValue":1,"capUnit":"usd"}]`), status: 400, words: "modelCaps[0].apiKeyId"},
	{name: "unknown unit", method: "PUT", path: "/api/quota/plans/x", body: `{"dimensions":[{"unit":"euro","window":"5h","limit":1}]}`, status: 400, words: "dimensions[0].unit"},
	{name: "unknown window", method: "PUT", path: "/api/quota/plans/x", body: `{"dimensions":[{"unit":"usd","window":"2h","limit":1}]}`, status: 400, words: "dimensions[0].window"},
	{name: "negative limit", method: "PUT", path: "/api/quota/plans/x", body: `{"dimensions":[{"unit":"usd","window":"5h","limit":-1}]}`, status: 400, words: "dimensions[0].limit"},
	{name: "limit of 1e999999999", method: "PUT", path: "/api/quota/plans/x", body: `{"dimensions":[{"unit":"usd","window":"5h","limit":1e999999999}]}`, status: 400, words: "dimensions[0].limit"},
	{name: "dimension twice", method: "PUT", path: "/api/quota/plans/x", body: `{"dimensions":[{"unit":"usd","window":"5h","limit":1},{"unit":"usd","window":"5h","limit":2}]}`, status: 400, words: "dimensions[1]"},
	{name: "event without key", method: "POST", path: "/api/quota/events", body: `{"connectionId":"c"}`, status: 400, words: "apiKeyId"},
	{name: "event with an unknown cost", method: "POST", path: "/api/quota/events", body: with(`"cost":{"token":1}`), status: 400, words: "cost.token"},
	{name: "event of 40 digits", method: "POST", path: "/api/quota/events", body: with(`"cost":{"usd":` + strings.Repeat("9", 40) + `}`), status: 400, words: "cost.usd"},
	{name: "event in 1970", method: "POST", path: "/api/quota/events", body: with(`"time":1234`), status: 400, words: "time"},
	{name: "event of configuration", method: "POST", path: "/api/quota/events", body: `{"type":"quota.config.pool","id":"x"}`, status: 400, words: "type"},
	{name: "event with a key of 2 MB", method: "POST", path: "/api/quota/events", body: `{"connectionId":"c","apiKeyId":"` + strings.Repeat("k", 2<<20) + `"}`, status: 400, words: "apiKeyId"},
	{name: "an empty array of events", method: "POST", path: "/api/quota/events", body: `[]`, status: 400},
	{name: "a body of 9 MB", method: "POST", path: "/api/quota/events", body: `[` + strings.Repeat(" ", 9<<20) + `]`, status: 413, words: "8 MiB"},
	{name: "a form", method: "POST", path: "/api/quota/events", contentType: "application/x-www-form-urlencoded", body: `apiKeyId=a`, status: 400},
	{name: "a stream of pools", method: "POST", path: "/api/quota/pools", contentType: "application/x-ndjson", body: `{}`, status: 415, words: "content-type"},
	{name: "a sequence that is none", method: "GET", path: "/api/quota/state?minSeq=-1", status: 400, words: "minSeq"},
	{name: "wrong method", method: "PUT", path: "/api/quota/events", body: `{}`, status: 405, words: "POST"},
	{name: "unknown path", method: "GET", path: "/api/quota/nothing", status: 404, words: "/api/quota/nothing"},
	{name: "unknown pool", method: "GET", path: "/api/quota/pools/nobody", status: 404, words: "nobody"},
}

func TestBadCallsAreRefusedAndWriteNothing(t *testing.T) {
	v := newVictim(t)
	before := v.at(0)
	for _, c := range badCalls {
		t.Run(c.name, func(t *testing.T) {
			contentType := "application/json"
			if c.contentType != "" {
				contentType = c.contentType
			}
			status, body := v.call(c.method, c.path, contentType, c.body)
			a := parseAnswer(t, []byte(body))
			if status != c.status || a.Error == nil || a.Error.Message == "" || !strings.Contains(a.Error.Message, c.words) {
				t.Errorf("%d %s; want %d and a message with %q", status, body, c.status, c.words)
			}
		})
	}
	if after := v.at(0); after != before {
		t.Errorf("the log went from %+v to %+v", before, after)
	}
	v.mustGoOn(t)
	v.mustHaveRejected(t, 0)
}
