package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"strings"
	"sync"
	"time"
)

// ErrSameName says that another node of the cluster has the name of this one.
var ErrSameName = errors.New("another node of the cluster has this node's name")

// sayEvery is how often one line is repeated. Two servers that cannot agree would else
// tell each other some sixty times a second.
const sayEvery = 10 * time.Second

// young is the age up to which a server takes another of its name for the one that was
// there first, and ends. The older one goes on: what is started wrong must not end what
// runs.
const young = 30 * time.Second

// serverLog passes the lines of nats-server on to slog. Its notices are our
// debug lines: they tell how a broker starts, and people came for the engine.
type serverLog struct {
	log   *slog.Logger
	warn  slog.Level // of its warnings
	fatal chan error // what is fatal to the server; the first one counts
	name  string     // of the server
	now   func() time.Time
	begun time.Time

	mu   sync.Mutex
	said map[string]*repeated
}

// repeated is a line that was said.
type repeated struct {
	at    time.Time
	since int // that it was to be said again, and was not
}

// newServerLog says how a server talks. One that is alone reads a copy, which may be
// of a log that was written to: that it has to make an index again is a warning to
// the server, and to who made the copy no news. Its errors stay errors.
func newServerLog(o *Options) *serverLog {
	log := cmp.Or(o.Logger, slog.Default())
	l := &serverLog{
		log: log.With("from", "nats-server"), warn: slog.LevelWarn, fatal: make(chan error, 1),
		name: cmp.Or(o.Name, defaultName), now: time.Now, begun: time.Now(), said: map[string]*repeated{},
	}
	if o.Alone {
		l.warn = slog.LevelDebug
	}
	return l
}

func (l *serverLog) Noticef(format string, v ...any) { l.log.Debug(line(format, v)) }
func (l *serverLog) Warnf(format string, v ...any)   { l.say(l.warn, line(format, v)) }
func (l *serverLog) Debugf(format string, v ...any)  { l.log.Debug(line(format, v)) }
func (l *serverLog) Tracef(format string, v ...any)  { l.log.Debug(line(format, v)) }

// Errorf says it, and ends a server that is the second one of its name: nats-server goes
// on and has no part in the cluster.
func (l *serverLog) Errorf(format string, v ...any) {
	text := line(format, v)
	l.say(slog.LevelError, text)
	if strings.HasSuffix(text, fmt.Sprintf("Remote server has a duplicate name: %q", l.name)) && l.now().Sub(l.begun) < young {
		l.fail(fmt.Errorf("server name %s: %w", l.name, ErrSameName))
	}
}

// Fatalf keeps the error for whoever owns the server. nats-server's own logger
// would end the process here, without a clean shutdown of the rest of it.
func (l *serverLog) Fatalf(format string, v ...any) {
	text := line(format, v)
	l.log.Error(text)
	l.fail(fmt.Errorf("nats server: %s", text))
}

func (l *serverLog) fail(err error) {
	select {
	case l.fatal <- err:
	default:
	}
}

// connection is how a line of one begins: each try to connect has another number.
var connection = regexp.MustCompile(`^\S+ - [a-z_]+:\d+ - `)

// violation is what a client did that it may not: behind it come its own words, and before
// it the name it goes by, which would make each of its lines another one. Its user stays.
var violation = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*" - )??((?:"[^"]*/user:[^"]*" - )?[A-Za-z ]*[vV]iolation)\b.*$`)

// mostSaid is how many lines are told apart at once. Beyond, where somebody chooses what
// is in them, they count as one.
const mostSaid = 100

// alike is the same text for lines that say the same.
func alike(text string) string {
	return violation.ReplaceAllString(connection.ReplaceAllString(text, ""), "$1")
}

// say writes a line at most every sayEvery, with the number of those left out.
func (l *serverLog) say(level slog.Level, text string) {
	switch left, now := l.due(alike(text)); {
	case !now:
	case left > 0:
		l.log.Log(context.Background(), level, text, "count", left+1)
	default:
		l.log.Log(context.Background(), level, text)
	}
}

// due reports whether a line is to be said now, and how often it was not since it was.
func (l *serverLog) due(text string) (left int, now bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.now()
	if l.said[text] == nil && len(l.said) >= mostSaid {
		text = "" // until some of them are old, below
	}
	old := l.said[text]
	if old != nil && at.Sub(old.at) < sayEvery {
		old.since++
		return 0, false
	}
	if old != nil {
		left = old.since
	}
	maps.DeleteFunc(l.said, func(_ string, r *repeated) bool { return at.Sub(r.at) >= 2*sayEvery })
	l.said[text] = &repeated{at: at}
	return left, true
}

func line(format string, v []any) string {
	return strings.TrimSpace(fmt.Sprintf(format, v...))
}
