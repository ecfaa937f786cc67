package e2e

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
)

// oddRequest is what no client library sends.
type oddRequest struct {
	name   string
	head   string // the lines of it, each without its end
	body   string
	status int
	words  string // in the answer, or in its headers
}

const host = "Host: localhost"

var oddRequests = []oddRequest{
	// Whose server it is.
	{name: "no host", head: "GET /api/quota/state HTTP/1.1", status: 400, words: "Host"},
	{name: "two hosts", head: "GET /api/quota/state HTTP/1.1\n" + host + "\n" + host, status: 400},
	{name: "another host", head: "GET /api/quota/state HTTP/1.1\nHost: quota.evil.example", status: 403, words: "host-not-allowed"},
	{name: "a host that begins alike", head: "GET /api/quota/state HTTP/1.1\nHost: 127.0.0.1.evil.example", status: 403, words: "host-not-allowed"},
	{name: "a host with a user", head: "GET /api/quota/state HTTP/1.1\nHost: localhost@evil.example", status: 400, words: "Host"},
	{name: "a whole URL of another host", head: "GET http://evil.example/api/quota/state HTTP/1.1\n" + host, status: 403, words: "host-not-allowed"},
	{name: "a whole URL", head: "GET http://localhost/api/quota/state HTTP/1.1\nHost: evil.example", status: 200},
	{name: "forwarded for another", head: "GET /api/quota/state HTTP/1.1\nHost: evil.example\nX-Forwarded-Host: localhost", status: 403, words: "host-not-allowed"},
	// What page sent it.
	{name: "another origin", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nOrigin: https://evil.example", body: "{}", status: 403, words: "origin-not-allowed"},
	{name: "no origin to speak of", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nOrigin: null", body: "{}", status: 403, words: "origin-not-allowed"},
	{name: "another origin with a cookie", head: "POST /api/quota/pools HTTP/1.1\n" + host + "\nOrigin: http://localhost:1\nCookie: quotashare=czNjcmV0", body: "{}", status: 403, words: "origin-not-allowed"},
	{name: "a page asks what it may", head: "OPTIONS /api/quota/pools HTTP/1.1\n" + host + "\nOrigin: https://evil.example\nAccess-Control-Request-Method: POST", status: 403, words: "origin-not-allowed"},
	// Where a body ends: one server must not see two requests where another sees one.
	{name: "two lengths", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nContent-Length: 2\nContent-Length: 3", body: "{}", status: 400},
	{name: "a list of lengths", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nContent-Length: 2, 3", body: "{}", status: 400},
	{name: "a length with a sign", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nContent-Length: +2", body: "{}", status: 400},
	{name: "a length below 0", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nContent-Length: -1", body: "{}", status: 400},
	{name: "a length of 2⁶⁴", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nContent-Length: 18446744073709551616", body: "{}", status: 400},
	{name: "a coding nobody knows", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nTransfer-Encoding: gzip, chunked", body: "0\r\n\r\n", status: 501},
	{name: "two codings", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nTransfer-Encoding: chunked\nTransfer-Encoding: identity", body: "0\r\n\r\n", status: 501},
	{name: "a name with a blank behind", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nTransfer-Encoding : chunked", body: "0\r\n\r\n", status: 400},
	{name: "a chunk of a wrong length", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nTransfer-Encoding: chunked", body: "zz\r\n{}\r\n0\r\n\r\n", status: 400, words: "ended early"},
	{name: "a chunk of 2⁶⁴", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nTransfer-Encoding: chunked", body: "10000000000000000\r\n{}", status: 400, words: "ended early"},
	{name: "chunks with trailers", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nTransfer-Encoding: chunked\nTrailer: X-Sum", body: "2\r\n{}\r\n0\r\nX-Sum: 1\r\nContent-Type: x\r\n\r\n", status: 400, words: "apiKeyId"},
	{name: "HTTP/1.0", head: "POST /api/quota/decide HTTP/1.0\n" + host + "\nContent-Length: 2", body: "{}", status: 400, words: "apiKeyId"},
	{name: "a stream of HTTP/1.0", head: "POST /api/quota/events HTTP/1.0\n" + host + "\nContent-Type: application/x-ndjson\nContent-Length: 3", body: "{}\n", status: 200, words: `"rejected":1}`},
	{name: "HTTP/2.0", head: "GET /api/quota/state HTTP/2.0\n" + host, status: 505},
	{name: "what is asked for first", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nContent-Length: 9000000\nExpect: 100-continue", status: 413, words: "8 MiB"},
	{name: "an expectation nobody has", head: "POST /api/quota/decide HTTP/1.1\n" + host + "\nContent-Length: 2\nExpect: the best", status: 417},
	// Headers.
	{name: "NUL in a header", head: "GET /api/quota/state HTTP/1.1\n" + host + "\nX: a\x00b", status: 400},
	{name: "a header without a name", head: "GET /api/quota/state HTTP/1.1\n" + host + "\n: x", status: 400},
	{name: "headers of 200 KB", head: "GET /api/quota/state HTTP/1.1\n" + host + "\nX: " + strings.Repeat("x", 200_000), status: 431},
	{name: "an actor with a line", head: "DELETE /api/quota/plans/x HTTP/1.1\n" + host + "\nX-Quota-Actor: a\tb", status: 400, words: "X-Quota-Actor"},
	{name: "a reason that is no text", head: "DELETE /api/quota/plans/x HTTP/1.1\n" + host + "\nX-Quota-Reason: \xff", status: 400, words: "X-Quota-Reason"},
	// Methods.
	{name: "OPTIONS", head: "OPTIONS /api/quota/events HTTP/1.1\n" + host, status: 405, words: "Allow: POST"},
	{name: "HEAD of what is posted", head: "HEAD /api/quota/events HTTP/1.1\n" + host, status: 405},
	{name: "HEAD", head: "HEAD /api/quota/pools HTTP/1.1\n" + host, status: 200},
	{name: "TRACE", head: "TRACE /api/quota/state HTTP/1.1\n" + host, status: 405},
	{name: "CONNECT", head: "CONNECT evil.example:443 HTTP/1.1\n" + host, status: 403, words: "host-not-allowed"},
	{name: "no method", head: "G@T /api/quota/state HTTP/1.1\n" + host, status: 400},
	{name: "a method to override", head: "POST /api/quota/pools/team HTTP/1.1\n" + host + "\nX-HTTP-Method-Override: DELETE", status: 405, words: "Allow: GET, PATCH, DELETE"},
	// Paths.
	{name: "up", head: "DELETE /api/quota/state/../pools/team HTTP/1.1\n" + host, status: 404, words: "not-found"},
	{name: "up in escapes", head: "DELETE /api/quota/state/%2e%2e/pools/team HTTP/1.1\n" + host, status: 404, words: "not-found"},
	{name: "up as an id", head: "DELETE /api/quota/pools/%2e%2e%2fpools%2fteam HTTP/1.1\n" + host, status: 404, words: "not-found"},
	{name: "two slashes", head: "DELETE //api/quota/pools/team HTTP/1.1\n" + host, status: 404, words: "not-found"},
	{name: "two slashes within", head: "DELETE /api/quota/pools//team HTTP/1.1\n" + host, status: 404, words: "not-found"},
	{name: "a slash behind", head: "DELETE /api/quota/pools/team/ HTTP/1.1\n" + host, status: 404, words: "not-found"},
	{name: "parameters of a segment", head: "DELETE /api/quota/pools;x=y/team HTTP/1.1\n" + host, status: 404, words: "not-found"},
	{name: "parameters of an id", head: "DELETE /api/quota/pools/team;x=y HTTP/1.1\n" + host, status: 404, words: "not-found"},
	{name: "another case", head: "DELETE /API/quota/pools/team HTTP/1.1\n" + host, status: 404, words: "not-found"},
	{name: "NUL in an id", head: "DELETE /api/quota/pools/team%00 HTTP/1.1\n" + host, status: 404, words: "not-found"},
	{name: "a line in an id", head: "DELETE /api/quota/pools/team%0d%0aSet-Cookie:%20a=b HTTP/1.1\n" + host, status: 404, words: "not-found"},
	{name: "an escape that is none", head: "DELETE /api/quota/pools/%zz HTTP/1.1\n" + host, status: 400},
	{name: "no path", head: "DELETE * HTTP/1.1\n" + host, status: 400},
	{name: "half a parameter", head: "DELETE /api/quota/pools/team?dryRun=%zz HTTP/1.1\n" + host, status: 400, words: "%zz"},
}

// request is the bytes of it. A body without any word of its length gets one.
func (o *oddRequest) request() string {
	head := strings.ReplaceAll(o.head, "\n", "\r\n")
	if o.body != "" && !strings.Contains(head, "Content-Length") && !strings.Contains(head, "Transfer-Encoding") {
		head += fmt.Sprintf("\r\nContent-Length: %d", len(o.body))
	}
	return head + "\r\nConnection: close\r\n\r\n" + o.body
}

func TestOddRequests(t *testing.T) {
	v := newVictim(t)
	v.mustGoOn(t)
	before, said := v.at(0), v.stderr.String()
	for i := range oddRequests {
		o := &oddRequests[i]
		t.Run(o.name, func(t *testing.T) {
			conn := v.dial(t)
			io.WriteString(conn, o.request())
			method, _, _ := strings.Cut(o.head, " ")
			answer, text := answerOf(t, bufio.NewReader(conn), method)
			var all strings.Builder
			answer.Header.Write(&all)
			if answer.StatusCode != o.status || !strings.Contains(all.String()+text, o.words) {
				t.Errorf("%d\n%s%.500s\nwant %d and %q", answer.StatusCode, &all, text, o.status, o.words)
			}
			if len(answer.Cookies()) > 0 || answer.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("its headers are\n%s", &all)
			}
		})
	}
	if after := v.at(0); after != before {
		t.Errorf("the state went from %+v to %+v", before, after)
	}
	v.mustBeQuiet(t, said)
	v.mustGoOn(t)
	v.mustHaveRejected(t, 0)
	if pools := v.pools(t); pools != onlyTeam {
		t.Errorf("the pools are %s", pools)
	}
}

// A length that chunks overrule hides no second request: what follows the chunks is the
// next one, whatever the length says.
func TestALengthBesideChunks(t *testing.T) {
	v := newVictim(t)
	conn := v.dial(t)
	const hidden = "DELETE /api/quota/pools/team HTTP/1.1\r\nHost: localhost\r\n\r\n"
	fmt.Fprintf(conn, "POST /api/quota/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(hidden), hidden)
	io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	in := bufio.NewReader(conn)
	if answer, text := answerOf(t, in, "POST"); answer.StatusCode != 400 || !strings.Contains(text, "well formed") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	if answer, text := answerOf(t, in, "GET"); answer.StatusCode != 200 || text != "ok\n" {
		t.Errorf("then %d %s", answer.StatusCode, text)
	}
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("then %q, %v", rest, err)
	}
	if pools := v.pools(t); pools != onlyTeam {
		t.Errorf("the pools are %s", pools)
	}
}

// Lines that callers put into names begin no line anywhere: of headers, of subjects, of
// the log.
func TestLinesInNames(t *testing.T) {
	v := newVictim(t)
	said := v.stderr.String()
	const line = `x\r\nSet-Cookie: a=b\r\n\r\nERR injected`
	for _, call := range []struct{ method, path, body string }{
		{"POST", "/api/quota/pools", `{"id":"` + line + `","name":"N","provider":"p","connectionIds":["y"]}`},
		{"POST", "/api/quota/pools", `{"name":"N","provider":"p","connectionIds":["` + line + `"]}`},
		{"POST", "/api/quota/pools", `{"name":"N","provider":"` + line + `","connectionIds":["y"]}`},
		{"PUT", "/api/quota/plans/x%0d%0aSet-Cookie:%20a=b", `{"dimensions":[{"unit":"tokens","window":"daily","limit":1}]}`},
		{"POST", "/api/quota/events", `{"id":"` + line + `","apiKeyId":"k","connectionId":"c"}`},
		{"POST", "/api/quota/events", `{"type":"` + line + `","apiKeyId":"k","connectionId":"c"}`},
		{"POST", "/api/quota/release", `{"apiKeyId":"k","requestId":"` + line + `"}`},
		{"POST", "/api/quota/decide", `{"apiKeyId":"k","connectionId":"c","requestId":"` + line + `"}`},
		{"POST", "/api/quota/route", `{"apiKeyId":"` + line + `","pool":"team"}`},
	} {
		conn := v.dial(t)
		fmt.Fprintf(conn, "%s %s HTTP/1.1\r\n%s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", call.method, call.path, host, len(call.body), call.body)
		answer, text := answerOf(t, bufio.NewReader(conn), call.method)
		if answer.StatusCode != 400 || len(answer.Cookies()) > 0 || strings.Contains(text, "\nERR") {
			t.Errorf("%s %s: %d %v %s", call.path, call.body, answer.StatusCode, answer.Header, text)
		}
	}
	v.mustBeQuiet(t, said)
	v.mustGoOn(t)
	v.mustHaveRejected(t, 0)
}
