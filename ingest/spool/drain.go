package spool

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/quotashare/quotashare/ingest/groups"
)

// How long is waited after a message that the log did not take, and how often the file
// that says how far it is is written.
const (
	firstPause = 100 * time.Millisecond
	mostPause  = 2 * time.Second
	eachCursor = 64 // messages
	eachSweep  = 10 * time.Second
)

// Run brings what is kept into the log, until ctx ends. It returns nil then, and an
// error when a file cannot be read. What cannot be written or deleted is tried again.
func (s *Spool) Run(ctx context.Context) error {
	sweep := time.NewTicker(eachSweep)
	defer sweep.Stop()
	for {
		select {
		case <-s.bell:
		case <-sweep.C:
			s.retry()
			continue
		case <-ctx.Done():
			return nil
		}
		if err := s.drain(ctx); err != nil {
			return err
		}
	}
}

// drain brings all that there is.
func (s *Spool) drain(ctx context.Context) error {
	brought, began := uint64(0), time.Now()
	for n := 1; ; n++ {
		b, err := s.first()
		if errors.Is(err, io.EOF) {
			if brought > 0 {
				s.o.Logger.Info("the log has all that was kept for it", "events", brought, "took", time.Since(began))
			}
			return nil
		}
		if err != nil {
			return err
		}
		taken, err := s.bring(ctx, b.p, b.list)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		brought += taken
		s.passed(b, taken, n%eachCursor == 0)
	}
}

// batch are neighbours that are brought as one message. One by one they would be brought
// as slowly as they came, and while more comes there would be no end of it.
type batch struct {
	p      *segment
	list   []*groups.Message
	events int
	bytes  int
	next   int64 // where the record after it is
	newest int64 // when the last one came, epoch ms
}

// first returns the first records that were not brought; io.EOF when there are none.
func (s *Spool) first() (*batch, error) {
	most := s.o.Room()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.parts) > 0 {
		if p := s.parts[0]; p.from < p.to {
			return p.batch(most)
		}
		s.finish(s.parts[0])
	}
	return nil, io.EOF
}

func (p *segment) batch(most int) (*batch, error) {
	b := &batch{p: p, next: p.from}
	for b.next < p.to {
		r, next, err := readRecord(p.file, b.next)
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case len(b.list) > 0 && (r.Subject != b.list[0].Subject || !groups.Fits(most, b.bytes, b.events, r.Data, r.Events)):
			return b, nil
		}
		b.list = append(b.list, r.message())
		b.events, b.bytes, b.next, b.newest = b.events+r.Events, b.bytes+len(r.Data), next, r.Time
	}
	return b, nil
}

// finish removes the first segment, all of which was brought. That makes room, so it is
// first; the cursor passes it then. If the process ends between the two, the cursor is of
// a segment that is not there, and whose number none gets any more.
func (s *Spool) finish(p *segment) {
	s.parts = s.parts[1:]
	if err := p.file.Close(); err != nil {
		s.fails(err)
	}
	c := chore{path: s.path(p.number)}
	if p.holds {
		c.to = s.path(p.number) + "." + refused
	}
	s.chores = append(s.chores, c)
	s.sweep()
	s.say(cursor{Segment: p.number + 1})
}

// chore is a file that was brought, and that goes; or gets another name, for which no
// room is needed.
type chore struct{ path, to string }

func (c chore) do(d disk) error {
	if c.to != "" {
		return d.rename(c.path, c.to)
	}
	return remove(d, c.path)
}

// holds reports whether a file is to be renamed yet. The cursor must not pass it: the next
// start would delete it.
func (s *Spool) holds() bool {
	return slices.ContainsFunc(s.chores, func(c chore) bool { return c.to != "" })
}

// sweep deletes and renames the files that were brought. The caller holds the lock.
func (s *Spool) sweep() {
	s.chores = slices.DeleteFunc(s.chores, func(c chore) bool {
		err := c.do(s.disk)
		if err != nil {
			s.fails(err)
		}
		return err == nil
	})
}

// retry tries what the disk did not do.
func (s *Spool) retry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	if s.unsaid {
		s.say(s.cursor)
	}
	s.sound()
}

// bring has the log take messages, as long as that takes, and returns how many events it
// has of them. Those that it will never take are put aside. The error is that of ctx, or
// of the disk.
func (s *Spool) bring(ctx context.Context, p *segment, list []*groups.Message) (taken uint64, err error) {
	m := groups.Join(list)
	err = s.insist(ctx, m)
	switch {
	case err == nil:
		return uint64(m.Events), nil
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case len(list) == 1 && errors.Is(err, groups.ErrTooLarge):
		list = m.Halves() // it was kept when the log took more
	case len(list) == 1:
		list = nil
	}
	if list == nil {
		return 0, s.refuse(p, m, err)
	}
	for i := range list { // one of them may be what it does not take
		n, err := s.bring(ctx, p, list[i:i+1])
		if taken += n; err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// insist publishes until the log has the message, or refuses it, or ctx ends.
func (s *Spool) insist(ctx context.Context, m *groups.Message) error {
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		try, cancel := context.WithTimeout(ctx, s.o.Try)
		_, err := s.o.Log.Publish(try, m)
		cancel()
		if err == nil || !errors.Is(err, ErrAway) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// refuse puts a message that the log will never take where it can be looked at. Without
// room for it there its whole segment stays, under another name.
func (s *Spool) refuse(p *segment, m *groups.Message, why error) error {
	to := filepath.Join(s.o.Dir, refused)
	r := record{Subject: m.Subject, ID: m.ID, Events: m.Events, Time: s.o.Now().UnixMilli(), Data: m.Data}
	data, err := r.encode()
	if err != nil {
		return err
	}
	err = s.appendTo(to, data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fails(err)
		p.holds, to = true, s.path(p.number)+"."+refused
	}
	s.refused += uint64(m.Events)
	s.o.Logger.Error("the log refuses events that were kept for it; they were put aside", "file", to, "subject", m.Subject, "events", m.Events, "err", why)
	return nil
}

func (s *Spool) appendTo(path string, data []byte) error {
	f, err := s.disk.open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	at, err := size(f)
	if err == nil {
		var uncut error
		err, uncut = extend(f, data, at)
		err = errors.Join(err, uncut)
	}
	return errors.Join(err, f.Close())
}

// passed counts messages out. The cursor stays before what its segment alone holds.
func (s *Spool) passed(b *batch, taken uint64, say bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.messages, s.kept.events, s.kept.bytes = s.kept.messages-len(b.list), s.kept.events-b.events, s.kept.bytes-(b.next-b.p.from)
	s.drained += taken
	s.kept.oldest = b.newest
	if b.p.from = b.next; s.kept.messages == 0 {
		s.kept.oldest, s.full = 0, false
	}
	if say && !b.p.holds {
		s.say(cursor{Segment: b.p.number, Offset: b.next})
	}
}
