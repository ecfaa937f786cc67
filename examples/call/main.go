// Command call is a call through Quotashare with the Go SDK, package client, which
// speaks NATS.
//
//	go run ./examples/call [CALL [TIME]]
//
// It publishes what earlier calls used, asks whether one more may be made and holds room
// for it, makes it, publishes what it used and what the provider said, gives a second call
// up, and prints how the key stands. CALL names the call, TIME is when all of it happened;
// left out, they are new. Run again with both, as after a crash, nothing is counted twice.
//
// QUOTA_STORE_NATS_URL (nats://127.0.0.1:4222) is where the engine is: several parted by
// commas, tls:// for TLS. Who we are there says QUOTA_STORE_NATS_USER, a file with
// name:password, or the URL, or QUOTA_API_TOKEN; QUOTA_NATS_CA is a file of certificates
// to trust. QUOTA_KEY (alice) and QUOTA_CONNECTION (kimi-1) say whose call it is and where
// to, QUOTA_PATIENCE (60) for how many seconds events are sent again. examples/README.md
// has the rules it follows; most of them the SDK keeps by itself.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/quotashare/quotashare/client"
)

// settings are of the environment.
type settings struct {
	options          client.Options
	apiKey, upstream string
	patience         time.Duration
	name             string
	when             time.Time
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "call:", err)
		os.Exit(1)
	}
}

func run() error {
	s, err := read(os.Args[1:])
	if err != nil {
		return err
	}
	c, err := client.New(s.options)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	// Close waits for what the log does not have yet, and says what is lost.
	return errors.Join(s.round(ctx, c), c.Close(ctx))
}

// round is what all examples do.
func (s *settings) round(ctx context.Context, c *client.Client) error {
	err := errors.Join(
		c.Publish(s.usage(s.name+"-before-1", 40)),
		c.Publish(s.usage(s.name+"-before-2", 60)),
	)
	if err != nil {
		return err // it names the field
	}
	// A gateway need not wait: what was taken is sent again until the log has it.
	if err := c.Flush(ctx); err != nil {
		return fmt.Errorf("given up: the log does not take it: %w; what was sent may be sent again as it was", err)
	}
	fmt.Printf("%s: published 2 events\n", s.name)
	if err := s.call(ctx, c, s.name, "hello"); err != nil {
		return err
	}
	if err := s.call(ctx, c, s.name+"-again", "fail"); err != nil {
		return err
	}
	return s.show(ctx, c)
}

// usage is the event of a call. The SDK would give it an id and a time of its own; with
// these the whole round may be run again.
func (s *settings) usage(id string, tokens int64) client.Consumption {
	return client.Consumption{
		ID: id, Time: s.when, APIKeyID: s.apiKey, ConnectionID: s.upstream, Model: "kimi-k2",
		Cost: client.Amounts{Tokens: tokens},
	}
}

// call is one call, from the question to its settlement.
func (s *settings) call(ctx context.Context, c *client.Client, name, prompt string) error {
	// An engine that does not answer in time lets the call pass, unless Options.FailClosed.
	d, err := c.Decide(ctx, client.Question{
		APIKeyID: s.apiKey, ConnectionID: s.upstream, Model: "kimi-k2", Estimate: client.Amounts{Tokens: 300},
		Reserve: true, RequestID: name, Lease: time.Minute,
	})
	if err != nil {
		return err // the question is wrong
	}
	for _, what := range d.Degraded {
		fmt.Fprintf(os.Stderr, "%s: degraded: %s\n", name, what)
	}
	if !d.Allow { // it holds nothing
		fmt.Printf("%s: block (%s)\n%s: %d, %s\n", name, d.Reason, name, d.Status, d.Message)
		return nil
	}
	fmt.Printf("%s: allow (%s)\n", name, d.Reason)
	header, tokens, err := provider(prompt)
	if err != nil {
		fmt.Printf("%s: the provider failed, released\n", name)
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return c.Release(d.Hold)
	}
	used := d.Hold.Consumption(client.Amounts{Tokens: tokens}) // settles the hold
	used.ID, used.Time = name+"-used", s.when
	err = errors.Join(
		// The headers as they came. Which of them tell of a limit is not our business.
		c.Publish(client.Saturation{ID: name + "-headers", Time: s.when, ConnectionID: s.upstream, Status: http.StatusOK, Header: header}),
		c.Publish(used),
	)
	if err == nil {
		fmt.Printf("%s: used %d tokens, settled\n", name, tokens)
	}
	return err
}

