package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/internal/program"
)

// unreachable says in one line why there is no answer.
func (c *client) unreachable(err error) error {
	name, dial, ask := new(net.DNSError), new(net.OpError), new(url.Error)
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.As(err, &name):
		return c.elsewhere("no machine is found by the name in %s", c.base)
	case errors.As(err, &ask) && ask.Timeout():
		return c.elsewhere("%s does not answer within %s", c.base, c.http.Timeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		return c.elsewhere("nobody answers at %s", c.base)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return c.elsewhere("%s ended the connection without an answer", c.base)
	case untrusted(err):
		return program.Hint(fmt.Errorf("%s shows a certificate that is not trusted: %w", c.base, ask.Err),
			"%s", trust(err, "http-cert"))
	case errors.As(err, &dial):
		return c.elsewhere("%s cannot be reached: %v", c.base, dial.Err)
	}
	if strings.HasPrefix(c.base, "https://") {
		return c.elsewhere("what answers at %s does not speak https", c.base)
	}
	return c.elsewhere("what answers at %s does not speak HTTP; it may be the port for NATS", c.base)
}

// elsewhere is an error of an address: the engine may be at another one.
func (c *client) elsewhere(format string, args ...any) error {
	return program.Hint(fmt.Errorf(format, args...),
		"start the engine with quotashare up, or say where it is with --http-addr or %s", config.Variable("http-addr"))
}

// refusal reads an answer that is none of success.
func (c *client) refusal(status int, data []byte) error {
	var doc struct{ Error *refused }
	switch {
	case status == http.StatusBadRequest && bytes.Contains(data, []byte("HTTP request to an HTTPS server")):
		return program.Hint(fmt.Errorf("%s speaks https", c.base),
			"name its certificate with --http-cert or %s; or say --http-addr https://…, when the system trusts it", config.Variable("http-cert"))
	case json.Unmarshal(data, &doc) != nil || doc.Error == nil:
		return c.elsewhere("what answers at %s is not the engine: it says %d %s", c.base, status, http.StatusText(status))
	case status != http.StatusUnauthorized:
		return doc.Error
	case c.token == "":
		return program.Hint(doc.Error, "pass the token with --api-token or %s", config.Variable("api-token"))
	}
	return program.Hint(doc.Error, "the token came from --api-token or %s: set it there to the engine's", config.Variable("api-token"))
}
