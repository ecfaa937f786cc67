package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// serverLog passes the lines of nats-server on to slog. Its notices are our
// debug lines: they tell how a broker starts, and people came for the engine.
type serverLog struct {
	log   *slog.Logger
	warn  slog.Level // of its warnings
	fatal chan error // what is fatal to the server; the first one counts
}

// newServerLog says how a server talks. One that is alone reads a copy, which may be
// of a log that was written to: that it has to make an index again is a warning to
// the server, and to who made the copy no news. Its errors stay errors.
func newServerLog(log *slog.Logger, alone bool) *serverLog {
	if log == nil {
		log = slog.Default()
	}
	l := &serverLog{log: log.With("from", "nats-server"), warn: slog.LevelWarn, fatal: make(chan error, 1)}
	if alone {
		l.warn = slog.LevelDebug
	}
	return l
}

func (l *serverLog) Noticef(format string, v ...any) { l.log.Debug(line(format, v)) }
func (l *serverLog) Warnf(format string, v ...any) {
	l.log.Log(context.Background(), l.warn, line(format, v))
}
func (l *serverLog) Errorf(format string, v ...any) { l.log.Error(line(format, v)) }
func (l *serverLog) Debugf(format string, v ...any) { l.log.Debug(line(format, v)) }
func (l *serverLog) Tracef(format string, v ...any) { l.log.Debug(line(format, v)) }

// Fatalf keeps the error for whoever owns the server. nats-server's own logger
// would end the process here, without a clean shutdown of the rest of it.
func (l *serverLog) Fatalf(format string, v ...any) {
	text := line(format, v)
	l.log.Error(text)
	select {
	case l.fatal <- fmt.Errorf("nats server: %s", text):
	default:
	}
}

func line(format string, v []any) string {
	return strings.TrimSpace(fmt.Sprintf(format, v...))
}
