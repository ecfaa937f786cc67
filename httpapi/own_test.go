package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/questions"
)

// TestKeptForOfOnesOwn: who may ask for its keys alone is told how much is kept, and not
// for which keys of others.
func TestKeptForOfOnesOwn(t *testing.T) {
	ring := newRing(t, nil)
	d := newDouble()
	d.decide = func(q questions.Question, r *questions.Reply) { *r = everyReply(&q) }
	a := prepare(t, Config{Engine: d, Tokens: ring.File}).api
	for role, want := range map[string]string{"self": `"keptFor":[{"apiKeyId":"alice","amount":25}]`, "admin": `{"apiKeyId":"*","amount":4}`} {
		for _, path := range []string{"GET /api/quota/preview?apiKeyId=alice&connectionId=kimi-1&explain=true", "POST /api/quota/decide"} {
			method, target, _ := strings.Cut(path, " ")
			r := requestOf(method, target)
			if method == "POST" {
				r = httptest.NewRequest(method, "http://localhost"+target, strings.NewReader(`{"apiKeyId":"alice","connectionId":"kimi-1","explain":true}`))
			}
			carry(r, "header", ring.of[role])
			w := httptest.NewRecorder()
			a.ServeHTTP(w, r)
			if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, want) || !strings.Contains(body, `"kept":29`) {
				t.Errorf("%s, %s: %d %s, want %s in it", role, path, w.Code, body, want)
			}
		}
	}
}
