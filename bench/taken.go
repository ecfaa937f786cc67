package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest/intake"
)

// most are the callers of one measure at most.
const most = 64

// taking is the HTTP door of a broker that makes an fsync for each message, and callers
// of it. Nothing is folded.
type taking struct {
	*world
	r      *runner
	intake *intake.Intake
	door   *httptest.Server
	client *http.Client
	bodies [][]byte
	events int // in a body
}

func (r *runner) openTaking(ctx context.Context, perBody int) (t *taking, err error) {
	t = &taking{r: r, events: perBody, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: most}}}
	if t.world, err = r.openWorld(ctx, 0); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	if err = t.addStream(ctx, "BARE", "bare"); err != nil {
		return t, err
	}
	if t.intake, err = intake.Open(intake.Options{Conn: t.served, Logger: r.log}); err != nil {
		return t, err
	}
	engine, err := decider.New(decider.Options{Conn: t.served, Dir: r.stateDir(), Version: "0.0.0", Log: r.log})
	if err != nil {
		return t, err
	}
	h, err := httpapi.New(httpapi.Config{Engine: engine, Publisher: t.intake, Registry: prometheus.NewRegistry(), Log: r.log})
	if err != nil {
		return t, err
	}
	t.door = httptest.NewServer(h)
	for i := range 64 {
		// Without ids: a broker that has seen a message would not store it again.
		t.bodies = append(t.bodies, logShape{perMessage: perBody}.array(i*perBody))
	}
	return t, nil
}

func (t *taking) close() error {
	t.client.CloseIdleConnections()
	if t.door != nil {
		t.door.Close()
	}
	var err error
	if t.intake != nil {
		err = t.intake.Close()
	}
	return errors.Join(err, t.world.close())
}

// overHTTP has events taken by so many callers, each with one request after the other.
func (t *taking) overHTTP(callers int) side {
	return t.slice(callers, func(ctx context.Context, body []byte) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.door.URL+"/api/quota/events", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := t.client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("events were answered %s: %s", resp.Status, answer)
		}
		return err
	})
}

// published publishes the same bytes to another stream, each message waited for.
func (t *taking) published(callers int) side {
	return t.slice(callers, func(ctx context.Context, body []byte) error {
		_, err := t.js.Publish(ctx, "bare", body)
		return err
	})
}

// slice has bodies stored for a while, and returns events per second.
func (t *taking) slice(callers int, store func(context.Context, []byte) error) side {
	return func(ctx context.Context) (slice, error) {
		took := make([][]float64, callers)
		m := startMeter()
		n, err := crowd(ctx, callers, t.r.slice, func(ctx context.Context, i int) error {
			start := time.Now()
			err := store(ctx, t.bodies[(i+len(took[i]))%len(t.bodies)])
			took[i] = append(took[i], millis(time.Since(start)))
			return err
		})
		return m.rate(n * t.events).timed(slices.Concat(took...)), err
	}
}

// takenWith measures how fast events are taken over HTTP and are durable, beside
// messages of the same bytes that are published to the broker as they are.
func takenWith(perBody, callers int) func(context.Context, *runner) ([]Row, error) {
	return func(ctx context.Context, r *runner) (rows []Row, err error) {
		t, err := r.openTaking(ctx, perBody)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, t.close()) }()
		d, err := alternate(ctx, r.rounds, t.overHTTP(callers), t.published(callers))
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("taken over HTTP, %d events a body, %d in flight, fsync always", perBody, callers)
		rate := d.row(name, "events/s")
		if perBody == events.MaxEvents {
			rate = rate.judged(atLeast(200_000))
		}
		return []Row{rate, d.p50(name), d.p99(name)}, nil
	}
}
