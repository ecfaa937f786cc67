// Package pebblestore is the projector.Store on disk, in Pebble.
//
// Commits are atomic and not synced: Pebble writes them to its log in order,
// so a crash leaves the store at some earlier commit, which the projector
// folds on from. Syncing each would cost an fsync for what the stream has
// already made durable. Sync is for the moment before the stream may forget.
package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/quotashare/quotashare/projector"
)

// Options say where and how a store is kept.
type Options struct {
	Dir string
	FS  vfs.FS // nil = the disk
	Log *slog.Logger
	// Scratch is for a store that nobody answers from. That the disk is full ends what
	// it is for, and who does that says so: nothing goes on in memory.
	Scratch bool
}

// Store is a projector.Store in Pebble.
type Store struct {
	db *pebble.DB
	// damage is the first corruption that Pebble reported on its own, from a
	// compaction say. From then on nothing is read or written: the caller sets
	// the store aside.
	damage  atomic.Pointer[error]
	full    atomic.Bool // the last look at the disk found no room
	failing failures
	taken   snapshots
	cache   *pebble.Cache
	lock    *pebble.Lock
	o       Options
}

const (
	memTableSize = 32 << 20
	cacheSize    = 64 << 20
	bloomBits    = 10
)

// Open opens or creates the store. An error that wraps projector.ErrCorrupt
// means that what lies there cannot be used.
//
// The lock is taken first and by itself, because a store that another process
// has open must never be taken for a damaged one.
func Open(o Options) (s *Store, err error) {
	if o.FS == nil {
		// Named, because Pebble would wrap an unnamed one in its watcher of
		// slow disks, whose goroutine outlives an Open that fails.
		o.FS = vfs.Default
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s = &Store{o: o}
	if s.lock, err = lockDir(o); err != nil {
		return nil, fmt.Errorf("store: cannot lock %s, see whether another program uses it: %w", o.Dir, err)
	}
	s.cache = pebble.NewCache(cacheSize)
	defer func(opened *Store) { // s is nil by then
		if err != nil {
			opened.cache.Unref()
			err = errors.Join(err, opened.lock.Close())
		}
	}(s)
	if err := s.open(); err != nil {
		return nil, err
	}
	return s, nil
}

// openReserve is the room for opening a store that is there: its log becomes a table
// first, and Pebble tries that for ever without saying so to who opens.
const openReserve = memTableSize

// open opens the database. A new one needs room for its first commit too. One that is
// there answers without that; it is the disk's fault when even opening finds none, and
// no damage.
func (s *Store) open() error {
	full := s.room()
	if !errors.Is(full, projector.ErrFull) {
		return s.openPebble()
	}
	there, err := pebble.Peek(s.o.Dir, s.o.FS)
	if err != nil || !there.Exists {
		return errors.Join(full, err)
	}
	if u, err := s.o.FS.GetDiskUsage(s.o.Dir); err == nil && u.AvailBytes < openReserve {
		return full
	}
	return s.openPebble()
}

func (s *Store) openPebble() (err error) {
	defer recovered(&err)
	s.db, err = pebble.Open(s.o.Dir, s.options(s.o))
	return unreadable("open", err)
}

func lockDir(o Options) (*pebble.Lock, error) {
	if info, err := o.FS.Stat(o.Dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%w: it is a file, and not a directory", projector.ErrCorrupt)
	}
	if err := o.FS.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	return pebble.LockDirectory(o.Dir, o.FS)
}

func (s *Store) options(o Options) *pebble.Options {
	log := o.Log
	po := &pebble.Options{
		FS:                 o.FS,
		Lock:               s.lock,
		Cache:              s.cache,
		MemTableSize:       memTableSize,
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             logger{log},
		Merger:             merger,
		EventListener: &pebble.EventListener{
			DataCorruption: func(i pebble.DataCorruptionInfo) {
				damage := fmt.Errorf("%w: %s", projector.ErrCorrupt, i)
				if s.damage.CompareAndSwap(nil, &damage) {
					log.Error("the store is damaged; it will be set aside and rebuilt from the log", "err", damage)
				}
			},
			BackgroundError: s.failing.say(log),
			FlushEnd:        s.failing.flushed,
		},
	}
	for i := range po.Levels {
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
	}
	return po
}

// explain adds what was attempted, and marks corruption as such.
func (s *Store) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("store: %s: %w: %w", what, projector.ErrCorrupt, err)
	}
	return fmt.Errorf("store: %s: %w", what, err)
}

