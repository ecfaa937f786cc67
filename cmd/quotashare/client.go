package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/quotashare/quotashare/config"
)

// answerWithin bounds one request; the engine waits at most 10 seconds itself.
const answerWithin = 2 * time.Minute

// server is how the commands that ask a running engine find it.
type server struct {
	HTTPAddr string `name:"http-addr" placeholder:"ADDR" help:"Where its HTTP API listens (127.0.0.1:8480); https://ADDR when it has a certificate that the system trusts."`
	HTTPCert string `name:"http-cert" placeholder:"FILE" help:"The certificate that it was given, or of who signed it; with one, it is asked over https."`
	APIToken string `name:"api-token" placeholder:"TOKEN" help:"What it asks clients for."`
}

// client talks to a running engine over HTTP.
type client struct {
	base  string
	token string
	http  http.Client
}

// client checks the address with everything else that configuration is checked
// for.
func (s *server) client() (*client, error) {
	at, scheme := s.HTTPAddr, "http://"
	if plain, secure := strings.CutPrefix(at, "https://"); secure || s.HTTPCert != "" {
		at, scheme = plain, "https://"
	}
	cfg, err := config.Text{HTTPAddr: at, APIToken: "unchecked"}.Parse(config.Default())
	if err != nil {
		return nil, err
	}
	addr, err := reachable(cfg.HTTPAddr)
	if err != nil {
		return nil, err
	}
	transport, err := trusting(s.HTTPCert)
	if err != nil {
		return nil, err
	}
	return &client{base: scheme + addr, token: s.APIToken, http: http.Client{Timeout: answerWithin, Transport: transport}}, nil
}

// reachable is where a server is found that listens on addr: one that does on all
// interfaces, on this machine.
func reachable(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// refused is an answer that is an error.
type refused struct {
	Message string `json:"message"`
	Code    string `json:"code"`
}

// Error returns what the engine said.
func (r *refused) Error() string { return r.Message }

// get asks for a page.
func (c *client) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.do(ctx, http.MethodGet, path, "", nil)
}

// do returns the body of an answer to a body of that type.
func (c *client) do(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	h := http.Header{}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	return c.send(ctx, method, path, h, body)
}

// send returns the body of an answer, whatever it says, if its status is one of
// success.
func (c *client) send(ctx context.Context, method, path string, h http.Header, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = h.Clone()
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("the answer of %s broke off: %w", c.base, err)
	}
	if res.StatusCode/100 == 2 {
		return data, nil
	}
	return nil, c.refusal(res.StatusCode, data)
}
