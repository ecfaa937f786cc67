package secretfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Every is how often a file is looked after at most.
	Every = time.Second

	// Settled is the age from which on a file's time tells it from a later one.
	// Times are coarse, up to 2 s on FAT: a file that is written twice within one
	// step can have the same time, and the same size, with other entries.
	Settled = 2 * time.Second
)

// Kind says what the files of a kind hold.
type Kind[E any] struct {
	Name    string // in messages, such as "key file"
	MaxSize int    // bytes
	// Parse reads a document. All its faults are one error, each with its field.
	Parse func([]byte) ([]E, error)
	// Encode writes one; it cannot fail.
	Encode func([]E) []byte
}

// File is a file of such a kind that is read again when it changes.
type File[E any] struct {
	kind  Kind[E]
	path  string
	take  func([]E) (changed bool)
	log   *slog.Logger
	now   func() time.Time
	start time.Time
	due   atomic.Int64 // of the next look, nanoseconds from start

	trouble  atomic.Pointer[string] // that was logged; nil = none
	troubles atomic.Uint64

	mu      sync.Mutex  // held while looking
	seen    fs.FileInfo // of what was read last; nil = read it whatever it is
	missing bool        // at the last look
	warned  bool        // of its mode
}

// Open reads the file. One that is not there has no entries, and may appear; one that
// cannot be read or is faulty is an error. take is given what the file has, now and
// whenever it is another one, from one goroutine at a time, and says whether that is
// other than before. What happens to the file goes to the log, which may be nil.
func Open[E any](kind Kind[E], path string, log *slog.Logger, now func() time.Time, take func([]E) (changed bool)) (*File[E], error) {
	if path == "" {
		return nil, fmt.Errorf("the %s has no name", kind.Name)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &File[E]{kind: kind, path: path, take: take, log: log.With("file", path), now: now, start: now()}
	f.due.Store(int64(Every))
	take(nil)
	err := f.read(f.start)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.log.Warn("there is no " + kind.Name + " yet: every token is refused until one is issued")
	case err != nil:
		return nil, err
	}
	return f, nil
}

// Trouble says why what the file has now is not in force, "" when it is, and how often
// there was such a trouble.
func (f *File[E]) Trouble() (now string, times uint64) {
	if t := f.trouble.Load(); t != nil {
		now = *t
	}
	return now, f.troubles.Load()
}

// Look reads the file again if it is time to look and there is another one. Who comes
// while another looks waits for it: else a token could pass long after it was revoked,
// in a program that was idle.
func (f *File[E]) Look() {
	if f.age() < f.due.Load() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.age() < f.due.Load() {
		return
	}
	if err := f.again(f.now()); err != nil {
		f.tell(err.Error())
	}
	f.due.Store(f.age() + int64(Every))
}

// tell logs and counts a trouble, unless it is the one that is known.
func (f *File[E]) tell(trouble string) {
	if known := f.trouble.Load(); known != nil && *known == trouble {
		return
	}
	f.trouble.Store(&trouble)
	f.troubles.Add(1)
	f.log.Warn("the "+f.kind.Name+" is of no use, the tokens of the last good one stay in force", "err", trouble)
}

// age is the time since start, of the clock that nobody sets back.
func (f *File[E]) age() int64 { return int64(f.now().Sub(f.start)) }

// again is one look.
func (f *File[E]) again(now time.Time) error {
	info, err := os.Stat(f.path)
	missing := errors.Is(err, fs.ErrNotExist)
	twice := missing && f.missing
	f.missing = missing
	switch {
	case twice:
		f.clear()
		return nil
	case missing:
		return nil
	case err != nil:
		f.seen = nil
		return err
	case f.same(info):
		return nil
	}
	return f.read(now)
}

// clear forgets what a file had that is gone.
func (f *File[E]) clear() {
	f.seen = nil
	f.trouble.Store(nil)
	if f.take(nil) {
		f.log.Warn("the " + f.kind.Name + " is gone: every token is refused until it is back")
	}
}

// same reports whether the file is, by all that is told from outside, the one that was
// read.
func (f *File[E]) same(info fs.FileInfo) bool {
	return f.seen != nil && os.SameFile(f.seen, info) && f.seen.Size() == info.Size() &&
		f.seen.ModTime().Equal(info.ModTime()) && f.seen.Mode() == info.Mode()
}

// read takes over what the file has now. A faulty one is not read again before it
// changes; one that could not be read is tried at each look.
func (f *File[E]) read(now time.Time) error {
	entries, info, err := f.kind.Read(f.path)
	f.seen = nil
	if info != nil && now.Sub(info.ModTime()) >= Settled {
		f.seen = info
	}
	if err != nil {
		return err
	}
	f.trouble.Store(nil)
	if exposed(info) && !f.warned {
		f.log.Warn("others than its owner may read or write the "+f.kind.Name+": chmod 600 it", "mode", info.Mode().Perm())
	}
	f.warned = exposed(info)
	if f.take(entries) {
		f.log.Info("the "+f.kind.Name+" is read", "tokens", len(entries))
	}
	return nil
}

// Read returns what is in a file, and with it, also when it is faulty, which file
// that was. Something else than a file is not opened: a pipe would wait for ever.
func (k Kind[E]) Read(path string) ([]E, fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s is no regular file", path)
	}
	// If it is replaced between the two, info is of the older one and the next look
	// finds another: nothing is missed.
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(k.MaxSize)+1))
	if err != nil {
		return nil, nil, err
	}
	entries, err := k.parse(data)
	if err != nil {
		return nil, info, fmt.Errorf("%s: %w", path, err)
	}
	return entries, info, nil
}

// parse refuses what is larger than any file of the kind before it reads it.
func (k Kind[E]) parse(data []byte) ([]E, error) {
	if len(data) > k.MaxSize {
		return nil, fmt.Errorf("the file has more than %d bytes", k.MaxSize)
	}
	return k.Parse(data)
}
