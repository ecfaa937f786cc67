package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// releases is an array of n of them.
func releases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"apiKeyId":"alice","requestId":"r-%d"}`, i)
	}
	return "[" + strings.TrimPrefix(b.String(), ",") + "]"
}

// TestReleasesAreBounded: a thousand are one message, one more are refused before
// any is published.
func TestReleasesAreBounded(t *testing.T) {
	d := newDouble()
	srv := prepare(t, Config{Engine: d})
	for n, want := range map[int]string{1000: `"accepted":1000,"rejected":0}`, 1001: `the array has more than 1,000 releases`} {
		w := httptest.NewRecorder()
		srv.api.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/api/quota/release", strings.NewReader(releases(n))))
		if refused := n > 1000; (w.Code == http.StatusRequestEntityTooLarge) != refused || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d are answered %d %.200s", n, w.Code, w.Body)
		}
	}
	if len(d.messages) != 1 || d.messages[0].subject != "quota.release" {
		t.Errorf("%d messages, want one of quota.release", len(d.messages))
	}
}

// TestReleaseInMsgpack is published in JSON, as every event is.
func TestReleaseInMsgpack(t *testing.T) {
	d := newDouble()
	srv := prepare(t, Config{Engine: d})
	body, err := msgpack.Marshal([]any{
		map[string]any{"id": "e1", "apiKeyId": "alice", "requestId": "r-1"},
		map[string]any{"id": "e2", "type": "quota.saturation", "apiKeyId": "alice", "requestId": "r-1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "http://localhost/api/quota/release", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/msgpack")
	srv.api.ServeHTTP(w, r)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `here it is quota.release`) || !strings.Contains(w.Body.String(), `"accepted":1,"rejected":1`) {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
	if len(d.messages) != 1 || d.messages[0].data != `[{"id":"e1","apiKeyId":"alice","requestId":"r-1"}]` {
		t.Errorf("published %+v", d.messages)
	}
}
