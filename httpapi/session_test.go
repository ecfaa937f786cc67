package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/secretfile"
	"github.com/quotashare/quotashare/tokens"
	"github.com/quotashare/quotashare/usage"
)

// login sends a token to log in with, from that address.
func login(a *api, from, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "http://localhost:8480/api/quota/session", strings.NewReader(fmt.Sprintf(`{"token":%q}`, token)))
	r.RemoteAddr = from
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// However many wrong tokens came, a right one is taken: a limit would lock out whoever
// shares the address of who guesses, behind a proxy everybody.
func TestGuessesLockNobodyOut(t *testing.T) {
	a := prepare(t, Config{Engine: newDouble(), Token: "s3cret"}).api
	for range 100 {
		if w := login(a, "10.0.0.1:1000", "guess"); w.Code != 401 {
			t.Fatalf("a guess: %d %s", w.Code, w.Body)
		}
	}
	if w := login(a, "10.0.0.1:1000", "s3cret"); w.Code != 200 {
		t.Errorf("after guesses: %d %s", w.Code, w.Body)
	}
}

// A proxy in front may have a password of its own, which browsers send to all behind it.
func TestASessionBesideAnothersPassword(t *testing.T) {
	a := prepare(t, Config{Engine: newDouble(), Token: "s3cret"}).api
	session := login(a, "10.0.0.1:1000", "s3cret").Result().Cookies()[0]
	for header, want := range map[string]int{"Basic YTpi": 200, "Bearer wrong": 401, "Bearer": 401, "bearer ": 401} {
		r := httptest.NewRequest("GET", "http://localhost:8480/api/quota/pools", nil)
		r.AddCookie(session)
		r.Header.Set("Authorization", header)
		w := httptest.NewRecorder()
		if a.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%q: %d %s, want %d", header, w.Code, w.Body, want)
		}
	}
}

// The cookie of a token that ends sooner ends with it.
func TestTheCookieEndsWithTheToken(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		token *tokens.Token
		want  time.Duration
	}{
		{nil, sessionAge},
		{&tokens.Token{}, sessionAge},
		{&tokens.Token{ExpiresAt: now.Add(sessionAge + time.Hour)}, sessionAge},
		{&tokens.Token{ExpiresAt: now.Add(time.Hour)}, time.Hour},
		{&tokens.Token{ExpiresAt: now}, time.Second},
	} {
		if got := (&caller{token: c.token}).sessionAge(now); got != c.want {
			t.Errorf("%+v: %s, want %s", c.token, got, c.want)
		}
	}
}

