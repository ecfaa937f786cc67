package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/quotashare/quotashare/ingest/groups"
	"github.com/quotashare/quotashare/ingest/spool"
)

// disk keeps on disk what the log does not take, and brings it when it does.
type disk struct {
	spool *spool.Spool
	stop  context.CancelFunc
	done  chan struct{}
}

// openDisk opens the directory, and begins to bring what is there from before.
func openDisk(dir string, to transport, log *slog.Logger) (*disk, error) {
	s, err := spool.Open(spool.Options{Dir: dir, Log: logOver{to}, Room: to.room, Try: ackWithin, Logger: log})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	d := &disk{spool: s, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		if err := s.Run(ctx); err != nil {
			log.Error("what is kept for the log cannot be read: it is brought after the next start", "dir", dir, "err", err)
		}
	}()
	return d, nil
}

// store brings the message into the log, or keeps it: then it is brought later, behind
// what was kept before.
func (d *disk) store(ctx context.Context, m *groups.Message) (spooled bool, err error) {
	r, err := d.spool.Publish(ctx, m)
	return r.Spooled, err
}

// close leaves what is there for the next one who opens the directory.
func (d *disk) close() error {
	if d == nil {
		return nil
	}
	d.stop()
	<-d.done
	return d.spool.Close()
}

func (d *disk) fill(s *Stats) {
	if d == nil {
		return
	}
	k := d.spool.Stats()
	s.Drained, s.Refused, s.OnDisk, s.OnDiskBytes = k.Drained, k.Refused, k.Events, k.Bytes
}

// logOver is the log as a spool sees it: whatever it does not take it may take later,
// but for what is too large, which it may take in parts.
type logOver struct{ to transport }

// Publish implements groups.Log.
func (l logOver) Publish(ctx context.Context, m *groups.Message) (groups.Receipt, error) {
	err := l.to.store(ctx, m.Subject, m.ID, m.Data)
	switch {
	case errors.Is(err, errTooLarge):
		err = fmt.Errorf("%w: %w", groups.ErrTooLarge, err)
	case err != nil:
		err = fmt.Errorf("%w: %w", spool.ErrAway, err)
	}
	return groups.Receipt{}, err
}
