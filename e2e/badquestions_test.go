package e2e

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// badQuestion is a question that cannot be answered, over NATS and over HTTP.
type badQuestion struct {
	name  string
	data  string
	code  string
	words string // in the message: the field, most of all
}

// about is a question that is right but for some more fields.
func about(fields string) string {
	return `{"apiKeyId":"a","connectionId":"c",` + fields + `}`
}

func badQuestions(t *testing.T) []badQuestion {
	t.Helper()
	return []badQuestion{
		{"half a document", `{"apiKeyId":"a"`, "undecodable", ""},
		{"text", `hello`, "undecodable", ""},
		{"half of msgpack", "\x82\xa8apiKeyId\xa1a", "undecodable", ""},
		{"two documents", about(`"model":"m"`) + `{}`, "undecodable", ""},
		{"a name twice", about(`"model":"a","model":"b"`), "undecodable", "model"},
		{"null", `null`, "invalid", ""},
		{"a number", `42`, "invalid", ""},
		{"no key", `{"connectionId":"c"}`, "invalid", "apiKeyId"},
		{"neither connection nor pool", `{"apiKeyId":"a"}`, "invalid", "connectionId"},
		{"connection and pool", about(`"pool":"team"`), "invalid", "pool"},
		{"unknown pool", `{"apiKeyId":"a","pool":"nobody's"}`, "invalid", "pool"},
		{"key of another type", `{"apiKeyId":5,"connectionId":"c"}`, "invalid", "apiKeyId"},
		{"empty id", `{"apiKeyId":"","connectionId":"c"}`, "invalid", "apiKeyId"},
		{"id of 257 bytes", fmt.Sprintf(`{"apiKeyId":"%s","connectionId":"c"}`, strings.Repeat("x", 257)), "invalid", "apiKeyId"},
		{"id with a control character", `{"apiKeyId":"a\u0007","connectionId":"c"}`, "invalid", "apiKeyId"},
		{"estimate of another type", about(`"estimate":5`), "invalid", "estimate"},
		{"unknown estimate", about(`"estimate":{"token":5}`), "invalid", "estimate.token"},
		{"negative estimate", about(`"estimate":{"tokens":-5}`), "invalid", "estimate.tokens"},
		{"bare NaN", about(`"estimate":{"tokens":NaN}`), "undecodable", ""},
		{"msgpack NaN", packed(t, object{"apiKeyId": "a", "connectionId": "c", "estimate": object{"tokens": math.NaN()}}), "invalid", "estimate.tokens"},
		{"1e400", about(`"estimate":{"tokens":1e400}`), "invalid", "estimate.tokens"},
		{"1e999999999", about(`"estimate":{"tokens":1e999999999}`), "invalid", "estimate.tokens"},
		{"40 digits", about(`"estimate":{"usd":` + strings.Repeat("9", 40) + `}`), "invalid", "estimate.usd"},
		{"at in 1970", about(`"at":1234`), "invalid", "at"},
		{"at is no time", about(`"at":"tomorrow"`), "invalid", "at"},
		{"at before what is counted", fmt.Sprintf(`{"apiKeyId":"key 0","connectionId":"conn:0","at":%d}`, month-2*monthMillis), "at-too-old", "replay"},
		{"a hold at another time", about(`"reserve":true,"at":` + fmt.Sprint(month)), "invalid", "reserve"},
		{"a hold on a pool", `{"apiKeyId":"a","pool":"team","reserve":true}`, "invalid", "reserve"},
		{"negative sequence", about(`"minSeq":-1`), "invalid", "minSeq"},
		{"wait for ever", about(`"maxWaitMs":1e9`), "invalid", "maxWaitMs"},
		{"1,001 questions", "[" + strings.Repeat(about(`"model":"m"`)+",", 1000) + about(`"model":"m"`) + "]", "too-many", "1000"},
		{"100,000 questions", "[" + strings.Repeat("{},", 99_999) + "{}]", "too-many", "1000"},
	}
}

func TestBadQuestionsAreAnsweredWithTheirFault(t *testing.T) {
	v := newVictim(t)
	v.mustGoOn(t) // so that there is something in the windows
	for _, q := range badQuestions(t) {
		t.Run(q.name, func(t *testing.T) {
			before := v.stat(t, "errors")
			m, err := v.nc.RequestWithContext(deadline(t), "quota.decide", []byte(q.data))
			if err != nil {
				t.Fatal(err)
			}
			if code := m.Header.Get("Nats-Service-Error-Code"); code == "" || m.Header.Get("Nats-Service-Error") == "" {
				t.Errorf("the answer is no error of a micro service: %v", m.Header)
			}
			if m.Header.Get("Content-Type") == "application/json" {
				q.check(t, string(m.Data))
			}
			if after := v.stat(t, "errors"); after != before+1 {
				t.Errorf("the counter went from %d to %d", before, after)
			}
			status, body := v.call("POST", "/api/quota/decide", "", q.data)
			if status < 400 || status > 499 {
				t.Errorf("over HTTP the status is %d", status)
			}
			if strings.HasPrefix(body, "{") {
				q.check(t, body)
			}
			v.mustGoOn(t)
		})
	}
	v.mustHaveRejected(t, 0)
}

