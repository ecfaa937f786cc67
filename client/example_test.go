package client_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// A call from question to settlement: of a plan of 1,000 tokens a month, alice holds
// 800 while her call is under way, and has used 150 when it is over.
func Example() {
	url, stop := run()
	defer stop()
	ctx := context.Background()

	c, err := client.New(client.Options{URL: url, Timeout: 5 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	question := client.Question{APIKeyID: "alice", ConnectionID: "kimi-1", Estimate: client.Amounts{Tokens: 800}, Reserve: true}

	first, err := c.Decide(ctx, question)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the first call:", first.Allow, first.Reason)

	second, err := c.Decide(ctx, question)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("beside it:", second.Allow, second.Reason, second.Status, second.RetryAfter > 0)

	if err := c.Settle(first.Hold, client.Amounts{Tokens: 150}); err != nil {
		log.Fatal(err)
	}
	if err := c.Close(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("settled:", c.Stats().Stored, "event")
	// Output:
	// the first call: true ok
	// beside it: false global-saturated 429 true
	// settled: 1 event
}

// Without an engine requests pass, and the decision says so.
func ExampleClient_Decide_failOpen() {
	c, err := client.New(client.Options{URL: "nats://127.0.0.1:1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(context.Background())

	d, err := c.Decide(context.Background(), client.Question{APIKeyID: "alice", ConnectionID: "kimi-1"})
	fmt.Println(d.Allow, d.Reason, d.Degraded, err)
	fmt.Println(c.Stats().FailedOpen)
	// Output:
	// true fail-open [disconnected] <nil>
	// 1
}

// With FailClosed they do not.
func ExampleOptions_failClosed() {
	c, err := client.New(client.Options{URL: "nats://127.0.0.1:1", FailClosed: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(context.Background())

	d, err := c.Decide(context.Background(), client.Question{APIKeyID: "alice", ConnectionID: "kimi-1"})
	fmt.Println(d.Allow, d.Reason, d.Status, err)
	// Output:
	// false degraded 503 <nil>
}

// What a call cost is tokens times the price of one, in whole numbers.
func ExampleUSD() {
	const perToken = 3 * client.Dollar / 1_000_000 // 3 dollars a million tokens
	tokens := int64(12_345)
	fmt.Println(client.USD(tokens) * perToken)
	// Output: 0.037035
}

// run starts a broker and an engine, and a pool of one connection and one key.
func run() (url string, stop func()) {
	dir, err := os.MkdirTemp("", "quotashare")
	check(err)
	quiet := slog.New(slog.DiscardHandler)
	broker, err := ingest.Start(ingest.Options{Dir: filepath.Join(dir, "nats"), Addr: "127.0.0.1:-1", Sync: 100 * time.Millisecond, Logger: quiet})
	check(err)
	nc, err := nats.Connect(broker.ClientURL())
	check(err)
	js, err := jetstream.New(nc)
	check(err)
	_, err = ingest.EnsureStreams(context.Background(), js, ingest.Configs(14, 1))
	check(err)
	engine, err := decider.New(decider.Options{Conn: nc, Dir: filepath.Join(dir, "state"), Version: "0.0.1", Log: quiet})
	check(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- engine.Run(ctx) }()
	check(engine.AwaitReady(ctx))
	configure(ctx, engine)
	return broker.ClientURL(), func() {
		cancel()
		check(<-done)
		nc.Close()
		check(broker.Shutdown())
		check(os.RemoveAll(dir))
	}
}

func configure(ctx context.Context, engine *decider.Engine) {
	_, err := engine.PutPlan(ctx, "kimi-1", []plans.Dimension{
		{Unit: quota.Tokens, Window: quota.Monthly, Limit: 1000 * quota.Amount(quota.Tokens.Scale())},
	}, httpapi.Meta{})
	check(err)
	pool := &plans.Pool{
		ID: "team", Name: "Team", Provider: "kimi", Reserve: 100,
		Connections: []plans.Connection{{ConnectionID: "kimi-1", Weight: 100}},
		Allocations: []plans.Allocation{{APIKeyID: "alice", Weight: 100 * quota.RatioOne}},
	}
	_, err = engine.ChangePool(ctx, pool.ID, func(*plans.Pool) (*plans.Pool, error) { return pool, nil }, httpapi.Meta{})
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
