package gateway

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// what a client may send that is not for a provider, and what is.
const (
	private = `Cookie: session=of-the-client
X-Api-Key: qs-token-of-alice
Api-Key: client-azure
X-Goog-Api-Key: client-google
Openai-Organization: org-of-the-client
Openai-Project: project-of-the-client
Proxy-Authorization: Basic cHJveHk=
Proxy-Connection: keep-alive
Connection: Upgrade, X-Hop
X-Hop: of-this-connection
Keep-Alive: timeout=5
Upgrade: websocket
Te: trailers
Forwarded: for=10.0.0.1
Via: 1.1 proxy
X-Forwarded-For: 10.0.0.1
X-Forwarded-Host: inside.example
X-Forwarded-Proto: https
X-Forwarded-Port: 443
X-Original-Url: /v1/inside
X-Real-Ip: 10.0.0.1
X-Client-Ip: 10.0.0.1
True-Client-Ip: 10.0.0.1
Cf-Connecting-Ip: 10.0.0.1
Quota-Deprioritize: true
Quota-Decision-Id: forged`
	public = `Anthropic-Beta: of-the-client
Anthropic-Version: 2023-06-01
User-Agent: claude-cli/2
X-App: cli
X-Stainless-Retry-Count: 0`
)

// TestWhatReachesAProvider holds a request to the byte, as a provider gets it.
func TestWhatReachesAProvider(t *testing.T) {
	got := make(chan string, 1)
	c := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		dump, _ := httputil.DumpRequest(r, true)
		got <- strings.ReplaceAll(string(dump), "\r\n", "\n")
		w.Header().Set("Set-Cookie", "__cf_bm=of-the-account")
		w.Header().Set("Alt-Svc", `h3=":443"`)
		w.Header().Set("Strict-Transport-Security", "max-age=1")
		w.Header().Set("Anthropic-Ratelimit-Requests-Remaining", "7")
		w.Header().Set("Request-Id", "req_1")
		_, _ = w.Write([]byte(`{"usage":{"input_tokens":1,"output_tokens":1}}`))
	})
	c.Serves, c.Headers = []string{"/v1/messages"}, map[string]string{"anthropic-beta": "of-the-connection", "x-app": "gateway"}
	s := start(t, nowhere, c)
	const body = `{"model":"claude-sonnet-4-5","max_tokens":5,"messages":[]}`
	req := s.request("POST", "/v1/messages?beta=true", body)
	for line := range strings.SplitSeq(private+"\n"+public, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	resp := s.do(req)
	if resp.StatusCode != 200 || resp.Header.Get("Request-Id") != "req_1" || resp.Header.Get("Anthropic-Ratelimit-Requests-Remaining") != "7" {
		t.Errorf("answered %d %v", resp.StatusCode, resp.Header)
	}
	for _, name := range []string{"Set-Cookie", "Alt-Svc", "Strict-Transport-Security"} {
		if resp.Header.Get(name) != "" {
			t.Errorf("the client was told %s", name)
		}
	}
	want := `POST /v1/messages?beta=true HTTP/1.1
Host: ` + strings.TrimSuffix(strings.TrimPrefix(c.URL, "http://"), "/v1") + `
Accept-Encoding: identity
Anthropic-Beta: of-the-client
Anthropic-Beta: of-the-connection
Anthropic-Version: 2023-06-01
Content-Length: 58
Te: trailers
User-Agent: claude-cli/2
X-Api-Key: sk-credential-of-the-account
X-App: gateway
X-Stainless-Retry-Count: 0

` + body
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("the provider got (-want +got):\n%s", diff)
	}
}

