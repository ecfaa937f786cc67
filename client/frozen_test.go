package client

import (
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// pipe is a way to a broker that can be frozen: nothing is read any more, and who
// connects anew is not greeted.
type pipe struct {
	t      *testing.T
	l      net.Listener
	to     string
	mu     sync.Mutex
	frozen bool
	conns  []net.Conn
	all    sync.WaitGroup
}

func startPipe(t *testing.T, to string) *pipe {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &pipe{t: t, l: l, to: to}
	p.all.Go(p.accept)
	t.Cleanup(p.end)
	return p
}

// end ends it. Who waits for the other side finds nothing there.
func (p *pipe) end() {
	_ = p.l.Close()
	p.cut()
	p.all.Wait()
}

func (p *pipe) accept() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return
		}
		if !p.keep(in) {
			continue
		}
		out, err := net.Dial("tcp", p.to)
		mustToo(p.t, err)
		p.keep(out)
		p.all.Go(func() { _, _ = io.Copy(out, p.unlessFrozen(in)) })
		p.all.Go(func() { _, _ = io.Copy(in, out) })
	}
}

// keep reports whether the connection is one that works.
func (p *pipe) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
	return !p.frozen
}

func (p *pipe) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}

// unlessFrozen reads until the pipe is frozen.
func (p *pipe) unlessFrozen(from io.Reader) io.Reader {
	return readFunc(func(b []byte) (int, error) {
		p.mu.Lock()
		frozen := p.frozen
		p.mu.Unlock()
		if frozen {
			return 0, io.EOF
		}
		return from.Read(b)
	})
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

// cut closes all connections.
func (p *pipe) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// through returns a client over a connection of its caller's, which takes its time.
func (p *pipe) through(t *testing.T) (c *Client, lost <-chan struct{}) {
	t.Helper()
	gone := make(chan struct{}, 10)
	nc, err := nats.Connect("nats://"+p.l.Addr().String(), nats.MaxReconnects(-1), nats.ReconnectWait(time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.Timeout(30*time.Second), nats.DisconnectErrHandler(func(*nats.Conn, error) { gone <- struct{}{} }))
	must(t, err)
	t.Cleanup(nc.Close)
	c, err = New(Options{Conn: nc, Timeout: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	return c, gone
}

// mustPass asks, and expects to pass long before the library would let go.
func mustPass(t *testing.T, c *Client, questions []Question) {
	t.Helper()
	start := time.Now()
	for _, a := range c.DecideBatch(t.Context(), questions) {
		if a.Err != nil || !a.Allow || a.Reason != ReasonFailOpen {
			t.Fatalf("%+v, %v", a.Decision, a.Err)
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Fatalf("a question of 20 ms took %s", took)
	}
}

// The library holds its lock for as long as a broker takes to greet. Questions do not
// wait for that.
func TestABrokerThatDoesNotGreetStopsNobody(t *testing.T) {
	b := startBroker(t)
	p := startPipe(t, b.Addr)
	c, lost := p.through(t)
	p.freeze()
	p.cut()
	<-lost
	for range 20 {
		mustPass(t, c, []Question{about("", 1)})
	}
	p.end()
}

// Nor for a broker that reads nothing, and whose buffers are full.
func TestABrokerThatReadsNothingStopsNobody(t *testing.T) {
	b := startBroker(t)
	p := startPipe(t, b.Addr)
	c, _ := p.through(t)
	p.freeze()
	many := make([]Question, 500)
	for i := range many {
		many[i] = about("", 1)
		many[i].Model = strings.Repeat("m", 256)
	}
	for range 100 { // of 150 kB
		mustPass(t, c, many)
	}
	p.end()
}
