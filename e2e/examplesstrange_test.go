package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// strange are answers that no engine gives: of a login page of the network, of another
// program at the address, of something between.
var strange = []struct {
	name, body, retryAfter string
	status                 int
	says                   string // by the example
}{
	{"html", "<html>log in</html>", "", http.StatusOK, "200: no answer of Quotashare: is http.* its address.*log in"},
	{"empty", "", "", http.StatusOK, "200: no answer of Quotashare"},
	{"null", "null", "", http.StatusOK, "200: no answer of Quotashare"},
	{"array", "[]", "", http.StatusOK, "200: no answer of Quotashare"},
	{"text", `"ok"`, "", http.StatusOK, "200: no answer of Quotashare"},
	{"no results", `{"results":[],"accepted":0,"rejected":0}`, "", http.StatusOK, "Quotashare"},
	{"null results", `{"results":null}`, "", http.StatusOK, "200: no answer of Quotashare"},
	{"negative pause", `{"error":{"message":"full"}}`, "-5", http.StatusTooManyRequests, "429: full"},
	{"no pause", `{"error":{"message":"full"}}`, "0", http.StatusTooManyRequests, "429: full"},
	{"octal pause", `{"error":{"message":"full"}}`, "08", http.StatusTooManyRequests, "given up: 429: full"},
	{"a date", `{"error":{"message":"full"}}`, "Wed, 21 Oct 2015 07:28:00 GMT", http.StatusServiceUnavailable, "503: full"},
	{"no number", `[]`, "nan", http.StatusServiceUnavailable, "503: "},
}

// TestExamplesAtAStrangersAddress: what is no answer is told, no usage is taken for
// published, and it is not asked without a pause.
func TestExamplesAtAStrangersAddress(t *testing.T) {
	for _, e := range examples {
		if e.nats {
			continue
		}
		for _, s := range strange {
			t.Run(e.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				var asked atomic.Int64
				stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked.Add(1)
					if s.retryAfter != "" {
						w.Header().Set("Retry-After", s.retryAfter)
					}
					w.WriteHeader(s.status)
					_, _ = w.Write([]byte(s.body)) // the example says what it misses
				}))
				defer stranger.Close()
				r := e.begin(t, at("", stranger.URL, "QUOTA_PATIENCE=1"))
				r.mustFail(s.says)
				mustMatch(t, r.stderr.String(), "call.http: given up: ")
				if out := r.stdout.String(); strings.Contains(out, "published") {
					t.Errorf("it prints %s", out)
				}
				if n := asked.Load(); n > 5 { // 0.1 + 0.2 + 0.4 s, and then there is no time
					t.Errorf("it asked %d times in a second", n)
				}
				if code := r.cmd.ProcessState.ExitCode(); code != 1 {
					t.Errorf("it ends with %d", code)
				}
			})
		}
	}
}
