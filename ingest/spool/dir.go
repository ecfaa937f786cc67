package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	suffix  = ".spool"
	damaged = ".damaged"
	drained = "drained"
	refused = "refused"
)

// cursor is how far the first segment was brought.
type cursor struct {
	Segment uint64 `json:"segment"`
	Offset  int64  `json:"offset"`
}

// load opens the segments of the directory.
func (s *Spool) load() error {
	err := os.MkdirAll(s.o.Dir, 0o700)
	if err != nil {
		return err
	}
	if s.lock, err = lock(s.o.Dir); err != nil {
		return err
	}
	numbers, err := s.numbers()
	if err != nil {
		return err
	}
	c := s.cursor()
	for i, n := range numbers {
		if n < c.Segment { // it was brought whole, and its removal was not
			if err := os.Remove(s.path(n)); err != nil {
				return err
			}
			continue
		}
		from := int64(len(magic))
		if n == c.Segment {
			from = max(from, c.Offset)
		}
		if err := s.open(n, from, i == len(numbers)-1); err != nil {
			return fmt.Errorf("%s: %w", s.path(n), err)
		}
	}
	return nil
}

func (s *Spool) path(number uint64) string {
	return filepath.Join(s.o.Dir, fmt.Sprintf("%016d%s", number, suffix))
}

func (s *Spool) numbers() (list []uint64, err error) {
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if n, err := strconv.ParseUint(name, 10, 64); ok && err == nil {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}

// cursor reads how far the first segment was brought. Without the file, or with one that
// cannot be read, it begins at its first record: what is brought twice counts once.
func (s *Spool) cursor() (c cursor) {
	data, err := os.ReadFile(filepath.Join(s.o.Dir, drained))
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.o.Logger.Warn("how far the spool was brought is not known: it is brought from its start, and what is twice counts once", "err", err)
		return cursor{}
	}
	return c
}

// open opens a segment, and cuts off what is not whole: silently what a crash cut short
// at the end of the last one, for nobody was answered for it; else it is kept aside.
func (s *Spool) open(number uint64, from int64, last bool) error {
	f, err := os.OpenFile(s.path(number), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	p := &segment{number: number, file: f, from: from}
	s.parts = append(s.parts, p)
	head := make([]byte, len(magic))
	if n, err := f.ReadAt(head, 0); n < len(head) || string(head) != magic {
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return s.restart(p, n < len(head) && last)
	}
	c, end, err := count(f, from)
	p.to = end
	switch {
	case err == nil:
	case errors.Is(err, errTorn) && last:
		err = cut(f, end)
	case errors.Is(err, errTorn), errors.Is(err, errDamaged):
		return s.aside(p, err)
	}
	s.kept.join(c)
	return err
}

// restart makes a segment anew of a file that does not begin like one: silently, when a
// crash cut it short as it was made.
func (s *Spool) restart(p *segment, torn bool) error {
	if !torn {
		return s.aside(p, errors.New("it does not begin like a spool"))
	}
	if _, err := p.file.WriteAt([]byte(magic), 0); err != nil {
		return err
	}
	p.from, p.to = int64(len(magic)), int64(len(magic))
	return cut(p.file, p.to)
}

// aside keeps a copy of a segment of which a part cannot be read, says so, and leaves the
// segment with what can.
func (s *Spool) aside(p *segment, why error) error {
	copied := s.path(p.number) + damaged
	info, err := p.file.Stat()
	if err == nil {
		err = writeFile(copied, io.NewSectionReader(p.file, 0, info.Size()))
	}
	if err != nil {
		return err
	}
	s.damaged++
	s.o.Logger.Error("a part of the spool cannot be read: events that were answered for are not brought to the log; the file as it was is kept",
		"file", copied, "from byte", p.to, "err", why)
	return s.salvage(p, info.Size())
}

// salvage makes a segment anew of the records that are whole. What was brought of it may
// be brought again.
func (s *Spool) salvage(p *segment, size int64) error {
	all := make([]byte, size)
	if _, err := p.file.ReadAt(all, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	whole := []byte(magic)
	for at := p.from; at < size; {
		r, next, err := readRecord(bytes.NewReader(all), at)
		switch {
		case err == nil:
			s.kept.add(&r, next-at)
			whole = append(whole, all[at:next]...)
		case !errors.Is(err, errDamaged):
			next = at + 1 // where it is cut short there may be another after it
		}
		at = next
	}
	fresh := s.path(p.number) + ".new"
	if err := writeFile(fresh, bytes.NewReader(whole)); err != nil {
		return err
	}
	if err := (cursor{Segment: p.number}).write(s.o.Dir); err != nil {
		return err
	}
	if err := errors.Join(p.file.Close(), os.Rename(fresh, s.path(p.number)), syncDir(s.o.Dir)); err != nil {
		return err
	}
	return s.reopen(p)
}

func (s *Spool) reopen(p *segment) (err error) {
	if p.file, err = os.OpenFile(s.path(p.number), os.O_RDWR, 0); err != nil {
		return err
	}
	p.from = int64(len(magic))
	p.to, err = p.file.Seek(0, io.SeekEnd)
	return err
}

// writeFile makes a file of that that lasts.
func writeFile(path string, of io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, of)
	return errors.Join(err, f.Sync(), f.Close())
}

func cut(f *os.File, at int64) error {
	return errors.Join(f.Truncate(at), f.Sync())
}

// last returns the segment that is written, a new one when there is none or it is full.
func (s *Spool) last() (*segment, error) {
	number := uint64(1)
	if n := len(s.parts); n > 0 {
		if s.parts[n-1].to < s.o.Segment {
			return s.parts[n-1], nil
		}
		number = s.parts[n-1].number + 1
	} else {
		number = max(number, s.cursor().Segment) // one below it would be taken for brought
	}
	f, err := create(s.path(number))
	if err != nil {
		return nil, err
	}
	if err := syncDir(s.o.Dir); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(s.path(number)))
	}
	p := &segment{number: number, file: f, from: int64(len(magic)), to: int64(len(magic))}
	s.parts = append(s.parts, p)
	return p, nil
}

// syncDir makes what a directory names last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// write says how far the first segment was brought.
func (c cursor) write(dir string) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	next := filepath.Join(dir, drained+".new")
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(dir, drained))
}
