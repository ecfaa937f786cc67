package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/fakeprovider"
)

// The shortest demo in which everything happens, and the longest that is worth it.
const (
	Shortest = 5 * time.Second
	Longest  = 10 * time.Minute
)

// Options say where the engine is and how long to show it.
type Options struct {
	API  API        // of the engine
	NATS *nats.Conn // to the same one; it stays the caller's
	For  time.Duration
	Seed uint64 // of what the keys ask for

	Out      io.Writer
	Terminal bool           // Out is one
	Zone     *time.Location // of the times that are shown; nil = time.Local
	Log      *slog.Logger   // of the gateway; nil = the default logger

	// What is proposed at the end must find the engine.
	URL   string // of its HTTP API
	Token string // what curl is to send, as in Bearer $QUOTA_API_TOKEN; "" = nothing
	Flags string // of the command line, as in --http-addr 127.0.0.1:8480; "" = none
}

// demo is one run.
type demo struct {
	Options
	id     string // of its connection
	screen screen
	stage  *stage
	start  time.Time // of the asking

	how          fakeprovider.Options
	pace         func(start time.Time) pace
	answerWithin time.Duration // the constant, but in tests
}

// aroundWithin is how long the engine has for what is asked before and after the keys.
const aroundWithin = 30 * time.Second

// Run shows a demo, until it is over or ctx ends; then it says how everything stands,
// and that is no error. now names what it makes. An error is of Options, of the engine, or
// an answer that no client should get.
func Run(ctx context.Context, o Options, now time.Time) error {
	if o.For < Shortest || o.For > Longest {
		return fmt.Errorf("--for is %s: a demo lasts %s to %s", o.For, Shortest, Longest)
	}
	return newDemo(o, now).run(ctx)
}

func newDemo(o Options, now time.Time) *demo {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	d := &demo{Options: o, pace: pacer, answerWithin: answerWithin, start: now, id: prefix + now.UTC().Format("20060102-150405.000")}
	d.screen = screen{w: o.Out, terminal: o.Terminal, length: o.For, zone: o.Zone}
	d.how = fakeprovider.Options{Seed: o.Seed, Behave: func(*http.Request) fakeprovider.Behaviour {
		return fakeprovider.Behaviour{FirstByteDelay: 100 * time.Millisecond, Delay: 20 * time.Millisecond, Completion: everything}
	}}
	return d
}

// everything is more tokens than anybody asks for: the answers have the length that the
// requests allow.
const everything = 1 << 20

// pace returns at that time of a demo, or with the error of ctx.
type pace func(ctx context.Context, at time.Duration) error

