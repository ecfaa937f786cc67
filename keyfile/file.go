package keyfile

import (
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/quotashare/quotashare/secretfile"
)

// kind is what a key file is.
var kind = secretfile.Kind[Key]{Name: "key file", MaxSize: maxSize, Parse: parse, Encode: encode}

// File tells whose a token is.
type File struct {
	ids  atomic.Pointer[map[sum]string]
	file *secretfile.File[Key] // nil = in memory
}

// Open reads the file. One that is not there has no tokens, and may appear; one that
// cannot be read or is faulty is an error. What happens to it later goes to the log,
// which may be nil.
func Open(path string, log *slog.Logger) (*File, error) {
	return open(path, log, time.Now)
}

func open(path string, log *slog.Logger, now func() time.Time) (_ *File, err error) {
	f := new(File)
	f.file, err = secretfile.Open(kind, path, log, now, f.take)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// take puts what the file has into force.
func (f *File) take(keys []Key) (changed bool) {
	ids := make(map[sum]string, len(keys))
	for _, k := range keys {
		ids[k.sum] = k.ID
	}
	old := f.ids.Swap(&ids)
	return old != nil && !maps.Equal(ids, *old)
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
	if f.file != nil {
		f.file.Look()
	}
	id, ok = (*f.ids.Load())[sumOf(token)]
	return id, ok
}