// provider stands for the call to the provider: the headers, and the tokens it states.
func provider(prompt string) (header http.Header, tokens int64, err error) {
	if prompt == "fail" {
		return nil, 0, errors.New("as if the provider were down")
	}
	return http.Header{
		"x-ratelimit-limit-requests": {"500"}, "x-ratelimit-remaining-requests": {"499"}, "x-ratelimit-reset-requests": {"120ms"},
	}, 150, nil
}

// show prints how the key stands. A question that reserves is answered at its place in
// the log, and so from a state that knows all that was published before.
func (s *settings) show(ctx context.Context, c *client.Client) error {
	if err := c.Flush(ctx); err != nil {
		return fmt.Errorf("given up: the log does not take it: %w", err)
	}
	d, err := c.Decide(ctx, client.Question{
		APIKeyID: s.apiKey, ConnectionID: s.upstream, Estimate: client.Amounts{NoRequests: true}, Reserve: true, Explain: true,
	})
	if err != nil {
		return err
	}
	if d.Reason == client.ReasonFailOpen {
		return fmt.Errorf("how the key stands is not known: %s", d.Detail)
	}
	for _, of := range d.Dimensions {
		limit := "an unknown number of"
		if of.Limit > 0 {
			limit = of.Limit.Format(of.Unit)
		}
		fmt.Printf("%s on %s: %s of %s %s %s used, %s held\n", s.apiKey, s.upstream,
			of.Consumed.Format(of.Unit), limit, of.Unit, of.Window, of.Held.Format(of.Unit))
	}
	if len(d.Dimensions) == 0 {
		fmt.Printf("%s on %s: nothing limits it (%s)\n", s.apiKey, s.upstream, d.Reason)
	}
	return c.Release(d.Hold)
}

// userOf returns the user that the first of the servers names, "" when it names none.
func userOf(servers string) string {
	first, _, _ := strings.Cut(servers, ",")
	u, err := url.Parse(first)
	if err != nil { // the client will say so
		return ""
	}
	return u.User.Username()
}

// read takes the settings from the environment and the command line.
func read(args []string) (*settings, error) {
	env := func(name, otherwise string) string { return cmp.Or(os.Getenv(name), otherwise) }
	seconds, err := strconv.Atoi(env("QUOTA_PATIENCE", "60"))
	if err != nil {
		return nil, fmt.Errorf("QUOTA_PATIENCE: %w: use whole seconds", err)
	}
	s := &settings{
		options: client.Options{
			URL: env("QUOTA_STORE_NATS_URL", "nats://127.0.0.1:4222"), User: os.Getenv("QUOTA_STORE_NATS_USER"), CA: os.Getenv("QUOTA_NATS_CA"),
			Timeout: 2 * time.Second,
		},
		apiKey: env("QUOTA_KEY", "alice"), upstream: env("QUOTA_CONNECTION", "kimi-1"),
		patience: time.Duration(seconds) * time.Second,
		name:     "call-" + rand.Text()[:8], when: time.Now(),
	}
	if user := userOf(s.options.URL); user != "" {
		s.options.InboxPrefix = "_INBOX_" + user // its own, which no other reads
	} else if s.options.User == "" {
		s.options.Token = os.Getenv("QUOTA_API_TOKEN")
	}
	if len(args) > 0 {
		s.name = args[0]
	}
	if len(args) > 1 {
		if s.when, err = time.Parse(time.RFC3339, args[1]); err != nil {
			return nil, fmt.Errorf("TIME: %w", err)
		}
	}
	return s, nil
}