// pacer is the pace of a demo that began at start.
func pacer(start time.Time) pace {
	return func(ctx context.Context, at time.Duration) error {
		due := time.NewTimer(time.Until(start.Add(at)))
		defer due.Stop()
		select {
		case <-due.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *demo) run(ctx context.Context) error {
	seq, err := d.API.prepare(ctx, d.id, limit(d.For))
	if err != nil {
		return err
	}
	if d.stage, err = openStage(d.NATS, d.id, d.how, d.answerWithin, d.Log); err != nil {
		return err
	}
	err = d.met(ctx, seq)
	if err == nil {
		d.introduce()
		err = d.play(ctx)
	}
	err = errors.Join(err, d.stage.stop())
	if err != nil && ctx.Err() == nil {
		return err
	}
	// Who stops a demo wants to know how it stood, and how to remove it.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), aroundWithin)
	defer cancel()
	return d.conclude(after)
}

// met asks over NATS about what was written over HTTP: two engines that do not know of
// each other would show a table of nothing.
func (d *demo) met(ctx context.Context, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, aroundWithin)
	defer cancel()
	answer, err := d.stage.client.Decide(ctx, client.Question{APIKeyID: cast[0].key, ConnectionID: d.id, MinSeq: seq, MaxWait: time.Second})
	switch {
	case err != nil:
		return err
	case answer.Reason == client.ReasonFailOpen:
		return fmt.Errorf("the engine does not answer over NATS (%s), and does over HTTP: both addresses must be those of one engine", answer.Degraded[0])
	case answer.Reason == "no-pool":
		return errors.New("the engine that answers over NATS does not know what was written over HTTP: both addresses must be those of one engine")
	}
	return nil
}

func (d *demo) introduce() {
	fmt.Fprintf(d.Out, "Four keys share an account of %d tokens an hour for %s, through a gateway. The provider is a fake, the engine is yours.\n\n", limit(d.For), d.For)
	for _, h := range cast {
		fmt.Fprintf(d.Out, "  %-5s %d %%, %s: %s\n", h.key, h.weight, h.policy, h.does)
	}
	fmt.Fprintln(d.Out)
}

// play lets the keys ask, and shows how everything stands meanwhile.
func (d *demo) play(ctx context.Context) error {
	d.start = time.Now()
	g, ctx := errgroup.WithContext(ctx)
	asking, done := context.WithCancel(ctx)
	g.Go(func() error { defer done(); return d.ask(ctx, d.pace(d.start)) })
	g.Go(func() error { return d.watch(asking) })
	return g.Wait()
}

// inFlight is how many requests of one key are under way at most, as in a client's pool
// of connections.
const inFlight = 8

// ask makes all requests of all keys, and is over when the demo is.
func (d *demo) ask(ctx context.Context, until pace) error {
	transport := &http.Transport{MaxIdleConnsPerHost: inFlight * len(cast)}
	keys, each := errgroup.WithContext(ctx)
	for i := range cast {
		c := &caller{habit: &cast[i], url: d.stage.url, token: d.stage.tokens[cast[i].key], http: &http.Client{Transport: transport}}
		keys.Go(func() error { return d.askAs(each, c, until) })
	}
	if err := keys.Wait(); err != nil {
		return err
	}
	return until(ctx, d.For)
}

// askAs makes the requests of one key, each at its time or when there is room for it. When
// it is stopped it makes no more; those that were made come to their end.
func (d *demo) askAs(ctx context.Context, c *caller, until pace) error {
	whole := context.WithoutCancel(ctx)
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(inFlight)
	for _, r := range c.habit.schedule(d.For, d.Seed) {
		if until(ctx, r.at) != nil {
			break // and Wait says why, if it is not the end
		}
		calls.Go(func() error { return c.ask(whole, &r) })
	}
	return calls.Wait()
}

// refreshEvery is how often the board is asked for.
const refreshEvery = time.Second

// watch shows the board until ctx ends.
func (d *demo) watch(ctx context.Context) error {
	ticks := time.NewTicker(refreshEvery)
	defer ticks.Stop()
	for at := d.start; ; {
		b, err := d.API.board(ctx, d.id)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		d.screen.show(b, at.Sub(d.start))
		select {
		case at = <-ticks.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// conclude shows the last board, what was seen, what to try, and how to remove it all.
func (d *demo) conclude(ctx context.Context) error {
	if err := d.API.settle(ctx); err != nil {
		return err
	}
	b, err := d.API.board(ctx, d.id)
	if err != nil {
		return err
	}
	d.screen.end(b, min(time.Since(d.start), d.For))
	auth := ""
	if d.Token != "" {
		auth = ` -H "authorization: ` + d.Token + `"`
	}
	fmt.Fprintf(d.Out, "\nseen:    %s\n", b.seen(d.Zone))
	if s := d.stage.client.Stats(); s.FailedOpen > 0 {
		fmt.Fprintf(d.Out, "         %d requests passed because the engine did not answer within %s\n", s.FailedOpen, answerWithin)
	}
	fmt.Fprintf(d.Out, "next:    curl -s%s %s%s/usage; bin/quotashare pools show %s%s\n", auth, d.URL, poolPath, PoolID, d.Flags)
	fmt.Fprintf(d.Out, "remove:  bin/quotashare pools delete %s%[2]s; bin/quotashare plans delete %[3]s%[2]s\n", PoolID, d.Flags, d.id)
	return nil
}
