package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/ingest/natsusers"
	"github.com/quotashare/quotashare/ingest/natsusers/login"
	"github.com/quotashare/quotashare/questions"
)

// How many callers of a gateway ask or publish at the same time.
const isolatedInFlight = 64

// consumed is what a gateway publishes after a call.
const consumed = `{"apiKeyId":"key-0017","connectionId":"codex-main","cost":{"requests":1,"tokens":1800}}`

// isolated measures what it costs that a gateway is in an account of its own: the same
// questions and events of one that is, and of a user in the account of the log.
func isolated(ctx context.Context, r *runner) (rows []Row, err error) {
	w, gateway, err := r.openIsolated(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { gateway.Close(); err = errors.Join(err, w.close()) }()
	e, err := r.startEngine(ctx, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.stop()) }()
	if err := w.furnish(ctx, e); err != nil {
		return nil, err
	}
	far, near, err := askersOf(gateway, w.client)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, far.close(), near.close()) }()
	for _, m := range [...]struct{ name, unit, subject, body string }{
		{"decide from an account of one's own", "requests/s", questions.Subject, question},
		{"publish from an account of one's own", "messages/s", "quota.consumption", consumed},
	} {
		by := func(a *asker) side {
			return func(ctx context.Context) (slice, error) { return a.ask(ctx, m.subject, []byte(m.body), r.slice) }
		}
		d, err := alternate(ctx, r.rounds, by(far), by(near))
		if err != nil {
			return rows, err
		}
		rows = append(rows, d.row(fmt.Sprintf("%s, %d in flight", m.name, isolatedInFlight), m.unit))
	}
	return rows, nil
}

// openIsolated starts a broker with users, of whom an admin is the client of the world, and
// connects as a gateway that is isolated.
func (r *runner) openIsolated(ctx context.Context) (w *world, gateway *nats.Conn, err error) {
	w = new(world)
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	dir := filepath.Join(r.dir, "users")
	if _, err := natsusers.Write(dir, natsusers.Want{Isolate: true}); err != nil {
		return w, nil, err
	}
	w.server, err = ingest.Start(ingest.Options{
		Dir: filepath.Join(r.dir, "log"), Addr: "127.0.0.1:0", Sync: relaxedSync, Users: filepath.Join(dir, natsusers.ConfigName), Logger: r.log,
	})
	if err != nil {
		return w, nil, err
	}
	for user, nc := range map[string]**nats.Conn{"admin": &w.client, "decider": &w.served, "gateway": &gateway} {
		who, err := login.Read(filepath.Join(dir, user+natsusers.LoginSuffix))
		if err != nil {
			return w, gateway, err
		}
		if *nc, err = nats.Connect(w.server.ClientURL(), who.Options()...); err != nil {
			return w, gateway, err
		}
	}
	if w.js, err = jetstream.New(w.client); err != nil {
		return w, gateway, err
	}
	_, err = ingest.EnsureStreams(ctx, w.js, ingest.Configs(retentionDays, 1))
	return w, gateway, err
}

func askersOf(far, near *nats.Conn) (a, b *asker, err error) {
	if a, err = newAsker(far, isolatedInFlight); err != nil {
		return nil, nil, err
	}
	if b, err = newAsker(near, isolatedInFlight); err != nil {
		return nil, nil, errors.Join(err, a.close())
	}
	return a, b, nil
}
