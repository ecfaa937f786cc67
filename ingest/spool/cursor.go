package spool

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// slotSize is what a disk writes at once: a slot that is written cut short leaves the
	// other one as it was.
	slotSize = 4096
	slotUsed = 28
)

// cursor is how far the first segment was brought.
type cursor struct {
	Segment uint64 `json:"segment"`
	Offset  int64  `json:"offset"`
}

// free is the first number of a segment for which the cursor is not.
func (c cursor) free() uint64 {
	if c.Offset > 0 {
		return c.Segment + 1
	}
	return max(c.Segment, 1)
}

// note is the file that says the cursor. It has its size before the first message is
// kept, and is written in place: when the disk is full is when it matters. Of its two
// slots the older one is written; a slot is its turn, segment, offset (8 bytes each,
// big-endian), and the checksum of these.
type note struct {
	disk disk
	path string
	file file // nil = the file is not made yet, or is JSON as of 0.1
	turn uint64
}

// errNoNote says that neither slot is whole.
var errNoNote = errors.New("it is damaged")

// read returns the cursor; without the file it is none.
func (n *note) read() (c cursor, err error) {
	f, err := n.disk.open(n.path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	data := make([]byte, 2*slotSize)
	got, err := f.ReadAt(data, 0)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return c, errors.Join(err, f.Close())
	case got < len(data):
		return c, errors.Join(json.Unmarshal(data[:got], &c), f.Close())
	}
	n.file = f
	for _, slot := range [][]byte{data[:slotSize], data[slotSize:]} {
		if turn := binary.BigEndian.Uint64(slot); turn > n.turn && checksum(slot[:slotUsed-4]) == binary.BigEndian.Uint32(slot[slotUsed-4:]) {
			n.turn, c.Segment, c.Offset = turn, binary.BigEndian.Uint64(slot[8:]), int64(binary.BigEndian.Uint64(slot[16:]))
		}
	}
	if n.turn == 0 {
		return c, errNoNote
	}
	return c, nil
}

func (c cursor) slot(turn uint64) []byte {
	slot := binary.BigEndian.AppendUint64(make([]byte, 0, slotUsed), turn)
	slot = binary.BigEndian.AppendUint64(slot, c.Segment)
	slot = binary.BigEndian.AppendUint64(slot, uint64(c.Offset))
	return binary.BigEndian.AppendUint32(slot, checksum(slot))
}

// write says the cursor, and makes it last.
func (n *note) write(c cursor) error {
	if n.file == nil {
		return n.reserve(c)
	}
	turn := n.turn + 1 // also of the next one, after an error: the other slot stays whole
	if _, err := n.file.WriteAt(c.slot(turn), int64(turn%2)*slotSize); err != nil {
		return err
	}
	if err := n.file.Sync(); err != nil {
		return err
	}
	n.turn = turn
	return nil
}

// reserve makes the file, in full size.
func (n *note) reserve(c cursor) error {
	if n.file != nil {
		return nil
	}
	data, fresh := make([]byte, 2*slotSize), n.path+".new"
	copy(data[slotSize:], c.slot(1))
	if err := writeFile(n.disk, fresh, data); err != nil {
		return err
	}
	if err := n.disk.rename(fresh, n.path); err != nil {
		return errors.Join(err, n.disk.remove(fresh))
	}
	if err := n.disk.sync(filepath.Dir(n.path)); err != nil {
		return err
	}
	f, err := n.disk.open(n.path, os.O_RDWR)
	if err != nil {
		return err
	}
	n.file, n.turn = f, 1
	return nil
}

func (n *note) close() error {
	if n.file == nil {
		return nil
	}
	f := n.file
	n.file = nil
	return f.Close()
}

// say writes how far the first segment was brought. What is said too late only has
// messages brought again, so an error is told once, and it is tried again. The caller
// holds the lock.
func (s *Spool) say(c cursor) {
	s.cursor, s.unsaid = c, true
	if s.holds() {
		return
	}
	if err := s.note.write(c); err != nil {
		s.fails(fmt.Errorf("%s: %w", s.note.path, err))
		return
	}
	s.unsaid = false
	s.sound()
}

// fails counts an error of the disk that stops nothing, and tells the first one.
func (s *Spool) fails(err error) {
	s.errs++
	if !s.ailing {
		s.o.Logger.Error("the disk of the spool fails: what is kept is brought all the same, and what it could not write or delete is tried again", "dir", s.o.Dir, "err", err)
	}
	s.ailing = true
}

// sound says that the disk does again what it is told.
func (s *Spool) sound() {
	if s.ailing && !s.unsaid && len(s.chores) == 0 {
		s.ailing = false
		s.o.Logger.Info("the disk of the spool is sound again", "dir", s.o.Dir)
	}
}
