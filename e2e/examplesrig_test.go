package e2e

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
)

// cable is the way between a client and the engine, which a test cuts where it wants.
type cable struct {
	listener net.Listener
	to       string // where the engine is

	// The cable is cut once, when a client has sent these words: before the engine gets
	// them, or when its answer has come, which nobody sees then.
	words    []byte
	answered bool

	once   sync.Once
	cut    chan struct{} // closed when it is cut
	mended chan struct{} // what the client has sent is thrown away when this is closed
	ends   sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// stored is in every answer to an event that the log has, over HTTP and NATS.
const stored = `"seq":`

func layCable(t *testing.T, url, words string, answered bool) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, host, _ := strings.Cut(url, "://")
	c := &cable{listener: l, to: host, words: []byte(words), answered: answered, cut: make(chan struct{}), mended: make(chan struct{})}
	c.ends.Go(c.accept)
	t.Cleanup(c.remove)
	return c
}

// url is where a client is told that the engine is.
func (c *cable) url(scheme string) string { return scheme + "://" + c.listener.Addr().String() }

func (c *cable) remove() {
	c.listener.Close()
	c.mu.Lock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.mu.Unlock()
	c.ends.Wait()
}

func (c *cable) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		engine, err := net.Dial("tcp", c.to)
		if err != nil { // the engine is away
			client.Close()
			continue
		}
		c.mu.Lock()
		c.conns = append(c.conns, client, engine)
		c.mu.Unlock()
		asked := make(chan struct{}) // closed when the words are on their way to the engine
		var said []byte
		c.ends.Go(func() {
			carry(engine, client, func(chunk []byte) bool {
				said = append(said, chunk...)
				return c.toEngine(said, asked)
			})
		})
		c.ends.Go(func() { carry(client, engine, func(chunk []byte) bool { return c.toClient(chunk, asked) }) })
	}
}

// carry brings what comes from one end to the other, as long as it may.
func carry(to, from net.Conn, may func(chunk []byte) bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil || !may(buf[:n]) {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (c *cable) toEngine(said []byte, asked chan struct{}) bool {
	first := false
	if bytes.Contains(said, c.words) {
		c.once.Do(func() { first = true })
	}
	switch {
	case first && c.answered:
		close(asked)
	case first:
		close(c.cut)
		<-c.mended
	}
	return !first || c.answered
}

func (c *cable) toClient(chunk []byte, asked chan struct{}) bool {
	select {
	case <-asked:
		if bytes.Contains(chunk, []byte(stored)) {
			close(c.cut)
			return false
		}
	default:
	}
	return true
}
