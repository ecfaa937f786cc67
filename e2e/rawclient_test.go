package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// rawClient speaks the protocol of NATS over a socket, with nothing but the
// standard library: what any language can do without a client library.
type rawClient struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

const rawInbox = "_INBOX.raw"

func dialRaw(t *testing.T, url string) *rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	c := &rawClient{t: t, conn: conn, in: bufio.NewReader(conn)}
	if info := c.line(); !strings.HasPrefix(info, "INFO ") {
		t.Fatalf("the server begins with %q", info)
	}
	c.send("CONNECT {\"verbose\":false,\"pedantic\":true,\"headers\":true,\"no_responders\":true}\r\nSUB " + rawInbox + " 1\r\n")
	return c
}

func (c *rawClient) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.t.Fatal(err)
	}
}

func (c *rawClient) line() string {
	c.t.Helper()
	text, err := c.in.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSuffix(text, "\r\n")
}

// request publishes and returns the one answer.
func (c *rawClient) request(subject, body string) string {
	c.t.Helper()
	c.send(fmt.Sprintf("PUB %s %s %d\r\n%s\r\n", subject, rawInbox, len(body), body))
	for {
		words := strings.Fields(c.line())
		switch words[0] {
		case "PING":
			c.send("PONG\r\n")
		case "MSG":
			return c.payload(words[len(words)-1])
		default: // -ERR, or HMSG: nobody listens
			c.t.Fatalf("%s %s: the server says %v", subject, body, words)
		}
	}
}

func (c *rawClient) payload(size string) string {
	c.t.Helper()
	n, err := strconv.Atoi(size)
	if err != nil {
		c.t.Fatal(err)
	}
	text := make([]byte, n+len("\r\n"))
	if _, err := io.ReadFull(c.in, text); err != nil {
		c.t.Fatal(err)
	}
	return string(text[:n])
}
