package keyfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// every is how often a file is looked after at most.
	every = time.Second

	// settled is the age from which on a file's time tells it from a later one.
	// Times are coarse, up to 2 s on FAT: a file that is written twice within one
	// step can have the same time, and the same size, with other tokens.
	settled = 2 * time.Second
)

// File tells whose a token is.
type File struct {
	ids atomic.Pointer[map[sum]string]

	path  string // "" = in memory
	log   *slog.Logger
	now   func() time.Time
	start time.Time
	due   atomic.Int64 // of the next look, nanoseconds from start

	mu      sync.Mutex  // held while looking
	seen    fs.FileInfo // of what was read last; nil = read it whatever it is
	missing bool        // at the last look
	said    string      // the trouble that was logged
	warned  bool        // of its mode
}

// Open reads the file. One that is not there has no tokens, and may appear; one that
// cannot be read or is faulty is an error. What happens to it later goes to the log,
// which may be nil.
func Open(path string, log *slog.Logger) (*File, error) {
	return open(path, log, time.Now)
}

func open(path string, log *slog.Logger, now func() time.Time) (*File, error) {
	if path == "" {
		return nil, errors.New("the key file has no name")
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &File{path: path, log: log.With("file", path), now: now, start: now()}
	f.ids.Store(&map[sum]string{})
	f.due.Store(int64(every))
	err := f.read(f.start)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.log.Warn("there is no key file yet: every token is refused until one is issued")
	case err != nil:
		return nil, err
	}
	return f, nil
}

// Of returns a File in memory of tokens and the ids of their keys.
func Of(tokens map[string]string) *File {
	ids := make(map[sum]string, len(tokens))
	for token, id := range tokens {
		ids[sumOf(token)] = id
	}
	f := new(File)
	f.ids.Store(&ids)
	return f
}

// KeyID returns the id of the API key that the token belongs to. Blanks around the
// token do not matter.
func (f *File) KeyID(token string) (id string, ok bool) {
	f.look()
	id, ok = (*f.ids.Load())[sumOf(token)]
	return id, ok
}

// look reads the file again if it is time to look and there is another one. Who comes
// while another looks waits for it: else a token could pass long after it was revoked,
// on a gateway that was idle.
func (f *File) look() {
	if f.path == "" || f.age() < f.due.Load() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.age() < f.due.Load() {
		return
	}
	if err := f.again(f.now()); err != nil && err.Error() != f.said {
		f.said = err.Error()
		f.log.Warn("the key file is of no use, the tokens of the last good one stay in force", "err", err)
	}
	f.due.Store(f.age() + int64(every))
}

// age is the time since start, of the clock that nobody sets back.
func (f *File) age() int64 { return int64(f.now().Sub(f.start)) }

// again is one look.
func (f *File) again(now time.Time) error {
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
func (f *File) clear() {
	f.seen, f.said = nil, ""
	if len(*f.ids.Load()) == 0 {
		return
	}
	f.ids.Store(&map[sum]string{})
	f.log.Warn("the key file is gone: every token is refused until it is back")
}

// same reports whether the file is, by all that is told from outside, the one that was
// read.
func (f *File) same(info fs.FileInfo) bool {
	return f.seen != nil && os.SameFile(f.seen, info) && f.seen.Size() == info.Size() &&
		f.seen.ModTime().Equal(info.ModTime()) && f.seen.Mode() == info.Mode()
}

// read takes over what the file has now. A faulty one is not read again before it
// changes; one that could not be read is tried at each look.
func (f *File) read(now time.Time) error {
	keys, info, err := read(f.path)
	f.seen = nil
	if info != nil && now.Sub(info.ModTime()) >= settled {
		f.seen = info
	}
	if err != nil {
		return err
	}
	f.said = ""
	if exposed(info) && !f.warned {
		f.log.Warn("others than its owner may read or write the key file: chmod 600 it", "mode", info.Mode().Perm())
	}
	f.warned = exposed(info)
	ids := make(map[sum]string, len(keys))
	for _, k := range keys {
		ids[k.sum] = k.ID
	}
	if !maps.Equal(ids, *f.ids.Load()) {
		f.ids.Store(&ids)
		f.log.Info("the key file is read", "tokens", len(ids))
	}
	return nil
}

// read returns what is in a file, and with it, also when it is faulty, which file
// that was. Something else than a file is not opened: a pipe would wait for ever.
func read(path string) ([]Key, fs.FileInfo, error) {
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
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, nil, err
	}
	keys, err := parse(data)
	if err != nil {
		return nil, info, fmt.Errorf("%s: %w", path, err)
	}
	return keys, info, nil
}
