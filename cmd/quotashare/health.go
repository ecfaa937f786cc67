package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/quotashare/quotashare/internal/program"
)

// healthWithin is how long a program that is well takes to say so, at most: who asks
// does so every few seconds, and has a bound of its own.
const healthWithin = 4 * time.Second

// healthCmd is for those who look after a program where there is no shell and no curl,
// as in an image of nothing but our programs. No token is needed for the answer.
type healthCmd struct {
	HTTPAddr string `name:"http-addr" group:"Configuration" placeholder:"ADDR" help:"Where its HTTP API listens (127.0.0.1:8480)."`
	HTTPCert string `name:"http-cert" group:"Configuration" placeholder:"FILE" help:"The certificate that it was given: with one, it is asked over https. The file is not read."`
}

// run succeeds when the program is ready.
func (h *healthCmd) run(ctx context.Context, p program.Process) error {
	c, err := (&server{HTTPAddr: h.HTTPAddr}).client()
	if err != nil {
		return err
	}
	c.http.Timeout = healthWithin
	if h.HTTPCert != "" {
		c.base, c.http.Transport = "https://"+strings.TrimPrefix(c.base, "http://"), unverified()
	}
	if _, err := c.get(ctx, "/readyz", nil); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s is ready\n", c.base)
	return err
}

// unverified takes whatever certificate is shown. It is for names of the outside, and who
// asks is on the same machine; nothing secret is sent, and what is asked is whether there
// is an answer at all.
func unverified() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
}
