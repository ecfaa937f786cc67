package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
	c := s.remembered()
	for i, n := range numbers {
		if n < c.Segment { // it was brought whole, and its removal was not
			s.chores = append(s.chores, chore{path: s.path(n)})
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
	s.next = c.free()
	if n := len(s.parts); n > 0 {
		s.next = max(s.next, s.parts[n-1].number+1)
	}
	s.sweep()
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

// remembered reads how far the first segment was brought. Without the file, or with one
// that cannot be read, it begins at its first record: what is brought twice counts once.
func (s *Spool) remembered() cursor {
	c, err := s.note.read()
	if err != nil {
		s.o.Logger.Warn("how far the spool was brought is not known: it is brought from its start, and what is twice counts once", "err", err)
		c = cursor{}
	}
	s.cursor = c
	return c
}

// open opens a segment, and cuts off what is not whole: silently what a crash cut short
// at the end of the last one, for nobody was answered for it; else it is kept aside.
func (s *Spool) open(number uint64, from int64, last bool) error {
	f, err := s.disk.open(s.path(number), os.O_RDWR)
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

// restart removes a file that does not begin like a segment when a crash cut it short as
// it was made: it holds nothing, and to write what is missing needs room. Else it is kept
// aside.
func (s *Spool) restart(p *segment, torn bool) error {
	if !torn {
		return s.aside(p, errors.New("it does not begin like a spool"))
	}
	s.parts = s.parts[:len(s.parts)-1]
	return errors.Join(p.file.Close(), s.disk.remove(s.path(p.number)))
}

// aside keeps a copy of a segment of which a part cannot be read, says so, and leaves the
// segment with what can.
func (s *Spool) aside(p *segment, why error) error {
	copied := s.path(p.number) + damaged
	all, err := contents(p.file)
	if err == nil {
		err = writeFile(s.disk, copied, all)
	}
	if err != nil {
		return err
	}
	s.damaged++
	s.o.Logger.Error("a part of the spool cannot be read: events that were answered for are not brought to the log; the file as it was is kept",
		"file", copied, "from byte", p.to, "err", why)
	return s.salvage(p, all)
}

func contents(f file) ([]byte, error) {
	n, err := size(f)
	if err != nil {
		return nil, err
	}
	all := make([]byte, n)
	if _, err := f.ReadAt(all, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return all, nil
}

// salvage makes a segment anew of the records that are whole. What was brought of it may
// be brought again.
func (s *Spool) salvage(p *segment, all []byte) error {
	whole := []byte(magic)
	for at := p.from; at < int64(len(all)); {
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
	if err := writeFile(s.disk, fresh, whole); err != nil {
		return err
	}
	if err := s.startAgain(p.number); err != nil {
		return err
	}
	if err := errors.Join(p.file.Close(), s.disk.rename(fresh, s.path(p.number)), s.disk.sync(s.o.Dir)); err != nil {
		return err
	}
	return s.reopen(p)
}

// startAgain sees to it that no slot says an offset in the file that was.
func (s *Spool) startAgain(number uint64) error {
	if s.cursor.Segment != number {
		return nil
	}
	s.cursor.Offset = 0
	return errors.Join(s.note.write(s.cursor), s.note.write(s.cursor))
}

func (s *Spool) reopen(p *segment) (err error) {
	if p.file, err = s.disk.open(s.path(p.number), os.O_RDWR); err != nil {
		return err
	}
	p.from = int64(len(magic))
	p.to, err = size(p.file)
	return err
}

// last returns the segment that is written, a new one when there is none or it is full.
// Numbers only grow: a cursor is never taken for one of a later segment. What says the
// cursor has its room before there is anything to say.
func (s *Spool) last() (*segment, error) {
	if n := len(s.parts); n > 0 && s.parts[n-1].to < s.o.Segment {
		return s.parts[n-1], nil
	}
	if err := s.note.reserve(s.cursor); err != nil {
		return nil, err
	}
	path := s.path(s.next)
	if err := writeFile(s.disk, path, []byte(magic)); err != nil {
		return nil, err
	}
	if err := s.disk.sync(s.o.Dir); err != nil {
		return nil, errors.Join(err, s.disk.remove(path))
	}
	f, err := s.disk.open(path, os.O_RDWR)
	if err != nil {
		return nil, errors.Join(err, s.disk.remove(path))
	}
	p := &segment{number: s.next, file: f, from: int64(len(magic)), to: int64(len(magic))}
	s.next++
	s.parts = append(s.parts, p)
	return p, nil
}
