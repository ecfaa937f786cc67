package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// pipes is a listener in memory: in a bubble of testing/synctest time goes on
// only while nobody waits for the system.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// theatre is a server over pipes with those who watch.
type theatre struct {
	t       *testing.T
	pipes   *pipes
	srv     *server
	clients []*client
	served  chan struct{} // closed when the server has ended
}

func open(t *testing.T, e Engine, c Config) *theatre {
	t.Helper()
	c.Engine = e
	h := &theatre{t: t, pipes: newPipes(), srv: prepare(t, c), served: make(chan struct{})}
	go func() {
		defer close(h.served)
		_ = h.srv.http.Serve(h.pipes) // always an error: that it was stopped
	}()
	return h
}

// close stops the server, and returns how long that took.
func (h *theatre) close() time.Duration {
	h.t.Helper()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.srv.http.Shutdown(ctx); err != nil {
		h.t.Errorf("a stream does not end: %v", err)
	}
	<-h.served
	for _, c := range h.clients {
		c.conn.Close()
		c.begin()
		<-c.done
	}
	return time.Since(begin)
}

// client is somebody who watches.
type client struct {
	name string
	conn net.Conn
	done chan struct{} // closed when nothing more comes
	read chan struct{} // closed when it begins to read
	once sync.Once

	mu  sync.Mutex
	got strings.Builder
}

// connect sends a request, its first line and its headers, and lets what comes
// be read.
func (h *theatre) connect(name, request string, reads bool) *client {
	ours, theirs := net.Pipe()
	h.pipes.conns <- theirs
	c := &client{name: name, conn: ours, done: make(chan struct{}), read: make(chan struct{})}
	h.clients = append(h.clients, c)
	line, headers, _ := strings.Cut(request, "\n")
	text := line + " HTTP/1.1\r\nHost: localhost\r\n"
	for header := range strings.Lines(headers) {
		text += strings.TrimSpace(header) + "\r\n"
	}
	if reads {
		c.begin()
	}
	go func() {
		defer close(c.done)
		if _, err := ours.Write([]byte(text + "\r\n")); err == nil {
			c.listen()
		}
	}()
	return c
}

// begin lets the client read.
func (c *client) begin() { c.once.Do(func() { close(c.read) }) }

// listen notes the status, the headers that matter, and the lines of the body
// that have something in them.
func (c *client) listen() {
	<-c.read
	resp, err := http.ReadResponse(bufio.NewReader(c.conn), nil)
	if err != nil {
		c.note(err.Error())
		return
	}
	c.note(fmt.Sprint(resp.StatusCode))
	for _, name := range []string{"Allow", "Cache-Control", "Content-Encoding", "Content-Type", "Retry-After", "X-Accel-Buffering"} {
		if v := resp.Header.Get(name); v != "" {
			c.note(name + ": " + v)
		}
	}
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			c.note(line)
		}
		if err != nil {
			c.note("(" + err.Error() + ")")
			return
		}
	}
}

func (c *client) note(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got.WriteString(line + "\n")
}

// take returns what came since the last time.
func (c *client) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.got.Reset()
	return c.got.String()
}
