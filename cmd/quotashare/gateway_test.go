package main

import (
	"context"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	engineclient "github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/fakeprovider"
	"github.com/quotashare/quotashare/gateway"
	"github.com/quotashare/quotashare/keyfile"
)

// cmdGateway does what a page has its reader do in another terminal: it starts a
// gateway beside the engine, with the page's file of connections and the key file, on a
// free port that it sets GATEWAY_ADDR to. Anthropic is played by a provider of ours:
//
//	gateway FILE
func cmdGateway(ts *testscript.TestScript, _ bool, args []string) {
	const account = "sk-account"
	provider := httptest.NewServer(fakeprovider.New(fakeprovider.Options{Credentials: []string{account}}))
	ts.Defer(provider.Close)
	text := strings.ReplaceAll(ts.ReadFile(args[0]), "https://api.anthropic.com", provider.URL)
	connections, err := gateway.ParseConfig([]byte(text), func(string) string { return account })
	ts.Check(err)
	quiet := slog.New(slog.DiscardHandler)
	keys, err := keyfile.Open(config.KeysFile("", ts.MkAbs("data")), quiet)
	ts.Check(err)
	c, err := engineclient.New(engineclient.Options{URL: "nats://" + ts.Getenv("QUOTA_NATS_ADDR"), Timeout: 5 * time.Second, Logger: quiet})
	ts.Check(err)
	g, err := gateway.New(gateway.Options{Client: c, Config: connections, Keys: keys, Log: quiet})
	ts.Check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(ctx, l, 5*time.Second) }()
	ts.Setenv("GATEWAY_ADDR", l.Addr().String())
	ts.Defer(func() {
		stop()
		ts.Check(<-ended)
		soon, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.Close(soon) // the engine may be gone already
	})
}
