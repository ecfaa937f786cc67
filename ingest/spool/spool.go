package spool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/quotashare/quotashare/ingest/groups"
)

// ErrAway is what a log's errors wrap when it may take the message later. Any other
// error is the message's own, and it is not kept.
var ErrAway = errors.New("the log is away")

// ErrFull says that the spool has as much as it may.
var ErrFull = errors.New("the log is away, and the disk space for what comes meanwhile is used up: try again")

// ErrDiskFull says that the disk has no room before the spool has as much as it may.
var ErrDiskFull = errors.New("the log is away, and the disk that keeps what comes meanwhile is full: try again when some of it is free")

// ErrDisk says that the disk takes nothing for another reason.
var ErrDisk = errors.New("the log is away, and the disk that keeps what comes meanwhile fails: try again")

// ErrInUse says that another program has the directory: two that write to the same files
// would damage what the other one has answered for.
var ErrInUse = errors.New("another program keeps its events there: give each a directory of its own")

// Options say where messages are kept, and where they go.
type Options struct {
	Dir string
	Log groups.Log
	// Room is that of groups.Options.
	Room func() int
	// Most is how many bytes may be kept, 0 = DefaultMost.
	Most int64
	// Try bounds the first try of a message while nothing is kept, 0 = 2 s: as long as
	// a cluster needs at most for a write that goes well.
	Try    time.Duration
	Logger *slog.Logger     // nil = nobody
	Now    func() time.Time // nil = time.Now
	// Segment is when a file is full, in bytes; 0 = 32 MiB.
	Segment int64

	disk disk // nil = the machine's
}

// DefaultMost is the Options.Most of Options that set none, 1 GiB.
const DefaultMost = 1 << 30

const (
	defaultTry     = 2 * time.Second
	defaultSegment = 32 << 20
)

// counts are messages that are kept.
type counts struct {
	messages, events int
	bytes            int64
	oldest           int64 // epoch ms; 0 = none
}

func (c *counts) add(r *record, bytes int64) {
	c.messages, c.events, c.bytes = c.messages+1, c.events+r.Events, c.bytes+bytes
	if c.oldest == 0 || r.Time < c.oldest {
		c.oldest = r.Time
	}
}

func (c *counts) join(d counts) {
	c.messages, c.events, c.bytes = c.messages+d.messages, c.events+d.events, c.bytes+d.bytes
	if c.oldest == 0 || d.oldest != 0 && d.oldest < c.oldest {
		c.oldest = d.oldest
	}
}

// Stats are what a spool has and had.
type Stats struct {
	Messages, Events int   // that are kept
	Bytes            int64 // of them
	OldestMs         int64 // when the oldest came, epoch ms; 0 = there is none
	Drained          uint64
	Refused          uint64 // events the log never took
	Damaged          uint64 // segments of which a part could not be read
	Failed           uint64 // errors of the disk that lost nothing: what it did not do is tried again
}

// Spool is a groups.Log that keeps what the log behind it does not take. Its methods may
// be called from any goroutine.
type Spool struct {
	o    Options
	bell chan struct{}
	disk disk

	mu      sync.Mutex
	kept    counts
	drained uint64
	refused uint64
	damaged uint64
	lock    *os.File
	parts   []*segment // the first is drained, the last is written
	next    uint64     // number of the segment after them
	failed  error      // of the disk; nothing more is kept

	note   note
	cursor cursor  // that the note says, or shall
	unsaid bool    // it does not yet
	chores []chore // what the disk did not do yet
	errs   uint64  // of the disk, that stopped nothing
	ailing bool    // they were told
	full   bool    // it was told that nothing more can be kept, since anything was kept first or all was brought
}

// segment is a file of records.
type segment struct {
	number uint64
	file   file
	from   int64 // where the next record to be brought is
	to     int64 // where the next one is written
	holds  bool  // a record that the log refuses and that found no room elsewhere
}

