package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/quotashare/quotashare/questions"
)

// decideMsgpack asks in msgpack and decodes the answer.
func (s *server) decideMsgpack(t *testing.T, body any) (int, any) {
	t.Helper()
	data, err := msgpack.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, answer := s.raw(t, fmt.Appendf(nil,
		"POST /api/quota/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/msgpack\r\nContent-Length: %d\r\n\r\n%s", len(data), data))
	if ct := resp.Header.Get("Content-Type"); ct != "application/msgpack" {
		t.Errorf("the answer is %s, want the request's encoding", ct)
	}
	var v any
	if err := msgpack.Unmarshal([]byte(answer), &v); err != nil {
		t.Fatalf("%v: %q", err, answer)
	}
	return resp.StatusCode, v
}

func TestDecideInMsgpack(t *testing.T) {
	srv := serve(t, newDouble(), Config{})
	good := map[string]any{"apiKeyId": "a", "connectionId": "c", "requestId": "r"}
	status, v := srv.decideMsgpack(t, good)
	if m, ok := v.(map[string]any); status != 200 || !ok || m["decision"] != "allow" || m["requestId"] != "r" {
		t.Errorf("answered %d %v, want an allow", status, v)
	}
	status, v = srv.decideMsgpack(t, map[string]any{"apiKeyId": "a"})
	if m, ok := v.(map[string]any); status != 400 || !ok || !strings.Contains(fmt.Sprint(m["error"]), "connectionId is missing") {
		t.Errorf("answered %d %v, want 400 that names connectionId", status, v)
	}
	status, v = srv.decideMsgpack(t, []any{good, 5, good})
	if list, ok := v.([]any); status != 200 || !ok || len(list) != 3 || !strings.Contains(fmt.Sprint(list[1]), "error") {
		t.Errorf("answered %d %v, want three with an error in place", status, v)
	}
}

// The status is 200 whatever the decision, and that of the error when one
// question cannot be answered; in an array the error stands in its place.
func TestDecideStatus(t *testing.T) {
	d := newDouble()
	d.decide = func(q questions.Question, r *questions.Reply) {
		switch q.APIKeyID {
		case "blocked":
			*r = questions.Reply{DecisionID: "d1", Reason: "fair-share", HTTPStatus: 429}
		case "old":
			r.Err = &questions.Error{Code: questions.CodeAtTooOld, Message: "at is too old: use replay"}
		case "bug":
			r.Err = &questions.Error{Code: questions.CodeInternal, Message: "the engine met an error of its own"}
		}
	}
	srv := serve(t, d, Config{})
	for _, c := range []struct{ body, want string }{
		{`{"apiKeyId":"blocked","connectionId":"c"}`, `200`},
		{`{"apiKeyId":"old","connectionId":"c"}`, `400`},
		{`{"apiKeyId":"bug","connectionId":"c"}`, `500`},
		{`[{"apiKeyId":"old","connectionId":"c"},{"apiKeyId":"bug","connectionId":"c"}]`, `200`},
		{"[" + strings.Repeat(`{"apiKeyId":"blocked","connectionId":"c"},`, 999) + `{"apiKeyId":"old","connectionId":"c"}]`, `200`},
		{"[" + strings.Repeat(`{"apiKeyId":"blocked","connectionId":"c"},`, 1000) + `{"apiKeyId":"old","connectionId":"c"}]`, `413`},
	} {
		got := srv.transcript(t, "POST /api/quota/decide\n\n"+c.body)
		if !strings.HasPrefix(got, c.want+"\n") {
			t.Errorf("%.80s… was answered %.300s, want %s", c.body, got, c.want)
		}
	}
}

// One request's questions and answers never show in another's, though their
// memory is used again.
func TestDecideMemoryIsNotShared(t *testing.T) {
	d := newDouble()
	d.decide = func(q questions.Question, r *questions.Reply) {
		r.HTTPStatus, r.Reason, r.Allow = 200, "ok", true
		r.DecisionID = "for-" + q.APIKeyID
		if q.APIKeyID == "first" {
			r.Detail, r.Alternatives, r.WouldBlock = "detail", []string{"other"}, true
		}
	}
	srv := serve(t, d, Config{})
	for range 20 {
		srv.transcript(t, "POST /api/quota/decide\n\n"+`[{"apiKeyId":"first","connectionId":"c"},{"apiKeyId":"first","connectionId":"c"}]`)
		got := srv.transcript(t, "POST /api/quota/decide\n\n"+`{"apiKeyId":"second","connectionId":"c"}`)
		if strings.Contains(got, "first") || strings.Contains(got, "other") || !strings.Contains(got, "for-second") {
			t.Fatalf("the second answer is %s", got)
		}
	}
}

// deadlined remembers until when an answer may be written.
type deadlined struct {
	*httptest.ResponseRecorder
	write time.Time
}

// SetWriteDeadline is for http.ResponseController.
func (d *deadlined) SetWriteDeadline(t time.Time) error {
	d.write = t
	return nil
}

// A caller may wait longer for an answer than the server writes for others.
func TestDecideMayWaitLongerThanWriting(t *testing.T) {
	srv := prepare(t, Config{Engine: newDouble()})
	const wait = 600_000
	body := fmt.Sprintf(`[{"apiKeyId":"a","connectionId":"c"},{"apiKeyId":"a","connectionId":"c","maxWaitMs":%d}]`, wait)
	w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
	begin := time.Now()
	srv.api.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/api/quota/decide", strings.NewReader(body)))
	if least := begin.Add(wait * time.Millisecond); w.Code != 200 || !w.write.After(least) {
		t.Errorf("answered %d, to be written until %s, want 200 and after %s", w.Code, w.write, least)
	}
}

// State waits for minSeq, and says so when it does not come.
func TestStateWaitsForMinSeq(t *testing.T) {
	srv := serve(t, newDouble(), Config{}, func(s *server) { s.api.stateWait = 20 * time.Millisecond })
	got := srv.transcript(t, "GET /api/quota/state?minSeq=7")
	const want = `503
Retry-After: 1
{"error":{"message":"minSeq: 7 is not folded yet after 20ms: ask again","type":"unavailable_error","code":"min-seq"}}
`
	if got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
	resp, err := http.Head("http://" + srv.addr + "/api/quota/state")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if resp.StatusCode != http.StatusOK || resp.ContentLength < 1 {
		t.Errorf("HEAD was answered %d with length %d, want 200 with a length", resp.StatusCode, resp.ContentLength)
	}
}