// A stream ends with its token, in a second for the file and two for the stream.
func TestAStreamEndsWithItsToken(t *testing.T) {
	for _, how := range []string{"header", "cookie"} {
		synctest.Test(t, func(t *testing.T) {
			ring := newRing(t, nil)
			file, err := tokens.Open(ring.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := newScene()
			h := open(t, s, Config{Tokens: file})
			r := httptest.NewRequest("GET", "http://localhost/api/quota/stream?events=state", nil)
			carry(r, how, ring.of["read"])
			name := map[string]string{"header": "Authorization", "cookie": "Cookie"}[how]
			c := h.connect("reader", "GET /api/quota/stream?events=state\n"+name+": "+r.Header.Get(name), true)
			if got := h.after(time.Hour); closed(c.done) {
				t.Fatalf("by %s: the stream ended by itself: %s", how, got)
			}
			if _, err := tokens.Remove(ring.path, "read", ""); err != nil {
				t.Fatal(err)
			}
			h.after(secretfile.Every + askAgain + time.Millisecond)
			if !closed(c.done) {
				t.Errorf("by %s: the stream goes on without its token", how)
			}
			h.close()
			time.Sleep(time.Minute) // for usage that is being made
		})
	}
}

// A stream of events takes none after its token is gone.
func TestAnUploadEndsWithItsToken(t *testing.T) {
	ring := newRing(t, nil)
	d := newDouble()
	srv := serve(t, d, Config{Tokens: ring.File}, func(s *server) { s.api.atOnce = time.Millisecond })
	u := srv.uploadAs(t, ring.of["ingest"])
	u.send(fmt.Sprintf(goodLine, 1))
	u.until(`{"id":"e1","seq":1}`)
	ring.remove("ingest")
	u.send(fmt.Sprintf(goodLine, 2))
	if got := u.until("}\n"); !strings.Contains(got, `"accepted":1,"rejected":0,"error":{"message":"authorization: the token is not good any more`) {
		t.Errorf("the answer went on with %s", got)
	}
	if d.seq != 1 {
		t.Errorf("%d messages, want 1", d.seq)
	}
}

// What a token that is bound to keys is shown of a pool: its rows, in their order, and
// the totals; and of a pool where it has none, nothing.
func TestUsageOfOnesOwn(t *testing.T) {
	all := &usage.Snapshot{
		PoolID: "team", AsOf: questions.AsOf{Seq: 7, Time: 1_700_000_000_000}, GeneratedAt: 1_700_000_000_000, Unlisted: 4,
		Keys: []usage.Key{{ID: "bob"}, {ID: "alice-ci"}, {ID: "*"}, {ID: "alice"}},
		Dimensions: []usage.Dimension{
			{ConsumedTotal: 10, Uses: []usage.Use{{Consumed: 1}, {Consumed: 2}, {Consumed: 3}, {Consumed: 4}}},
			{ConsumedTotal: 20, Uses: []usage.Use{{Consumed: 5}, {Consumed: 6}, {Consumed: 7}, {Consumed: 8}}},
		},
		Backlog: usage.Backlog{Waiting: 3, Keys: []usage.Wait{{APIKeyID: "bob", Waiting: 2}, {APIKeyID: "alice", Waiting: 1}}},
	}
	before := fmt.Sprint(all)
	alice := &caller{role: tokens.Self, keys: []string{"alice", "alice-ci", "*x"}}
	own, ok := alice.ownUsage(all)
	if !ok {
		t.Fatal("there is none")
	}
	want := &usage.Snapshot{
		PoolID: "team", AsOf: all.AsOf, GeneratedAt: all.GeneratedAt, Unlisted: 4,
		Keys: []usage.Key{{ID: "alice-ci"}, {ID: "alice"}},
		Dimensions: []usage.Dimension{
			{ConsumedTotal: 10, Uses: []usage.Use{{Consumed: 2}, {Consumed: 4}}},
			{ConsumedTotal: 20, Uses: []usage.Use{{Consumed: 6}, {Consumed: 8}}},
		},
		Backlog: usage.Backlog{Waiting: 3, Keys: []usage.Wait{{APIKeyID: "alice", Waiting: 1}}},
	}
	if diff := cmp.Diff(want, own); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if after := fmt.Sprint(all); after != before {
		t.Errorf("what others are shown was changed: %s", after)
	}
	if _, ok := (&caller{role: tokens.Self, keys: []string{"carol"}}).ownUsage(all); ok {
		t.Error("carol sees a pool that she has no row in")
	}
	if own, ok := (&caller{role: tokens.Read}).ownUsage(all); !ok || own != all {
		t.Error("who may see all does not")
	}
}

// Over HTTP too: a pool of others is not there.
func TestUsageOfOnesOwnOverHTTP(t *testing.T) {
	ring := newRing(t, nil)
	d := newDouble()
	d.pools["team"] = Pool{}
	d.used = &usage.Snapshot{PoolID: "team", AsOf: questions.AsOf{Time: 1_700_000_000_000}, GeneratedAt: 1_700_000_000_000, Keys: []usage.Key{{ID: "bob", Reason: "ok"}}}
	a := prepare(t, Config{Engine: d, Tokens: ring.File}).api
	for _, c := range []struct {
		role, pool string
		want       int
	}{{"read", "team", 200}, {"self", "team", 404}, {"self", "nowhere", 404}} {
		r := requestOf("GET", "/api/quota/pools/"+c.pool+"/usage")
		carry(r, "header", ring.of[c.role])
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if w.Code != c.want || c.want == http.StatusNotFound && !strings.Contains(w.Body.String(), "not-found") {
			t.Errorf("%s: %d %s, want %d", c.role, w.Code, w.Body, c.want)
		}
	}
}
