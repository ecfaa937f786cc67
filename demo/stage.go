package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/dialect"
	"github.com/quotashare/quotashare/fakeprovider"
	"github.com/quotashare/quotashare/gateway"
	"github.com/quotashare/quotashare/keyfile"
)

const (
	// answerWithin is more than a gateway gives the engine otherwise: a machine that
	// compiles meanwhile should still show blocks, and not that requests pass without
	// an answer.
	answerWithin = 2 * time.Second
	drainWithin  = 10 * time.Second
	flushWithin  = 10 * time.Second
)

// stage is what stands between the clients and the engine.
type stage struct {
	url      string            // of the gateway
	tokens   map[string]string // by key
	client   *client.Client
	provider *fakeprovider.Provider
	stop     func() error // when the clients are done; everything is in the log then
}

// openStage starts the provider and the gateway. Nobody else has the tokens and the
// credential: they are made here and end with the process.
func openStage(nc *nats.Conn, id string, how fakeprovider.Options, answerWithin time.Duration, log *slog.Logger) (*stage, error) {
	s := &stage{tokens: map[string]string{}}
	keys := map[string]string{}
	for _, h := range cast {
		token := "qs-" + rand.Text()
		s.tokens[h.key], keys[token] = token, h.key
	}
	var err error
	if s.client, err = client.New(client.Options{Conn: nc, Timeout: answerWithin, Logger: log}); err != nil {
		return nil, err
	}
	credential := "sk-" + rand.Text()
	how.Credentials = []string{credential}
	s.provider = fakeprovider.New(how)
	behind, stopProvider, err := serveProvider(s.provider)
	if err != nil {
		return nil, errors.Join(err, s.flush())
	}
	g, err := gateway.New(gateway.Options{
		Client: s.client, Keys: keyfile.Of(keys), Log: log,
		Config: gateway.Config{Connections: []gateway.Connection{{
			ID: id, Provider: provider, URL: behind + "/v1", Credential: gateway.Secret(credential), Auth: gateway.AuthBearer,
			Serves: []string{dialect.Chat.String(), dialect.Messages.String()},
		}}},
	})
	if err != nil {
		return nil, errors.Join(err, stopProvider(), s.flush())
	}
	l, err := loopback()
	if err != nil {
		return nil, errors.Join(err, stopProvider(), s.flush())
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, l, drainWithin) }()
	s.url = "http://" + l.Addr().String()
	s.stop = func() error {
		cancel()
		return errors.Join(<-done, s.flush(), stopProvider())
	}
	return s, nil
}

func loopback() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

func serveProvider(p *fakeprovider.Provider) (url string, stop func() error, err error) {
	l, err := loopback()
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: p, ReadHeaderTimeout: drainWithin}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	return "http://" + l.Addr().String(), func() error {
		err := srv.Close()
		<-done // that it is closed
		return err
	}, nil
}

// flush brings into the log what was published.
func (s *stage) flush() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	return s.client.Close(ctx)
}