// TestATokenInEitherHeader, or in both, says whose a request is.
func TestATokenInEitherHeader(t *testing.T) {
	s := start(t, nowhere, upstream(t, func(http.ResponseWriter, *http.Request) {}))
	for _, tt := range []struct {
		authorization, apiKey string
		status                int
	}{
		{"Bearer " + aliceToken, "", 200},
		{"bearer  " + aliceToken, "", 200},
		{"", aliceToken, 200},
		{"Bearer " + aliceToken, aliceToken, 200},
		{"Bearer sk-ant-of-their-own", aliceToken, 200},
		{"Bearer " + aliceToken, "sk-ant-of-their-own", 200},
		{"", "", 401},
		{"Bearer", "", 401},
		{"Bearer ", "", 401},
		{"Basic " + aliceToken, "", 401},
		{aliceToken, "", 401},
		{"Bearer " + aliceToken + "x", "", 401},
		{"", "Bearer " + aliceToken, 401},
	} {
		req := s.request("GET", "/v1/models", "")
		for name, value := range map[string]string{"Authorization": tt.authorization, "X-Api-Key": tt.apiKey} {
			req.Header.Del(name)
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		if resp := s.do(req); resp.StatusCode != tt.status {
			t.Errorf("%q and %q: answered %d, want %d", tt.authorization, tt.apiKey, resp.StatusCode, tt.status)
		}
	}
}

// TestWhyAKeyIsNotKnown: nothing was sent, not as it should be, or it is of nobody. What
// was sent is not repeated.
func TestWhyAKeyIsNotKnown(t *testing.T) {
	s := start(t, nowhere, upstream(t, func(http.ResponseWriter, *http.Request) { t.Error("the provider was called") }))
	const ends = `: send "Authorization: Bearer qs-..." or "x-api-key: qs-..."; "quotashare keys issue" makes a token.`
	for _, tt := range []struct{ authorization, apiKey, want string }{
		{"", "", "The request has no token"},
		{"", " ", "The request has no token"},
		{aliceToken, "", `The Authorization header is not "Bearer" and a token`},
		{"Basic " + aliceToken, "", `The Authorization header is not "Bearer" and a token`},
		{"Bearer", "", `The Authorization header is not "Bearer" and a token`},
		{"Bearer qs-nobody", "", "No key has the token in Authorization"},
		{"", "qs-nobody", "No key has the token in x-api-key"},
		{aliceToken, "qs-nobody", "No key has the token in x-api-key"},
		{"Bearer qs-nobody", "qs-nobody", "No key has the token in Authorization, nor the one in x-api-key"},
	} {
		req := s.request("POST", "/v1/chat/completions", "{}")
		req.Header.Set("Authorization", tt.authorization)
		req.Header.Set("X-Api-Key", tt.apiKey)
		resp := s.do(req)
		if got := message(t, text(t, resp)); resp.StatusCode != 401 || got != tt.want+ends {
			t.Errorf("%q and %q: %d %s", tt.authorization, tt.apiKey, resp.StatusCode, got)
		}
	}
}

// message is what a person sees of an error.
func message(t *testing.T, body string) string {
	t.Helper()
	var answer struct{ Error struct{ Message string } }
	must(t, json.Unmarshal([]byte(body), &answer))
	return answer.Error.Message
}

// TestABaseURLThatIsWrong: nearly all unknown paths come of a base URL without /v1, or
// with one more than the client adds. What is served here is told in any case.
func TestABaseURLThatIsWrong(t *testing.T) {
	c := upstream(t, func(http.ResponseWriter, *http.Request) { t.Error("the provider was called") })
	openai, both := start(t, nowhere, c), start(t, nowhere, c, Connection{ID: "a", Provider: "anthropic", URL: c.URL, Credential: credential})
	list := c
	list.Serves = []string{"/v1/models"}
	models := start(t, nowhere, list)
	const (
		lacks    = ": the client's base URL lacks /v1"
		adds     = ": the client adds a /v1 that its base URL has already"
		ofOpenAI = ". This gateway serves POST /v1/chat/completions, POST /v1/responses, POST /v1/embeddings, GET /v1/models; what another call uses could not be counted."
		ofBoth   = ". This gateway serves POST /v1/chat/completions, POST /v1/responses, POST /v1/embeddings, POST /v1/messages, POST /v1/messages/count_tokens, GET /v1/models; what another call uses could not be counted."
		ofModels = ". This gateway serves GET /v1/models; what another call uses could not be counted."
	)
	for _, tt := range []struct {
		s                        *site
		method, path, hint, ends string
	}{
		{openai, "POST", "/chat/completions", ", but /v1/chat/completions" + lacks, ofOpenAI},
		{both, "POST", "/messages", ", but /v1/messages" + lacks, ofBoth},
		{both, "POST", "/v1/v1/messages", ", but /v1/messages" + adds, ofBoth},
		{openai, "POST", "/v1/v1/chat/completions", ", but /v1/chat/completions" + adds, ofOpenAI},
		{both, "GET", "/v1/v1/models", ", but /v1/models" + adds, ofBoth},
		{both, "GET", "/models/gpt-5", ", but /v1/models" + lacks, ofBoth},
		{openai, "GET", "/v1/chat/completions", "", ofOpenAI},
		{openai, "GET", "/chat/completions", "", ofOpenAI},
		{openai, "POST", "/v1/files", "", ofOpenAI},
		{models, "POST", "/v1/files", "", ofModels},
	} {
		status, body := tt.s.send(tt.method, tt.path, "{}")
		want := "There is no " + tt.method + " " + tt.path + " here" + tt.hint + tt.ends
		if got := message(t, body); status != 404 || got != want {
			t.Errorf("%d\ngot  %s\nwant %s", status, got, want)
		}
		if anthropic := strings.HasPrefix(body, `{"type":"error"`); anthropic != strings.HasSuffix(tt.path, "/messages") {
			t.Errorf("%s is answered in other words than its client's: %s", tt.path, body)
		}
	}
}

// TestPaths: what stands for /v1 is the connection's, the rest and the query are the
// client's, and what is no known call goes nowhere.
func TestPaths(t *testing.T) {
	var at string
	c := upstream(t, func(_ http.ResponseWriter, r *http.Request) { at = r.RequestURI })
	c.Serves = []string{"/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens"}
	plain, other, bare := start(t, nowhere, c), c, c
	other.URL = strings.TrimSuffix(c.URL, "/v1") + "/open%2Fai/compat/v4/"
	bare.URL = strings.TrimSuffix(c.URL, "/v1")
	moved, root := start(t, nowhere, other), start(t, nowhere, bare)
	for _, tt := range []struct {
		s                  *site
		method, path, want string // "" = 404
	}{
		{plain, "POST", "/v1/chat/completions", "/v1/chat/completions"},
		{plain, "POST", "/v1/chat/completions?a=1&b=%20", "/v1/chat/completions?a=1&b=%20"},
		{moved, "POST", "/v1/chat/completions", "/open%2Fai/compat/v4/chat/completions"},
		{root, "POST", "/v1/chat/completions", "/chat/completions"},
		{plain, "POST", "/v1/messages/count_tokens?beta=true", "/v1/messages/count_tokens?beta=true"},
		{plain, "GET", "/v1/models", "/v1/models"},
		{plain, "GET", "/v1/models?limit=1000", "/v1/models?limit=1000"},
		{plain, "HEAD", "/v1/models", "/v1/models"},
		{plain, "GET", "/v1/models/gpt-5.1", "/v1/models/gpt-5.1"},
		{moved, "GET", "/v1/models/meta%2Fllama-3:free", "/open%2Fai/compat/v4/models/meta%2Fllama-3:free"},
		{plain, "GET", "/v1/models/meta/llama@2+x_y", "/v1/models/meta/llama@2+x_y"},
		{plain, "POST", "/v1/responses", ""}, // not served by this one
		{plain, "POST", "/v1/embeddings", ""},
		{plain, "GET", "/v1/chat/completions", ""},
		{plain, "POST", "/v1/chat/completions/", ""},
		{plain, "POST", "/v1//chat/completions", ""},
		{plain, "POST", "/v1/messages/batches", ""},
		{plain, "POST", "/v1/completions", ""},
		{plain, "POST", "/v1/models", ""},
		{plain, "DELETE", "/v1/models/ft-1", ""},
		{plain, "GET", "/v1/models/", ""},
		{plain, "GET", "/v1/models/../organization/admin_api_keys", ""},
		{plain, "GET", "/v1/models/%2e%2e/organization/admin_api_keys", ""},
		{plain, "GET", "/v1/models/a%2F..%2F..%2Ffiles", ""},
		{plain, "GET", "/v1/models/%252e%252e/files", ""},
		{plain, "GET", "/v1/models/..%5cfiles", ""},
		{plain, "GET", "/v1/models/a;b", ""},
		{plain, "GET", "/v1/models/a%00b", ""},
		{plain, "GET", "/", ""},
		{plain, "OPTIONS", "/v1/chat/completions", ""},
	} {
		at = ""
		status, body := tt.s.send(tt.method, tt.path, "{}")
		if at != tt.want || (status == 404) != (tt.want == "") {
			t.Errorf("%s %s: %d, went to %q, want %q\n%s", tt.method, tt.path, status, at, tt.want, body)
		}
	}
}

// TestModelsChooseTheConnection: the first that serves the path and has the model.
func TestModelsChooseTheConnection(t *testing.T) {
	var at string
	named := func(id, provider string, models ...string) Connection {
		c := upstream(t, func(http.ResponseWriter, *http.Request) { at = id })
		c.ID, c.Provider, c.Models = id, provider, models
		return c
	}
	s := start(t, nowhere,
		named("mini", "openai", "gpt-5-mini", "o4*"), named("claude", "anthropic", "claude-*"), named("opus", "anthropic", "claude-opus-4"),
		named("all", "openai"), named("never", "openai"))
	narrow := start(t, nowhere, named("only", "openai", "gpt-5-mini"))
	for _, tt := range []struct {
		s                        *site
		method, path, body, want string
	}{
		{s, "POST", "/v1/chat/completions", `{"model":"gpt-5-mini"}`, "mini"},
		{s, "POST", "/v1/chat/completions", `{"model":"gpt-5-mini-2"}`, "all"},
		{s, "POST", "/v1/chat/completions", `{"model":"gpt-5"}`, "all"},
		{s, "POST", "/v1/responses", `{"model":"o4-mini"}`, "mini"},
		{s, "POST", "/v1/embeddings", `{"model":"o4"}`, "mini"},
		{s, "POST", "/v1/chat/completions", `{"model":"xo4"}`, "all"},
		{s, "POST", "/v1/messages", `{"model":"claude-opus-4"}`, "claude"},
		{s, "POST", "/v1/messages/count_tokens", `{"model":"claude-opus-4"}`, "claude"},
		{s, "POST", "/v1/messages", `{"model":"gpt-5"}`, ""},
		{s, "POST", "/v1/messages/count_tokens", `{"model":"gpt-5"}`, ""},
		{s, "POST", "/v1/chat/completions", `{}`, "mini"}, // the provider says that none is named
		{s, "GET", "/v1/models", "", "mini"},
		{s, "GET", "/v1/models/o4-mini", "", "mini"},
		{s, "GET", "/v1/models/claude-opus-4", "", "all"}, // a client of OpenAI's
		{narrow, "GET", "/v1/models", "", "only"},
		{narrow, "GET", "/v1/models/gpt-5", "", ""},
	} {
		at = ""
		if status, body := tt.s.send(tt.method, tt.path, tt.body); at != tt.want || (status == 404) != (tt.want == "") {
			t.Errorf("%s %s: %d, went to %q, want %q\n%s", tt.path, tt.body, status, at, tt.want, body)
		}
	}
	req := s.request("GET", "/v1/models", "")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	if s.do(req); at != "claude" {
		t.Errorf("a client of Anthropic's got the models of %s", at)
	}
}

// TestHTTP2ToAProvider: over TLS, the provider's own protocol.
func TestHTTP2ToAProvider(t *testing.T) {
	var proto string
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { proto = r.Proto }))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	tr := NewTransport()
	tr.TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig
	s := rig{base: tr}.start(t, nowhere, Connection{ID: "c", Provider: "kimi", URL: srv.URL + "/v1", Credential: credential})
	if status, body := s.send("POST", "/v1/chat/completions", `{"model":"m"}`); status != 200 || proto != "HTTP/2.0" {
		t.Errorf("%d over %s: %s", status, proto, body)
	}
}
