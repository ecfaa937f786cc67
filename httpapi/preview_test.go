package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/questions"
)

// everyParameter is a question with all its fields, as decide reads it and as
// preview does.
const (
	everyField = `{"apiKeyId":"alice & co","connectionId":"c/1+2","model":"m","estimate":{"requests":1.5,"tokens":"1e3","usd":0.000000001,"percent":2},
		"requestId":"r","reserve":true,"leaseMs":60000,"minSeq":"9007199254740992","maxWaitMs":0,"explain":true}`
	everyParameter = `apiKeyId=alice+%26+co&connectionId=c%2F1%2B2&model=m&estimate.requests=1.5&estimate.tokens=1e3&estimate.usd=0.000000001&estimate.percent=2` +
		`&requestId=r&reserve=true&leaseMs=60000&minSeq=9007199254740992&maxWaitMs=0&explain=true`
)

// TestPreviewAsksWhatDecideAsks: the parameters and the document are the same
// question.
func TestPreviewAsksWhatDecideAsks(t *testing.T) {
	d := newDouble()
	var asked []questions.Question
	d.decide = func(q questions.Question, r *questions.Reply) {
		q.APIKeyID, q.ConnectionID = strings.Clone(q.APIKeyID), strings.Clone(q.ConnectionID)
		q.Pool, q.Model, q.RequestID = strings.Clone(q.Pool), strings.Clone(q.Model), strings.Clone(q.RequestID)
		q.Candidates = slices.Clone(q.Candidates)
		asked = append(asked, q)
		r.HTTPStatus, r.Reason = 200, "ok"
	}
	srv := prepare(t, Config{Engine: d})
	for _, c := range []struct{ to, body, query string }{
		{"route", `{"apiKeyId":"a","pool":"p","reserve":true,"maxWaitMs":7}`, `apiKeyId=a&pool=p&reserve=true&maxWaitMs=7`},
		{"route", `{"apiKeyId":"a","route":"qtSd/p%20q/kimi/k2/fast"}`, `apiKeyId=a&route=qtSd/p%2520q/kimi/k2/fast`},
		{"route", `{"apiKeyId":"a","candidates":[{"connectionId":"c/1+2"},{"connectionId":"d"}]}`, `apiKeyId=a&candidates=c%2F1%2B2&candidates=d`},
		{"decide", everyField, everyParameter},
		{"decide", `{"apiKeyId":"a","pool":"p","at":"2026-09-21T14:00:00+02:00","reserve":false}`, `apiKeyId=a&pool=p&at=2026-09-21T14:00:00%2B02:00&reserve=false&explain=false`},
		{"decide", `{"apiKeyId":"a","pool":"p","at":1700000000000}`, `apiKeyId=a&pool=p&at=1700000000000`},
		{"decide", `{"apiKeyId":"a","connectionId":"c","reserve":true}`, `apiKeyId=a&connectionId=c&reserve=true`},
		{"decide", `{"apiKeyId":"a","connectionId":"c","reserve":true,"estimate":{"requests":0}}`, `apiKeyId=a&connectionId=c&reserve=true&estimate.requests=0`},
	} {
		asked = nil
		for _, r := range []*http.Request{
			httptest.NewRequest("POST", "http://localhost/api/quota/"+c.to, strings.NewReader(c.body)),
			httptest.NewRequest("GET", "http://localhost/api/quota/preview?"+c.query, nil),
		} {
			w := httptest.NewRecorder()
			srv.api.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Errorf("%s %s is answered %d %s", r.Method, r.URL, w.Code, w.Body)
			}
		}
		if len(asked) != 2 {
			t.Fatalf("%s: %d questions, want two", c.query, len(asked))
		}
		if diff := cmp.Diff(asked[0], asked[1]); diff != "" {
			t.Errorf("decide asks (-) and preview asks (+):\n%s", diff)
		}
	}
}

