package tokens

import (
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quotashare/quotashare/secretfile"
)

// kind is what a token file is.
var kind = secretfile.Kind[Token]{Name: "token file", MaxSize: maxSize, Parse: parse, Encode: encode}

// Why a token is refused.
var (
	ErrUnknown = errors.New("is not one of this server's")
	ErrExpired = errors.New("has expired")
)

// File tells who a token is.
type File struct {
	table atomic.Pointer[table]
	file  *secretfile.File[Token]
	now   func() time.Time
}

// table is what a file has. It is never changed.
type table struct {
	list  []Token
	found map[string][]*Token // by their first characters
}

// Open reads the file. One that is not there has no tokens, and may appear; one that
// cannot be read or is faulty is an error. What happens to it later goes to the log,
// which may be nil.
func Open(path string, log *slog.Logger) (*File, error) { return OpenAt(path, log, time.Now) }

// OpenAt is Open with a clock, which tells when to look at the file again, and what has
// expired.
func OpenAt(path string, log *slog.Logger, now func() time.Time) (_ *File, err error) {
	f := &File{now: now}
	f.file, err = secretfile.Open(kind, path, log, now, f.take)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// take puts what the file has into force.
func (f *File) take(list []Token) (changed bool) {
	t := &table{list: list, found: make(map[string][]*Token, len(list))}
	for i := range list {
		one := &list[i]
		t.found[one.Prefix] = append(t.found[one.Prefix], one)
	}
	old := f.table.Swap(t)
	return old != nil && !slices.EqualFunc(old.list, list, func(a, b Token) bool { return a.alike(&b) })
}

// Find returns who has the token, ErrUnknown when nobody has, and ErrExpired with who
// had it when its time is over. What it returns is not to be changed.
func (f *File) Find(token string) (*Token, error) {
	f.file.Look()
	if len(token) < PrefixLength {
		return nil, ErrUnknown
	}
	s := sumOf(token)
	var who *Token
	for _, t := range f.table.Load().found[token[:PrefixLength]] {
		if t.sum.is(&s) { // and on to the last: their number is no secret, their sums are
			who = t
		}
	}
	switch {
	case who == nil:
		return nil, ErrUnknown
	case who.expired(f.now()):
		return who, ErrExpired
	}
	return who, nil
}

// Still reports whether what Find returned holds: the token is in the file, as it was,
// and has not expired.
func (f *File) Still(t *Token) bool {
	f.file.Look()
	if t.expired(f.now()) {
		return false
	}
	return slices.ContainsFunc(f.table.Load().found[t.Prefix], func(now *Token) bool { return now == t || now.alike(t) })
}

// Count returns how many tokens of a role there are, those that have expired among them.
func (f *File) Count(r Role) (n int) {
	f.file.Look()
	for i := range f.table.Load().list {
		if f.table.Load().list[i].Role == r {
			n++
		}
	}
	return n
}

// Trouble says why what the file has now is not in force, "" when it is, and how often
// there was such a trouble since it was opened.
func (f *File) Trouble() (now string, times uint64) {
	f.file.Look()
	return f.file.Trouble()
}
