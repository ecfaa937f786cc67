package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// begin sends the beginning of a request, and returns what reads the answer.
func (s *site) begin(path, token, header, body string) (net.Conn, *bufio.Reader) {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	must(s.t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: %s\r\n%s\r\n\r\n%s", path, token, header, body)
	must(s.t, err)
	return conn, bufio.NewReader(conn)
}

// isRefused reads an answer to its end, which is there before the connection's.
func isRefused(t *testing.T, r *bufio.Reader, status int) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	must(t, err)
	if text(t, resp); resp.StatusCode != status || !resp.Close {
		t.Errorf("answered %d, closed: %v", resp.StatusCode, resp.Close)
	}
}

// TestARefusalDoesNotWaitForTheBody, whoever asks for what; then the connection ends,
// soon.
func TestARefusalDoesNotWaitForTheBody(t *testing.T) {
	c := upstream(t, func(http.ResponseWriter, *http.Request) { t.Error("the provider was called") })
	s, patient := rig{restWithin: time.Millisecond}.start(t, nowhere, c), rig{restWithin: time.Minute}.start(t, nowhere, c)
	const length, chunked = "Content-Length: 100", "Transfer-Encoding: chunked"
	for _, tt := range []struct {
		s                         *site
		path, token, header, body string
		status                    int
	}{
		{patient, "/v1/messages", "qs-of-nobody", "Content-Length: 300000\r\nExpect: 100-continue", "", 401},
		{patient, "/v1/files", aliceToken, length + "\r\nExpect: 100-continue", "", 404},
		{s, "/v1/messages", "qs-of-nobody", length, `{"model":`, 401},
		{s, "/v1/messages", "qs-of-nobody", chunked, "1\r\n{\r\n", 401},
		{s, "/v1/files", aliceToken, length, "", 404},
	} {
		_, r := tt.s.begin(tt.path, tt.token, tt.header, tt.body)
		isRefused(t, r, tt.status)
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("%s with %q: then %v, want the end", tt.path, tt.header, err)
		}
	}
}

// TestARefusalComesBeforeTheBody: the rest may be sent after it was read, and what
// follows on the connection is no request.
func TestARefusalComesBeforeTheBody(t *testing.T) {
	s := start(t, nowhere, upstream(t, func(http.ResponseWriter, *http.Request) { t.Error("the provider was called") }))
	const next = "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: " + aliceToken + "\r\nContent-Length: 2\r\n\r\n{}"
	conn, r := s.begin("/v1/messages", "qs-of-nobody", "Content-Length: 4000000", "{")
	isRefused(t, r, 401)
	_, err := io.WriteString(conn, strings.Repeat(" ", 4_000_000-1))
	must(t, err)
	_, _ = io.WriteString(conn, next) // it may be closed by now
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		t.Errorf("then %q", rest)
	}
}