// TestPreviewRefusesWhatDecideRefuses, in the same words.
func TestPreviewRefusesWhatDecideRefuses(t *testing.T) {
	srv := prepare(t, Config{Engine: newDouble()})
	for _, values := range []map[string]string{
		{},
		{"apiKeyId": "a"},
		{"apiKeyId": "", "connectionId": "c"},
		{"apiKeyId": "a", "connectionId": "c", "pool": "p"},
		{"apiKeyId": "a\x01", "connectionId": strings.Repeat("c", 257)},
		{"apiKeyId": "a", "connectionId": "c", "leaseMs": "3600001", "maxWaitMs": "1.5", "minSeq": "-1", "at": "now"},
	} {
		query, body := url.Values{}, &strings.Builder{}
		for name, value := range values {
			query.Set(name, value)
			fmt.Fprintf(body, ",%q:%q", name, value)
		}
		answers := make([]string, 2)
		for i, r := range []*http.Request{
			httptest.NewRequest("POST", "http://localhost/api/quota/decide", strings.NewReader("{"+strings.TrimPrefix(strings.ReplaceAll(body.String(), `\x01`, `\u0001`), ",")+"}")),
			httptest.NewRequest("GET", "http://localhost/api/quota/preview?"+query.Encode(), nil),
		} {
			w := httptest.NewRecorder()
			srv.api.ServeHTTP(w, r)
			answers[i] = fmt.Sprint(w.Code, " ", w.Body)
		}
		if answers[0] != answers[1] || !strings.HasPrefix(answers[0], "400 ") {
			t.Errorf("%v: decide answers\n%s\npreview\n%s", values, answers[0], answers[1])
		}
	}
}

// TestAnswersMayWaitForVerdicts: a question that reserves waits its maxWaitMs for
// minSeq, and once more for the verdict; others once.
func TestAnswersMayWaitForVerdicts(t *testing.T) {
	srv := prepare(t, Config{Engine: newDouble()})
	for _, c := range []struct {
		method, target, body string
		wait                 time.Duration // 0 = as long as every answer
	}{
		{"GET", "preview?apiKeyId=a&connectionId=c&maxWaitMs=600000", "", 10 * time.Minute},
		{"POST", "decide", `{"apiKeyId":"a","connectionId":"c","maxWaitMs":600000,"reserve":true}`, 20 * time.Minute},
		{"POST", "decide", `[{"apiKeyId":"a","connectionId":"c","maxWaitMs":600000},{"apiKeyId":"a","connectionId":"c","maxWaitMs":60000,"reserve":true}]`, 11 * time.Minute},
		{"POST", "decide", `{"apiKeyId":"a","connectionId":"c","reserve":true}`, 0},
		{"POST", "route", `{"apiKeyId":"a","pool":"p","maxWaitMs":599900}`, 1_199_900 * time.Millisecond},
	} {
		w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
		begin := time.Now()
		srv.api.ServeHTTP(w, httptest.NewRequest(c.method, "http://localhost/api/quota/"+c.target, strings.NewReader(c.body)))
		if c.wait == 0 {
			if !w.write.IsZero() {
				t.Errorf("%s: to be written until %s, want no other end than every answer has", c.body, w.write)
			}
			continue
		}
		if least, most := begin.Add(c.wait+writeTimeout), time.Now().Add(c.wait+writeTimeout); w.Code != 200 || w.write.Before(least) || w.write.After(most) {
			t.Errorf("%s %s: %d, to be written until %s, want within %s to %s", c.target, c.body, w.Code, w.write, least, most)
		}
	}
}

// leaving is an engine whose answers come when their callers have gone.
type leaving struct {
	*double
	asked, gone chan struct{}
}

func (l leaving) Decide(ctx context.Context, _ []questions.Question, _ []questions.Reply) {
	l.asked <- struct{}{}
	<-ctx.Done()
	l.gone <- struct{}{}
}

// TestNobodyWaitsForACallerThatLeft: the engine learns of it while it waits for a
// verdict.
func TestNobodyWaitsForACallerThatLeft(t *testing.T) {
	l := leaving{newDouble(), make(chan struct{}), make(chan struct{}, 1)}
	srv := serve(t, l.double, Config{}, func(s *server) { s.api.engine = l })
	const body = `{"apiKeyId":"a","connectionId":"c","reserve":true,"maxWaitMs":3600000}`
	conn := srv.dial(t)
	if _, err := fmt.Fprintf(conn, "POST /api/quota/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	<-l.asked
	conn.Close()
	select {
	case <-l.gone:
	case <-time.After(20 * time.Second):
		t.Fatal("the engine still waits")
	}
}
