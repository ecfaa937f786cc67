package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// stars stand for the credential.
var stars = strings.Repeat("*", len(credential))

// TestACredentialThatIsQuoted reaches no client, however the provider refuses a call,
// and the rest of the answer is as it was. An answer that is none of an error passes
// untouched.
func TestACredentialThatIsQuoted(t *testing.T) {
	long := strings.Repeat(`{"error":"`+credential+`"} sk-credential `, 10_000)
	for _, tt := range []struct {
		status     int
		body, want string
	}{
		{200, "I was called with " + credential, "I was called with " + credential},
		{302, credential, stars},
		{400, "sk-cred " + credential + credential + ".", "sk-cred " + stars + stars + "."},
		{403, `{"error":{"message":"project of ` + credential + ` is blocked"}}`, `{"error":{"message":"project of ` + stars + ` is blocked"}}`},
		{429, "nothing of it, but sk-credential-of", "nothing of it, but sk-credential-of"},
		{500, long, strings.ReplaceAll(long, credential, stars)},
	} {
		for _, path := range []string{"/v1/chat/completions", "/v1/models"} {
			s := start(t, nowhere, upstream(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "/?key="+credential)
				w.Header().Set("Content-Length", fmt.Sprint(len(tt.body)))
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			method := map[bool]string{true: "GET", false: "POST"}[path == "/v1/models"]
			resp := s.do(s.request(method, path, `{"model":"m"}`))
			if diff := cmp.Diff(tt.want, text(t, resp)); diff != "" || resp.StatusCode != tt.status {
				t.Errorf("%d of %s (-want +got):\n%s", resp.StatusCode, path, diff)
			}
			if got := resp.Header.Get("Location"); got != "/?key="+stars {
				t.Errorf("%d of %s: Location is %q", tt.status, path, got)
			}
		}
	}
}

// TestAWordForACredential, as what needs none is given, is in answers for other reasons.
func TestAWordForACredential(t *testing.T) {
	c := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		_, _ = io.WriteString(w, `{"type":"error"}`)
	})
	c.Credential = "error"
	if _, body := start(t, nowhere, c).send("POST", "/v1/chat/completions", "{}"); body != `{"type":"error"}` {
		t.Errorf("answered %s", body)
	}
}

// TestARefusalIsNotHeldBack: the provider goes on only when the client has what came
// before.
func TestARefusalIsNotHeldBack(t *testing.T) {
	on := make(chan struct{})
	s := start(t, nowhere, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then a server sees that its client has gone
		w.WriteHeader(503)
		_, _ = io.WriteString(w, "wait\nnow sk-cred")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-on:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "ential-of-the-account\n")
	}))
	resp := s.do(s.request("POST", "/v1/chat/completions", "{}"))
	r := bufio.NewReader(resp.Body)
	first, err := r.ReadString('\n')
	must(t, err)
	close(on)
	second, err := r.ReadString('\n')
	must(t, err)
	if first != "wait\n" || second != "now "+stars+"\n" {
		t.Errorf("got %q, %q", first, second)
	}
}

// TestMaskedAsAWhole: in whatever pieces a body comes, it is what replacing in the whole
// of it makes, and its error is passed on.
func TestMaskedAsAWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[ab]{1,4}`).Draw(t, "secret")
		body := rapid.StringMatching(`[abc]{0,40}`).Draw(t, "body")
		var from io.Reader = strings.NewReader(body)
		switch rapid.IntRange(0, 3).Draw(t, "pieces") {
		case 0:
			from = iotest.OneByteReader(from)
		case 1:
			from = iotest.HalfReader(from)
		case 2:
			from = iotest.DataErrReader(from)
		}
		m := &masked{ReadCloser: io.NopCloser(io.MultiReader(from, iotest.ErrReader(io.ErrNoProgress))), secret: []byte(secret)}
		var got []byte
		var err error
		for err == nil {
			var n int
			p := make([]byte, rapid.IntRange(1, 9).Draw(t, "room"))
			n, err = m.Read(p)
			got = append(got, p[:n]...)
		}
		want := strings.ReplaceAll(body, secret, strings.Repeat("*", len(secret)))
		if string(got) != want || err != io.ErrNoProgress {
			t.Fatalf("%q without %q is %q, want %q; %v", body, secret, got, want, err)
		}
	})
}

// TestWhatComesBeforeAnAnswer is trimmed as the answer is.
func TestWhatComesBeforeAnAnswer(t *testing.T) {
	s := start(t, nowhere, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Link", "</style.css>; rel=preload")
		h.Set("Set-Cookie", "__cf_bm=of-the-account")
		h.Set("Alt-Svc", `h3=":443"`)
		h.Set("X-Key", credential)
		w.WriteHeader(http.StatusEarlyHints)
		clear(h)
	}))
	var early http.Header
	req := s.request("POST", "/v1/chat/completions", "{}")
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(_ int, h textproto.MIMEHeader) error { early = http.Header(h); return nil },
	}))
	if resp := s.do(req); resp.StatusCode != 200 || len(resp.Header["X-Key"]) > 0 {
		t.Errorf("answered %d %v", resp.StatusCode, resp.Header)
	}
	want := http.Header{"Link": {"</style.css>; rel=preload"}, "X-Key": {stars}}
	if diff := cmp.Diff(want, early); diff != "" {
		t.Errorf("103 (-want +got):\n%s", diff)
	}
}

// TestAnotherProtocol that a provider changes to is an error, and its connection closed.
func TestAnotherProtocol(t *testing.T) {
	closed := make(chan struct{})
	s := start(t, nowhere, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Key: " + credential + "\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.Copy(io.Discard, rw)
		close(closed)
	}))
	resp := s.do(s.request("POST", "/v1/chat/completions", "{}"))
	if got := message(t, text(t, resp)); resp.StatusCode != 502 || got != "The provider of connection c answers in another protocol." {
		t.Errorf("%d %s", resp.StatusCode, got)
	}
	await(t, "the end of the connection", closed)
}
