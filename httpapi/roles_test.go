package httpapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quotashare/quotashare/secretfile"
	"github.com/quotashare/quotashare/tokens"
)

// ring is a token file on a clock of the test, with a token of each role.
type ring struct {
	*tokens.File
	t      *testing.T
	path   string
	start  time.Time
	passed atomic.Int64
	of     map[string]string // tokens by their names
}

func newRing(t *testing.T, log *slog.Logger) *ring {
	t.Helper()
	r := &ring{t: t, path: filepath.Join(t.TempDir(), "tokens.json"), start: time.Now(), of: map[string]string{}}
	for _, role := range []tokens.Role{tokens.Ingest, tokens.Read, tokens.Admin} {
		r.add(tokens.Token{Name: role.String(), Role: role})
	}
	r.add(tokens.Token{Name: "self", Role: tokens.Self, Keys: []string{"alice", "alice-ci"}})
	r.add(tokens.Token{Name: "guest", Role: tokens.Read, ExpiresAt: time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC)})
	f, err := tokens.OpenAt(r.path, log, func() time.Time { return r.start.Add(time.Duration(r.passed.Load())) })
	if err != nil {
		t.Fatal(err)
	}
	r.File = f
	return r
}

func (r *ring) add(one tokens.Token) {
	r.t.Helper()
	token, err := tokens.Add(r.path, one, r.start)
	if err != nil {
		r.t.Fatal(err)
	}
	r.of[one.Name] = token
}

// remove takes the tokens of a name away, and waits until that is seen.
func (r *ring) remove(name string) {
	r.t.Helper()
	if _, err := tokens.Remove(r.path, name, ""); err != nil {
		r.t.Fatal(err)
	}
	r.passed.Add(int64(secretfile.Every))
}

// named puts tokens in the places of their names.
func (r *ring) named(request string) string {
	if r == nil {
		return request
	}
	for name, token := range r.of {
		request = strings.ReplaceAll(request, "$"+name, token)
	}
	return request
}

// become is a command of the transcripts.
func (r *ring) become(what string) {
	r.t.Helper()
	if what != "damaged" {
		r.t.Fatalf("tokens cannot become %q", what)
	}
	r.damage()
}