// unreadable explains why reading failed. Pebble marks checksums that do not
// match as corruption, but not a file that is gone, cut short or unreadable to
// the disk, so everything counts as damage that the system around the files is
// not to blame for.
func unreadable(what string, err error) error {
	if err == nil {
		return nil
	}
	for _, outside := range []error{
		syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
	} {
		if errors.Is(err, outside) {
			return fmt.Errorf("store: %s: %w", what, err)
		}
	}
	return fmt.Errorf("store: %s: %w: %w", what, projector.ErrCorrupt, err)
}

// recovered turns a panic of Pebble over damaged files into an error. It does
// so on our own goroutine only, and the store is given up at once.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("store: %w: pebble: %v\n%s", projector.ErrCorrupt, p, debug.Stack())
	}
}

func (s *Store) sound() error {
	if e := s.damage.Load(); e != nil {
		return *e
	}
	return nil
}

// Get implements projector.Reader.
func (s *Store) Get(key, dst []byte) (value []byte, ok bool, err error) {
	return s.get(s.db, key, dst)
}

func (s *Store) get(from pebble.Reader, key, dst []byte) (value []byte, ok bool, err error) {
	defer recovered(&err)
	if err := s.sound(); err != nil {
		return dst, false, err
	}
	v, closer, err := from.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, unreadable("get", err)
	}
	dst = append(dst, v...)
	return dst, true, s.explain("get", closer.Close())
}

// Scan implements projector.Reader.
func (s *Store) Scan(from, to []byte, fn func(key, value []byte) error) error {
	return s.scan(s.db, from, to, fn)
}

func (s *Store) scan(r pebble.Reader, from, to []byte, fn func(key, value []byte) error) (err error) {
	defer recovered(&err)
	if err := s.sound(); err != nil {
		return err
	}
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return unreadable("scan", err)
	}
	defer func() { err = errors.Join(err, unreadable("scan", it.Close())) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return unreadable("scan", err)
		}
		if err := fn(it.Key(), v); err != nil {
			return err
		}
	}
	return unreadable("scan", it.Error())
}

// NewBatch implements projector.Store.
func (s *Store) NewBatch() projector.Batch { return batch{s.db.NewBatch()} }

// reserve is the room that a disk must have left for a commit: two memtables,
// which Pebble may be about to write, and some for a table of their merge.
//
// Pebble must never meet the end of the disk itself. When it finds none for its
// next log it panics with its locks held, so that not even Close returns, and
// for its manifest it ends the process.
const reserve = 3 * memTableSize

// room returns ErrFull when the disk has none left, and says so once. A directory
// that somebody removed is damage: Pebble would notice at its next file, and panic.
func (s *Store) room() error {
	u, err := s.o.FS.GetDiskUsage(s.o.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("store: %w: its directory is gone: %w", projector.ErrCorrupt, err)
	case err != nil:
		return nil // not every file system tells
	}
	full := u.AvailBytes < reserve
	if s.full.CompareAndSwap(!full, full) && !s.o.Scratch {
		if full {
			s.o.Log.Error("the disk is full: the state goes on in memory, and is written when there is room", "dir", s.o.Dir, "free", u.AvailBytes, "needs", reserve)
		} else {
			s.o.Log.Info("the disk has room again", "dir", s.o.Dir)
		}
	}
	if full {
		return fmt.Errorf("store: %w: %d bytes are free, %d are needed", projector.ErrFull, u.AvailBytes, reserve)
	}
	return nil
}