// Open reads what a directory has, which is made if it is not there.
func Open(o Options) (*Spool, error) {
	if o.Most == 0 {
		o.Most = DefaultMost
	}
	if o.Try == 0 {
		o.Try = defaultTry
	}
	if o.Segment == 0 {
		o.Segment = defaultSegment
	}
	if o.Room == nil {
		o.Room = func() int { return groups.MaxMessage }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.disk == nil {
		o.disk = osDisk{}
	}
	s := &Spool{o: o, bell: make(chan struct{}, 1), disk: o.disk}
	s.note = note{disk: o.disk, path: filepath.Join(o.Dir, drained)}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("spool: %w", err), s.Close())
	}
	if s.kept.messages > 0 {
		o.Logger.Warn("events wait for the log from before", "events", s.kept.events, "since", time.UnixMilli(s.kept.oldest).UTC())
		s.bell <- struct{}{}
	}
	return s, nil
}

// Publish implements groups.Log: the message is in the log, or kept. Whatever is kept
// goes first, so that usage and readings keep their order.
func (s *Spool) Publish(ctx context.Context, m *groups.Message) (groups.Receipt, error) {
	if s.empty() {
		try, cancel := context.WithTimeout(ctx, s.o.Try)
		receipt, err := s.o.Log.Publish(try, m)
		cancel()
		if err == nil || !errors.Is(err, ErrAway) {
			return receipt, err
		}
	}
	if err := s.keep(m); err != nil {
		return groups.Receipt{}, err
	}
	return groups.Receipt{Spooled: true}, nil
}

func (s *Spool) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.messages == 0
}

// keep writes a message, and returns when it is durable.
func (s *Spool) keep(m *groups.Message) error {
	now := s.o.Now().UnixMilli()
	m = stamped(m, now)
	r := record{Subject: m.Subject, ID: m.ID, Events: m.Events, Time: now, Data: m.Data}
	data, err := r.encode()
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed != nil:
		return s.failed
	case s.kept.bytes+int64(len(data)) > s.o.Most:
		return ErrFull
	}
	if err := s.write(data); err != nil {
		return s.noRoom(err)
	}
	if s.kept.messages == 0 {
		s.full = false
		s.o.Logger.Warn("the log is away: events are kept on disk until it is back", "dir", s.o.Dir)
	}
	s.kept.add(&r, int64(len(data)))
	ring(s.bell)
	return nil
}

// noRoom is what the caller is told of an error of the disk. The first one is logged: the
// caller learns no paths.
func (s *Spool) noRoom(err error) error {
	s.errs++
	if !s.full {
		s.o.Logger.Error("the disk of the spool takes nothing more, and the log is away: events are refused until one of them is there", "dir", s.o.Dir, "err", err)
	}
	s.full = true
	if isFull(err) {
		return ErrDiskFull
	}
	return ErrDisk
}

// write appends to the last segment. After an error the file is as it was: what
// was not answered for must not stand before what will be. If that fails too, the spool
// takes no more.
func (s *Spool) write(data []byte) error {
	last, err := s.last()
	if err != nil {
		return err
	}
	err, uncut := extend(last.file, data, last.to)
	if err == nil {
		last.to += int64(len(data))
		return nil
	}
	if uncut != nil {
		s.o.Logger.Error("nothing more can be kept for the log; start again when the disk is sound", "dir", s.o.Dir, "err", errors.Join(err, uncut))
		s.failed = ErrDisk
	}
	return err
}

// Stats returns what there is.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Messages: s.kept.messages, Events: s.kept.events, Bytes: s.kept.bytes, OldestMs: s.kept.oldest,
		Drained: s.drained, Refused: s.refused, Damaged: s.damaged, Failed: s.errs,
	}
}

// Close closes the files. What is kept stays.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all error
	for _, p := range s.parts {
		all = errors.Join(all, p.file.Close())
	}
	s.parts = nil
	all = errors.Join(all, s.note.close())
	if s.lock != nil {
		all = errors.Join(all, s.lock.Close())
		s.lock = nil
	}
	return all
}

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}