// damage makes the file one that cannot be read, and waits until that is seen.
func (r *ring) damage() {
	r.t.Helper()
	if err := os.WriteFile(r.path, []byte(`{"tokens":[{}]}`), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.passed.Add(int64(secretfile.Every))
}

// mayCall says who may call what, beside nobody, whom the two paths of health and those
// of the session alone answer. A route that is not here fails the test.
var mayCall = map[string]string{
	"GET /{$}":                               "ingest read self admin",
	"GET /healthz":                           "nobody ingest read self admin",
	"GET /readyz":                            "nobody ingest read self admin",
	"GET /metrics":                           "read admin",
	"GET /api/openapi.json":                  "ingest read self admin",
	"GET /api/asyncapi.json":                 "ingest read self admin",
	"GET /api/schemas/{file}":                "ingest read self admin",
	"GET /api/quota/session":                 "nobody ingest read self admin",
	"POST /api/quota/session":                "nobody ingest read self admin",
	"DELETE /api/quota/session":              "nobody ingest read self admin",
	"GET /api/quota/pools":                   "read admin",
	"POST /api/quota/pools":                  "admin",
	"GET /api/quota/pools/{id}":              "read admin",
	"PATCH /api/quota/pools/{id}":            "admin",
	"DELETE /api/quota/pools/{id}":           "admin",
	"GET /api/quota/pools/{id}/usage":        "read self admin",
	"GET /api/quota/pools/{id}/history":      "read admin",
	"GET /api/quota/connections":             "read admin",
	"GET /api/quota/keys":                    "read self admin",
	"GET /api/quota/plans":                   "read admin",
	"GET /api/quota/plans/{connectionId}":    "read admin",
	"PUT /api/quota/plans/{connectionId}":    "admin",
	"DELETE /api/quota/plans/{connectionId}": "admin",
	"GET /api/quota/settings":                "read admin",
	"PUT /api/quota/settings":                "admin",
	"POST /api/quota/decide":                 "self admin",
	"POST /api/quota/route":                  "self admin",
	"GET /api/quota/preview":                 "read self admin",
	"POST /api/quota/release":                "ingest self admin",
	"GET /api/quota/explain":                 "read admin",
	"POST /api/quota/whatif":                 "read admin",
	"POST /api/quota/reach":                  "read admin",
	"GET /api/quota/decisions":               "read admin",
	"POST /api/quota/events":                 "ingest admin",
	"GET /api/quota/state":                   "read admin",
	"GET /api/quota/snapshots":               "read admin",
	"POST /api/quota/snapshots":              "admin",
	"GET /api/quota/rejected":                "read admin",
	"GET /api/quota/stream":                  "read admin",
	"GET /api/quota/changes":                 "read admin",
}

// Each role with each route, over a header and over a cookie.
func TestEveryRoleAndEveryRoute(t *testing.T) {
	ring := newRing(t, nil)
	srv := prepare(t, Config{Engine: newDouble(), Tokens: ring.File})
	routes := 0
	for _, route := range srv.api.table(http.NotFoundHandler()) {
		for m := range route.methods {
			routes++
			name := m + " " + route.path
			may, decided := mayCall[name]
			if !decided {
				t.Errorf("nobody has decided who may call %s", name)
			}
			for _, role := range []string{"nobody", "ingest", "read", "self", "admin"} {
				for _, how := range []string{"header", "cookie"} {
					r := requestOf(m, route.path)
					carry(r, how, ring.of[role])
					w := httptest.NewRecorder()
					srv.api.ServeHTTP(w, r)
					if problem := judge(w, slices.Contains(strings.Fields(may), role), role, may); problem != "" {
						t.Errorf("%s as %s by %s: %s: %d %s", name, role, how, problem, w.Code, w.Body)
					}
				}
			}
		}
	}
	if routes != len(mayCall) {
		t.Errorf("%d routes, and it is decided about %d", routes, len(mayCall))
	}
}

// requestOf is a request for the route, which nobody waits for.
func requestOf(method, path string) *http.Request {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	path = strings.NewReplacer("{$}", "", "{id}", "a", "{connectionId}", "c", "{file}", "due.json").Replace(path)
	return httptest.NewRequest(method, "http://localhost:8480"+path, strings.NewReader("{}")).WithContext(gone)
}

// carry puts a token into a request as a program does, or as a page of the server.
func carry(r *http.Request, how, token string) {
	switch {
	case token == "":
	case how == "header":
		r.Header.Set("Authorization", "Bearer "+token)
	default:
		r.AddCookie(cookie(r, token, time.Hour))
		r.Header.Set("Origin", "http://localhost:8480")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
}

// judge says what is wrong with an answer to somebody who may, or may not.
func judge(w *httptest.ResponseRecorder, may bool, role, roles string) string {
	refused := w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden
	var answer struct {
		Error struct{ Message, Code string }
	}
	_ = json.Unmarshal(w.Body.Bytes(), &answer) // what is none has no code
	switch e := answer.Error; {
	case may && refused:
		return "it may"
	case may:
	case role == "nobody" && (w.Code != http.StatusUnauthorized || e.Code != "unauthorized"):
		return "that is to be 401"
	case role == "nobody":
	case w.Code != http.StatusForbidden || e.Code != "role-not-allowed":
		return "that is to be 403"
	case !strings.Contains(e.Message, strings.ReplaceAll(roles, " ", " or ")) || !strings.HasSuffix(e.Message, "the role "+role):
		return "it does not say which role is needed"
	}
	return ""
}

// Whose token is good in no way may nothing, whatever it is sent as.
func TestTokensThatAreNotGood(t *testing.T) {
	ring := newRing(t, nil)
	srv := prepare(t, Config{Engine: newDouble(), Tokens: ring.File, Token: "s3cret"})
	admin := ring.of["admin"]
	ring.remove("admin")
	for _, c := range []struct{ name, how, token, says string }{
		{"removed", "header", admin, "authorization: the token is not one of this server's"},
		{"removed", "cookie", admin, "the session has ended: its token is not one of this server's"},
		{"beginning of one", "header", ring.of["read"][:tokens.PrefixLength], "not one of"},
		{"of the other kind", "header", "s3cret2", "not one of"},
	} {
		r := requestOf("GET", "/api/quota/pools")
		carry(r, c.how, c.token)
		w := httptest.NewRecorder()
		srv.api.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), c.says) || strings.Contains(w.Body.String(), c.token) {
			t.Errorf("%s by %s: %d %s", c.name, c.how, w.Code, w.Body)
		}
	}
	// The one that is set is an admin's beside the file, and goes before a cookie.
	for _, token := range []string{"s3cret", "wrong"} {
		r := requestOf("PUT", "/api/quota/settings")
		carry(r, "cookie", ring.of["read"])
		carry(r, "header", token)
		w := httptest.NewRecorder()
		srv.api.ServeHTTP(w, r)
		if want := map[string]int{"s3cret": 200, "wrong": 401}[token]; w.Code != want {
			t.Errorf("%s with a cookie: %d %s, want %d", token, w.Code, w.Body, want)
		}
	}
}

// With a token file everybody needs a token, also when there are none in it.
func TestAnEmptyFileLetsNobodyIn(t *testing.T) {
	f, err := tokens.Open(filepath.Join(t.TempDir(), "none.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	srv := prepare(t, Config{Engine: newDouble(), Tokens: f})
	for _, token := range []string{"", "x", "qt-"} {
		r := requestOf("GET", "/api/quota/pools")
		carry(r, "header", token)
		w := httptest.NewRecorder()
		srv.api.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%q: %d %s", token, w.Code, w.Body)
		}
	}
}

// Where nobody has looked who it is, it is nobody.
func TestWhoWasNotLookedAtIsNobody(t *testing.T) {
	if err := everyRole.check(callerOf(requestOf("GET", "/"))); err == nil {
		t.Error("it may call what needs a role")
	}
}
