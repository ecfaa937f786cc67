package httpapi

import (
	"log/slog"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
)

// lingering is a connection that its server has closed: it waits half a second for its
// client to read on, which is longer than goleak waits.
var lingering = goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, lingering) }

// prepare makes a server that does not listen yet.
func prepare(t *testing.T, c Config) *server {
	t.Helper()
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(&unexpected{t: t}, nil))
	}
	if p, ok := c.Engine.(Publisher); ok && c.Publisher == nil {
		c.Publisher = p
	}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &server{api: h.(*api), http: NewServer(h, c.Log)}
}

// unexpected is a log in which nothing is expected.
type unexpected struct{ t *testing.T }

func (u *unexpected) Write(line []byte) (int, error) {
	u.t.Errorf("logged: %s", line)
	return len(line), nil
}

// logged is a log that a test reads.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

func (l *logged) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines
}