func (q *badQuestion) check(t *testing.T, body string) {
	t.Helper()
	a := parseAnswer(t, []byte(body))
	if a.Error == nil || a.Error.Code != q.code || a.Error.Message == "" || !strings.Contains(a.Error.Message, q.words) {
		t.Errorf("the answer is %s; want code %s and a message with %q", body, q.code, q.words)
	}
}

// Real questions, too many for a message of NATS, over HTTP.
func TestHundredThousandQuestionsOverHTTP(t *testing.T) {
	v := newVictim(t)
	one := about(`"explain":true`)
	q := badQuestion{code: "too-many", words: "1000"}
	status, body := v.call("POST", "/api/quota/decide", "application/json", "["+strings.Repeat(one+",", 99_999)+one+"]")
	if status != 413 {
		t.Errorf("the status is %d", status)
	}
	q.check(t, body)
	v.mustGoOn(t)
}

// In an array the bad question has its error in its place.
func TestABadQuestionAmongOthers(t *testing.T) {
	v := newVictim(t)
	data := request(t, v.nc, "quota.decide", `[{"apiKeyId":"a","connectionId":"c"},{"connectionId":"c"},{"apiKeyId":"a","connectionId":"conn:0"}]`)
	var list []answer
	decode(t, string(data), &list)
	if len(list) != 3 || list[0].Reason != "no-pool" || list[2].Reason != "no-allocation" ||
		list[1].Error == nil || !strings.Contains(list[1].Error.Message, "apiKeyId") {
		t.Errorf("the answer is %s", data)
	}
}

// An answer that would become an event, or a command to the broker, is not sent.
func TestAQuestionCannotWriteEvents(t *testing.T) {
	v := newVictim(t)
	before := v.at(0)
	for n, reply := range []string{
		"quota.config.pool.x", "quota.consumption", "quota.config.settings", "quota.decide", "$KV.other.key", "$anything",
	} {
		m := nats.NewMsg("quota.decide")
		m.Reply, m.Data = reply, []byte(about(`"explain":true`))
		// Twice: the error of a bad question is an answer too.
		for _, data := range []string{about(`"explain":true`), "[]["} {
			m.Data = []byte(data)
			if err := v.nc.PublishMsg(m); err != nil {
				t.Fatal(err)
			}
		}
		// Questions are answered in turn, so these have had theirs.
		request(t, v.nc, "quota.decide", about(`"model":"m"`))
		if got := v.stat(t, "refused"); got != 2*(n+1) {
			t.Errorf("%s: %d questions are refused, want %d", reply, got, 2*(n+1))
		}
	}
	after := v.at(0)
	if after.LastSeq != before.LastSeq || after.Digest != before.Digest {
		t.Errorf("the log went from %+v to %+v", before, after)
	}
	v.mustGoOn(t)
	v.mustHaveRejected(t, 0)
	if pools := v.pools(t); pools != onlyTeam {
		t.Errorf("the pools are %s", pools)
	}
}

// An answer that the broker would not take is an error, not silence.
func TestAnAnswerBeyondMaxPayload(t *testing.T) {
	v := newVictim(t)
	var dimensions []string
	for _, unit := range []string{"requests", "tokens", "usd", "percent"} {
		for _, window := range []string{"hourly", "5h", "daily", "weekly", "monthly"} {
			dimensions = append(dimensions, fmt.Sprintf(`{"unit":%q,"window":%q,"limit":1000}`, unit, window))
		}
	}
	v.mustCall("PUT", "/api/quota/plans/many", `{"dimensions":[`+strings.Join(dimensions, ",")+`]}`)
	v.mustCall("POST", "/api/quota/pools", `{"name":"many","provider":"custom","connectionIds":["many"],"allocations":[{"apiKeyId":"a","weight":1}]}`)
	ask := func(n int, fields string) string {
		one := `{"apiKeyId":"a","connectionId":"many"` + fields + `}`
		return "[" + strings.Repeat(one+",", n-1) + one + "]"
	}
	data := request(t, v.nc, "quota.decide", ask(1000, `,"explain":true`))
	q := badQuestion{code: "too-large", words: "explain"}
	q.check(t, string(data))

	for name, body := range map[string]string{"fewer": ask(10, `,"explain":true`), "no explain": ask(1000, "")} {
		var list []answer
		decode(t, string(request(t, v.nc, "quota.decide", body)), &list)
		if want := strings.Count(body, "{"); len(list) != want {
			t.Errorf("%s: %d answers, want %d", name, len(list), want)
		}
	}
	// HTTP has no such bound.
	status, body := v.call("POST", "/api/quota/decide", "application/json", ask(1000, `,"explain":true`))
	var list []answer
	decode(t, body, &list)
	if status != 200 || len(list) != 1000 || len(list[999].Dimensions) != 20 {
		t.Errorf("over HTTP: status %d, %d answers", status, len(list))
	}
	v.mustGoOn(t)
}
