package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/quotashare/quotashare/internal/program"
)

// What goes wrong on the way is said with the address and how to change it, and
// not in the words of the library.
func TestUnreachable(t *testing.T) {
	c := &client{base: "http://here:1", http: http.Client{Timeout: answerWithin}}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "here"}}, "no machine is found by the name in http://here:1"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "i/o timeout", IsTimeout: true}}, "no machine is found by the name in http://here:1"},
		{context.DeadlineExceeded, "http://here:1 does not answer within 2m0s"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "nobody answers at http://here:1"},
		{io.EOF, "http://here:1 ended the connection without an answer"},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, "http://here:1 ended the connection without an answer"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, "http://here:1 cannot be reached: connect: no route to host"},
		{errors.New("malformed"), "what answers at http://here:1 does not speak HTTP; it may be the port for NATS"},
	} {
		var out strings.Builder
		code := program.Report(&out, "quotashare", c.unreachable(&url.Error{Op: "Get", URL: "http://here:1/x", Err: tt.err}))
		want := "quotashare: " + tt.want + "\nhint: start the engine with quotashare up, or say where it is with --http-addr or QUOTA_HTTP_ADDR\n"
		if out.String() != want || code != program.Failure {
			t.Errorf("%v: exit %d\n%swant\n%s", tt.err, code, out.String(), want)
		}
	}
	if err := c.unreachable(&url.Error{Err: context.Canceled}); err.Error() != "interrupted" {
		t.Errorf("an interrupt is %v", err)
	}
}

// Somebody else's page is not printed as an error of ours.
func TestNotTheEngine(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	c := &client{base: s.URL}
	_, err := c.get(t.Context(), "/api/quota/state", nil)
	if want := "what answers at " + s.URL + " is not the engine: it says 404 Not Found"; err == nil || err.Error() != want {
		t.Errorf("error is %v\nwant %s", err, want)
	}
}
