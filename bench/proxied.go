package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/gateway"
)

const (
	chatPath = "/v1/chat/completions"
	asked    = `"model":"m","max_tokens":100,"messages":[{"role":"user","content":"What is a fair share?"}]}`
	chat     = "{" + asked
	chatSSE  = `{"stream":true,` + asked
	answered = `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"A half."},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}`
	piece    = `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"A half."}}],"usage":null}` + "\n\n"
	stated   = `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}` + "\n\ndata: [DONE]\n\n"
	anyToken = "token"
)

// oneKey is the file of keys.
type oneKey struct{}

func (oneKey) KeyID(token string) (string, bool) { return keyName(17), token == anyToken }

// proxies are a gateway and a bare reverse proxy before the same provider.
type proxies struct {
	*arena
	asks       *client.Client
	gate, bare string // URLs
	http       *http.Client
	servers    []*http.Server
	transports []*http.Transport
	flushed    chan time.Time // the provider's first byte was sent
}

// openProxies starts both, over a log that is synced so often.
func (r *runner) openProxies(ctx context.Context, sync time.Duration) (p *proxies, err error) {
	p = &proxies{flushed: make(chan time.Time, 1)}
	if p.arena, err = r.openArena(ctx, sync, []byte(question)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	upstream, err := p.serve(http.HandlerFunc(p.provide))
	if err != nil {
		return p, err
	}
	if p.asks, err = client.New(client.Options{Conn: p.client, Timeout: 10 * time.Second, Logger: r.log}); err != nil {
		return p, err
	}
	g, err := gateway.New(gateway.Options{
		Client: p.asks, Keys: oneKey{}, Transport: p.transport(), Log: r.log,
		Config: gateway.Config{Connections: []gateway.Connection{{ID: connection, Provider: "codex", URL: upstream + "/v1", Credential: "x"}}},
	})
	if err != nil {
		return p, err
	}
	if p.gate, err = p.serve(g); err != nil {
		return p, err
	}
	target, err := url.Parse(upstream)
	if err != nil {
		return p, err
	}
	p.bare, err = p.serve(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: p.transport(), FlushInterval: -1,
	})
	p.http = &http.Client{Transport: p.transport()}
	return p, err
}

// transport is the same for everybody: what is compared is what is between.
func (p *proxies) transport() *http.Transport {
	t := gateway.NewTransport()
	p.transports = append(p.transports, t)
	return t
}

func (p *proxies) serve(h http.Handler) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	p.servers = append(p.servers, s)
	go s.Serve(l) //nolint:errcheck // it ends with close
	return "http://" + l.Addr().String(), nil
}

// provide answers at once, a stream in two pieces.
func (p *proxies) provide(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if !strings.HasPrefix(string(body), `{"stream":true`) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answered)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, piece)
	p.flushed <- time.Now()
	_ = http.NewResponseController(w).Flush()
	_, _ = io.WriteString(w, stated)
}

func (p *proxies) close() error {
	var err error
	for _, s := range p.servers {
		err = errors.Join(err, s.Close())
	}
	for _, t := range p.transports {
		t.CloseIdleConnections()
	}
	if p.asks != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = errors.Join(err, p.asks.Close(ctx))
	}
	return errors.Join(err, p.arena.close())
}

// post makes a call.
func (p *proxies) post(ctx context.Context, base, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+chatPath, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+anyToken)
	resp, err := p.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return nil, errors.Join(fmt.Errorf("a call was answered with %s: %s", resp.Status, text), resp.Body.Close())
	}
	return resp, nil
}

// calls has that many callers call one after the other.
func (p *proxies) calls(ctx context.Context, base string, callers int, long time.Duration) (slice, error) {
	took := make([][]float64, callers)
	m := startMeter()
	n, err := crowd(ctx, callers, long, func(ctx context.Context, i int) error {
		start := time.Now()
		resp, err := p.post(ctx, base, chat)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		took[i] = append(took[i], millis(time.Since(start)))
		return errors.Join(err, resp.Body.Close())
	})
	if err != nil {
		return slice{}, err
	}
	s := m.rate(n).timed(slices.Concat(took...))
	return s, errors.Join(p.asks.Flush(ctx), p.sound())
}

// sound says why the figures would be those of a gateway that does not do its work.
func (p *proxies) sound() error {
	if s := p.asks.Stats(); s.FailedOpen+s.Degraded+s.Blocked+s.Released+s.Estimated > 0 || s.Settled != s.Calls {
		return fmt.Errorf("calls passed in another way than held and settled: %+v", s)
	}
	return nil
}

// firstBytes takes the time from the provider's first byte to the client's.
func (p *proxies) firstBytes(ctx context.Context, base string, long time.Duration) (slice, error) {
	var took []float64
	first := make([]byte, 1)
	m := startMeter()
	n, err := crowd(ctx, 1, long, func(ctx context.Context, _ int) error {
		resp, err := p.post(ctx, base, chatSSE)
		if err != nil {
			return err
		}
		_, err = io.ReadFull(resp.Body, first)
		took = append(took, millis(time.Since(<-p.flushed)))
		_, more := io.Copy(io.Discard, resp.Body)
		return errors.Join(err, more, resp.Body.Close())
	})
	return m.rate(n).timed(took), errors.Join(err, p.sound())
}

// gatewayWith measures calls through the gateway, by so many callers at once, beside
// the same through a reverse proxy that does nothing else.
func gatewayWith(callers int) func(context.Context, *runner) ([]Row, error) {
	return func(ctx context.Context, r *runner) ([]Row, error) {
		return r.withEachSync(ctx, func(r *runner, ctx context.Context, sync time.Duration) ([]Row, error) {
			return r.proxied(ctx, sync, callers)
		})
	}
}

func (r *runner) proxied(ctx context.Context, sync time.Duration, callers int) (rows []Row, err error) {
	p, err := r.openProxies(ctx, sync)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	through := func(base string) side {
		return func(ctx context.Context) (slice, error) { return p.calls(ctx, base, callers, r.slice) }
	}
	d, err := alternate(ctx, r.rounds, through(p.gate), through(p.bare))
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("gateway, %d in flight, %s", callers, syncText(sync))
	rows = []Row{d.row(name, "calls/s"), d.p50(name), d.p99(name)}
	if callers > 1 {
		return rows, nil // what is added is then time in queues, on both sides
	}
	most := 1.0
	if sync == 0 {
		most = 3
	}
	return append(rows, d.added(name+", added p50").judged(atMost(most))), nil
}

// added is how much longer a call takes at the median, by pairs of slices.
func (d *duel) added(name string) Row {
	more := make([]float64, len(d.ours))
	for i := range more {
		more[i] = d.ours[i].p50 - d.bare[i].p50
	}
	return Row{Name: name, Unit: "ms", Ours: median(more)}
}

// gatewayStream measures how soon a client has what a provider has sent.
func gatewayStream(ctx context.Context, r *runner) (rows []Row, err error) {
	p, err := r.openProxies(ctx, relaxedSync)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	through := func(base string) side {
		return func(ctx context.Context) (slice, error) { return p.firstBytes(ctx, base, r.slice) }
	}
	d, err := alternate(ctx, r.rounds, through(p.gate), through(p.bare))
	if err != nil {
		return nil, err
	}
	const name = "gateway, first byte after the provider's"
	return []Row{d.p50(name), d.p99(name).judged(atMost(5))}, nil
}