// Commit implements projector.Store.
func (s *Store) Commit(b projector.Batch) (err error) {
	defer recovered(&err)
	if err := s.sound(); err != nil {
		return errors.Join(err, b.Close())
	}
	switch err := s.room(); {
	case errors.Is(err, projector.ErrFull):
		return err
	case err != nil:
		return errors.Join(err, b.Close())
	}
	pb := b.(batch).b
	if err := s.db.Apply(pb, pebble.NoSync); err != nil {
		return errors.Join(s.explain("commit", err), pb.Close())
	}
	return s.explain("commit", pb.Close())
}

// Sync makes every commit so far durable.
func (s *Store) Sync() error {
	return s.explain("sync", s.db.LogData(nil, pebble.Sync))
}

// Flush writes what is in memory to a table on disk.
func (s *Store) Flush() error { return s.explain("flush", s.db.Flush()) }

// Close implements projector.Store.
func (s *Store) Close() (err error) {
	defer recovered(&err)
	defer s.cache.Unref()
	return errors.Join(s.endSnapshots(), s.explain("close", s.db.Close()), s.lock.Close())
}

// batch is a pebble.Batch without the write options, which a batch ignores.
type batch struct{ b *pebble.Batch }

func (b batch) Set(key, value []byte) error       { return b.b.Set(key, value, nil) }
func (b batch) Merge(key, value []byte) error     { return b.b.Merge(key, value, nil) }
func (b batch) Delete(key []byte) error           { return b.b.Delete(key, nil) }
func (b batch) DeleteRange(from, to []byte) error { return b.b.DeleteRange(from, to, nil) }
func (b batch) Close() error                      { return b.b.Close() }

// merger merges records as the projector says.
var merger = &pebble.Merger{
	Name: "quotashare.v1",
	Merge: func(key, value []byte) (pebble.ValueMerger, error) {
		return &merge{key: bytes.Clone(key), older: [][]byte{bytes.Clone(value)}}, nil
	},
}

// merge collects what is to be merged. Pebble reads from the newest operand to
// the oldest, and putting each in front of the rest would copy the rest again
// and again.
type merge struct {
	key   []byte
	older [][]byte // the newest first
	newer [][]byte
}

func (m *merge) MergeNewer(v []byte) error {
	m.newer = append(m.newer, bytes.Clone(v))
	return nil
}

func (m *merge) MergeOlder(v []byte) error {
	m.older = append(m.older, bytes.Clone(v))
	return nil
}

func (m *merge) Finish(bool) (value []byte, _ io.Closer, err error) {
	slices.Reverse(m.older)
	value = m.older[0]
	for _, v := range append(m.older[1:], m.newer...) {
		if value, err = projector.MergeOnto(m.key, value, v); err != nil {
			return nil, nil, err
		}
	}
	return value, nil, nil
}

// failures say once why Pebble fails in the background: it tries again hundreds of
// times a second.
type failures struct{ last atomic.Pointer[string] }

// say returns what is called with each failure.
func (f *failures) say(log *slog.Logger) func(error) {
	return func(err error) {
		cause := err // the text has the name of a file, which is another one each time
		for next := cause; next != nil; next = errors.Unwrap(cause) {
			cause = next
		}
		text := cause.Error()
		if before := f.last.Swap(&text); before == nil || *before != text {
			log.Error("store: background work failed; it is tried again", "err", err)
		}
	}
}

// flushed notes the end of a flush: after one that went well the next failure is news.
func (f *failures) flushed(i pebble.FlushInfo) {
	if i.Err == nil {
		f.last.Store(nil)
	}
}

// logger passes Pebble's lines on. Its chatter about compactions is for
// debugging.
type logger struct{ log *slog.Logger }

func (l logger) Infof(format string, args ...any) {
	l.log.Debug("pebble", "msg", fmt.Sprintf(format, args...))
}

func (l logger) Errorf(format string, args ...any) {
	l.log.Error("pebble", "msg", fmt.Sprintf(format, args...))
}

// Fatalf must not return. A panic ends the process as the default would; on
// our own goroutine it becomes an error (see recovered).
func (l logger) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}
