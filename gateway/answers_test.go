package gateway

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	at9h30 = 1790069400250 // 2026-09-22T09:30:00.250Z
	block  = "Quota share limit reached for your API key on kimi: 600 of 500 tokens per %s used, your share; the pool is in strict mode; " +
		"try again at %s, in %s (decision s7nzuuvu-1)"
)

// paths are the calls that are metered, by the name of their golden files.
var paths = map[string]string{
	"chat": "/v1/chat/completions", "responses": "/v1/responses", "embeddings": "/v1/embeddings", "messages": "/v1/messages",
}

// everything serves all of them.
func everything(c Connection) Connection {
	c.Serves = nil
	for _, path := range paths {
		c.Serves = append(c.Serves, path)
	}
	return c
}

// scripted is an engine that says one thing, whatever it is asked: what is held to the
// byte must not depend on a clock, or on an id.
func scripted(t testing.TB, reply questions.Reply) (url string) {
	t.Helper()
	b := brokertest.Start(t)
	nc, _ := b.Log()
	body := questions.AppendReply(nil, wire.JSON, &reply)
	_, err := nc.Subscribe(questions.Subject, func(m *nats.Msg) { _ = m.Respond(body) })
	must(t, err)
	must(t, nc.Flush())
	return b.URL()
}

// blocked is a block with a wait, which its message has as the engine writes it.
func blocked(period, wait string, waitMs int64) questions.Reply {
	return questions.Reply{
		DecisionID: "s7nzuuvu-1", Reason: "fair-share", HTTPStatus: 429,
		Message:      fmt.Sprintf(block, period, quota.FormatInstant(at9h30+waitMs), wait),
		RetryAfterMs: waitMs, RetryAt: at9h30 + waitMs, AsOf: questions.AsOf{Seq: 1, Time: at9h30},
	}
}

// date is the one thing in an answer that no golden file can have.
var date = regexp.MustCompile(`(?m)^Date: .*\r\n`)

// raw sends a request and returns the bytes of the answer, but for its date.
func (s *site) raw(method, path, token, body string) []byte {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(s.t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: %s\r\nContent-Length: %d\r\n\r\n%s", method, path, token, len(body), body)
	must(s.t, err)
	var seen bytes.Buffer
	resp, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &seen)), nil)
	must(s.t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	must(s.t, err)
	return date.ReplaceAll(seen.Bytes(), nil)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "answers", name)
	if *update {
		must(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestABlockInEveryDialect holds the 429 of each to the byte: the provider is not
// called, and the whole answer is the client's own.
func TestABlockInEveryDialect(t *testing.T) {
	for name, reply := range map[string]questions.Reply{
		"429-30s": blocked("hour", "30 s", 29_750), "429-2h": blocked("5 hours", "2 h", 7_200_000),
	} {
		s := start(t, scripted(t, reply), everything(upstream(t, func(http.ResponseWriter, *http.Request) {
			t.Error("the provider was called")
		})))
		for dialect, path := range paths {
			golden(t, name+"-"+dialect+".http", s.raw("POST", path, aliceToken, `{"model":"m","max_tokens":5}`))
		}
	}
}

// TestTheEngineWritesSuchABlock: what the golden files have as its message is what an
// engine says, but for numbers and times.
func TestTheEngineWritesSuchABlock(t *testing.T) {
	e := startEngine(t, 1000)
	s := start(t, e.url, everything(upstream(t, func(http.ResponseWriter, *http.Request) { t.Error("the provider was called") })))
	soon := time.Now().Add(time.Minute) // until then it counts whole, over a full hour too
	must(t, s.c.Publish(client.Consumption{APIKeyID: "alice", ConnectionID: "c", Time: soon, Cost: client.Amounts{Tokens: 600}}))
	must(t, s.c.Flush(within(t)))
	hourly := []plans.Dimension{{Unit: quota.Tokens, Window: quota.Hourly, Limit: 1_000_000}}
	_, err := e.PutPlan(within(t), "c", hourly, httpapi.Meta{}) // what was published before is then folded
	must(t, err)
	status, body := s.send("POST", paths["messages"], `{"model":"m","max_tokens":5}`)
	varies := regexp.MustCompile(`try again at [-0-9T:.]+Z, in [0-9a-z ]+ \(decision [0-9a-z]+-[0-9]+\)$`)
	want := varies.ReplaceAllString(blocked("hour", "30 s", 29_750).Message, "...")
	if got := varies.ReplaceAllString(message(t, body), "..."); status != 429 || got != want || !strings.HasSuffix(got, "...") {
		t.Errorf("%d %s\nwant %s", status, got, want)
	}
}

// TestFaultsInEveryDialect holds to the byte what the gateway says by itself.
func TestFaultsInEveryDialect(t *testing.T) {
	away := Connection{ID: "c", Provider: "kimi", URL: "http://127.0.0.1:1/v1", Credential: credential}
	narrow := everything(away)
	narrow.Models = []string{"kimi-*"}
	refused := everything(upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Www-Authenticate", "Bearer")
		w.WriteHeader(401)
		_, _ = io.WriteString(w, `{"error":{"message":"Incorrect API key provided: `+credential+`"}}`)
	}))
	slow := &http.Transport{ResponseHeaderTimeout: 1}
	lost := start(t, nowhere, everything(away))
	chosen := start(t, nowhere, narrow)
	denied := start(t, nowhere, refused)
	late := rig{base: slow}.start(t, nowhere, everything(upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then a server sees that its client has gone
		<-r.Context().Done()
	})))
	for dialect, path := range paths {
		golden(t, "401-"+dialect+".http", lost.raw("POST", path, "qs-of-nobody", "{}"))
		golden(t, "404-path-"+dialect+".http", lost.raw("POST", path+"/batches", aliceToken, "{}"))
		golden(t, "404-model-"+dialect+".http", chosen.raw("POST", path, aliceToken, `{"model":"gpt-\u00e9"}`))
		golden(t, "400-"+dialect+".http", lost.raw("POST", path, aliceToken, `{"model":`))
		if dialect == "messages" || dialect == "responses" { // 32 MiB each
			golden(t, "413-"+dialect+".http", lost.raw("POST", path, aliceToken, tooLong))
		}
		golden(t, "502-"+dialect+".http", lost.raw("POST", path, aliceToken, "{}"))
		golden(t, "502-credential-"+dialect+".http", denied.raw("POST", path, aliceToken, "{}"))
		golden(t, "504-"+dialect+".http", late.raw("POST", path, aliceToken, "{}"))
	}
	golden(t, "400-background-responses.http", lost.raw("POST", paths["responses"], aliceToken, `{"model":"m","background":true}`))
	for _, s := range []*site{lost, chosen, denied, late} {
		if said := s.said.String(); strings.Contains(said, credential) || strings.Contains(said, aliceToken) || strings.Contains(said, "qs-of-nobody") {
			t.Errorf("the log has a secret:\n%s", said)
		}
	}
}

// tooLong is a body of one byte more than is taken.
var tooLong = `{"model":"` + strings.Repeat("m", 32<<20+1-len(`{"model":""}`)) + `"}`
