package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotashare/quotashare/ingest/groups"
)

// errDead is what a process meets that is not there any more.
var errDead = errors.New("the process was killed")

// small is a disk with little room, that a process leaves after some steps.
type small struct {
	room    int64 // bytes that are free; what a file has already is overwritten without
	steps   int   // that are done yet; then nothing is
	broken  bool  // no file that there is can be written over
	unnamed bool  // no name can be deleted or changed
	osDisk
}

func newSmall() *small { return &small{room: 1 << 30, steps: 1 << 30} }

func (d *small) step() error {
	if d.steps--; d.steps < 0 {
		return errDead
	}
	return nil
}

func (d *small) open(path string, flag int) (file, error) {
	if err := d.step(); err != nil {
		return nil, err
	}
	f, err := d.osDisk.open(path, flag)
	return &smallFile{file: f, d: d, note: filepath.Base(path) == drained}, err
}

func (d *small) remove(path string) error {
	if err := d.step(); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil && d.unnamed {
		return syscall.EROFS
	}
	if err == nil {
		d.room += info.Size()
	}
	return d.osDisk.remove(path)
}

func (d *small) rename(from, to string) error {
	if err := d.step(); err != nil {
		return err
	}
	if d.unnamed {
		return syscall.EROFS
	}
	return d.osDisk.rename(from, to)
}

func (d *small) sync(string) error { return d.step() }

type smallFile struct {
	file
	d    *small
	note bool
}

// WriteAt writes what there is room for, as disks do.
func (f *smallFile) WriteAt(data []byte, at int64) (int, error) {
	if err := f.d.step(); err != nil {
		return 0, err
	}
	has, err := size(f.file)
	if err != nil {
		return 0, err
	}
	if f.note && f.d.broken {
		return 0, syscall.EIO
	}
	grows := max(0, at+int64(len(data))-has)
	fits := min(grows, f.d.room)
	f.d.room -= fits
	n, err := f.file.WriteAt(data[:int64(len(data))-grows+fits], at)
	if err == nil && fits < grows {
		err = syscall.ENOSPC
	}
	return n, err
}

func (f *smallFile) Sync() error { return f.d.step() }

func (f *smallFile) Truncate(at int64) error {
	if err := f.d.step(); err != nil {
		return err
	}
	has, err := size(f.file)
	f.d.room += has - at
	return errors.Join(err, f.file.Truncate(at))
}

func (s *stage) refused(id string, want error) {
	s.t.Helper()
	if _, err := s.publish("quota.consumption", id); !errors.Is(err, want) {
		s.t.Errorf("%s: %v, want %v", id, err, want)
	}
}

// fill keeps messages until the disk has no room, and returns the ids.
func (s *stage) fill() (ids []string) {
	s.t.Helper()
	for i := 0; ; i++ {
		id := fmt.Sprint("f", i)
		if _, err := s.publish([]string{"quota.consumption", "quota.adjustment"}[i%2], id); err != nil {
			if !errors.Is(err, ErrDiskFull) || i == 0 {
				s.t.Fatalf("message %d: %v", i, err)
			}
			return ids
		}
		ids = append(ids, id)
	}
}

// With however little room: what is answered for is brought, what did not fit is cut off,
// and the disk is empty in the end.
func TestAFullDisk(t *testing.T) {
	for room := int64(2*slotSize + 400); room < 2*slotSize+1200; room += 37 {
		d := newSmall()
		d.room = room
		s := newStage(t, Options{Segment: 300, disk: d})
		s.log.set(true)
		ids := s.fill()
		s.refused("again", ErrDiskFull)
		if n := strings.Count(s.out.String(), "takes nothing more"); n != 1 {
			t.Errorf("it was said %d times:\n%s", n, s.out)
		}
		for _, p := range s.parts {
			if n, err := size(p.file); err != nil || n != p.to {
				t.Errorf("segment %d ends at %d and has %d bytes, %v", p.number, p.to, n, err)
			}
		}
		s.again()
		s.bringAll()
		s.expect(ids...)
		if diff := s.files(); !slices.Equal(diff, []string{drained}) {
			t.Errorf("left: %q", diff)
		}
		if st := s.Stats(); st.Failed != 0 {
			t.Errorf("errors: %+v", st)
		}
		s.log.set(true)
		s.keep("there is room again")
	}
}

// The room of the cursor is kept before anything else is.
func TestNoRoomForTheCursor(t *testing.T) {
	d := newSmall()
	d.room = 2*slotSize - 1
	s := newStage(t, Options{disk: d})
	s.log.set(true)
	s.refused("a", ErrDiskFull)
	if names := s.files(); len(names) > 0 || d.room != 2*slotSize-1 {
		t.Errorf("left: %q, %d bytes free", names, d.room)
	}
}

// A spool that 0.1 left has its cursor in JSON, and its disk may be full: the room for
// another one is that of the first segment, or comes later.
func TestAFullDiskOfTheFirstRelease(t *testing.T) {
	for _, n := range []int{1, 60} {
		d := newSmall()
		s := newStage(t, Options{Segment: 1 << 20, disk: d})
		s.log.set(true)
		s.keep("a")
		from := s.parts[0].to
		want := slices.Repeat([]string{"b"}, n)
		for range n {
			s.keep("b")
		}
		s.must(s.Close())
		note := filepath.Join(s.o.Dir, drained)
		s.must(os.WriteFile(note, fmt.Appendf(nil, `{"segment":1,"offset":%d}`, from), 0o600))
		d.room = 0
		s.open()
		s.bringAll()
		s.expect(want...)
		if info, err := os.Stat(note); err != nil || (info.Size() == 2*slotSize) != (n == 60) || (s.Stats().Failed == 0) != (n == 60) {
			t.Errorf("%d: %v, %v, %+v", n, info, err, s.Stats())
		}
		s.again()
		if s.next != 2 {
			t.Errorf("the next segment is %d", s.next)
		}
		d.room = 1 << 20
		s.retry()
		s.log.set(true)
		s.keep("c")
		s.again()
		s.bringAll()
		s.expect(append(want, "c")...)
	}
}

// A cursor that cannot be written, and files that cannot be deleted, stop nothing; they
// are told once, and tried again.
func TestADiskThatFails(t *testing.T) {
	d := newSmall()
	s := newStage(t, Options{Segment: 1, disk: d})
	s.log.set(true)
	for _, id := range []string{"a", "b", "c"} {
		s.keep(id)
	}
	d.broken, d.unnamed = true, true
	s.bringAll()
	s.expect("a", "b", "c")
	s.retry()
	if n := strings.Count(s.out.String(), "the disk of the spool fails"); n != 1 || s.Stats().Failed < 6 {
		t.Errorf("%+v, said %d times:\n%s", s.Stats(), n, s.out)
	}
	if names := s.files(); len(names) != 4 {
		t.Errorf("files: %q", names)
	}
	d.broken, d.unnamed = false, false
	s.retry()
	if names := s.files(); !slices.Equal(names, []string{drained}) || !strings.Contains(s.out.String(), "sound again") {
		t.Errorf("files: %q; it says:\n%s", names, s.out)
	}
	s.again()
	s.log.set(true)
	s.keep("d")
	if n := s.parts[0].number; n != 4 {
		t.Errorf("the next segment is %d", n)
	}
}

// A disk that fails is no full one.
func TestADiskThatTakesNothing(t *testing.T) {
	d := newSmall()
	s := newStage(t, Options{disk: d})
	s.log.set(true)
	s.keep("a")
	d.steps = 0
	s.refused("b", ErrDisk)
	d.steps = 1 << 30
	s.refused("c", ErrDisk) // as what stands behind a is not known
	s.again()
	s.keep("d")
	s.bringAll()
	s.expect("a", "d")
}

// What the log refuses, and has no room in its file, is in its segment under another
// name; no start deletes that, and none brings it again.
func TestNoRoomForWhatIsRefused(t *testing.T) {
	for _, unnamed := range []bool{false, true} {
		d := newSmall()
		s := newStage(t, Options{Segment: 1, disk: d})
		s.log.set(true)
		for _, id := range []string{"bad", "a", "c"} {
			s.keep(id)
		}
		s.must(os.WriteFile(filepath.Join(s.o.Dir, refused), []byte("before"), 0o600))
		s.log.refuses = func(m *groups.Message) bool { return bytes.Contains(m.Data, []byte("bad")) }
		d.room, d.unnamed = 0, unnamed
		s.bringAll()
		s.expect("a", "c")
		if unnamed { // by no cursor the next start is led past it
			s.again()
			s.bringAll()
			d.unnamed = false
			s.retry()
		}
		s.again()
		if st := s.Stats(); st.Messages != 0 {
			t.Errorf("brought again: %+v", st)
		}
		kept, err := os.ReadFile(s.path(1) + "." + refused)
		if err != nil || !bytes.Contains(kept, []byte(event("bad"))) {
			t.Errorf("put aside: %q, %v; files %q", kept, err, s.files())
		}
		if all, err := os.ReadFile(filepath.Join(s.o.Dir, refused)); err != nil || string(all) != "before" {
			t.Errorf("cut off: %q, %v", all, err)
		}
	}
}

// The cursor stays before what no other file has.
func TestTheCursorWaitsForWhatIsRefused(t *testing.T) {
	d := newSmall()
	s := newStage(t, Options{disk: d})
	s.log.set(true)
	s.keep("bad")
	_, err := s.publish("quota.adjustment", "a")
	s.must(err)
	_, err = s.publish("quota.release", "c")
	s.must(err)
	s.log.set(false)
	s.log.refuses = func(m *groups.Message) bool { return bytes.Contains(m.Data, []byte("bad")) }
	d.room = 0
	for range 2 {
		b, err := s.first()
		s.must(err)
		taken, err := s.bring(t.Context(), b.p, b.list)
		s.must(err)
		s.passed(b, taken, true)
	}
	s.again()
	if st := s.Stats(); st.Messages != 3 {
		t.Errorf("after the next start: %+v", st)
	}
}

// What Run could not write or delete it tries again, also when nothing comes.
func TestRunTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSmall()
		s := newStage(t, Options{disk: d})
		s.log.set(true)
		s.keep("a")
		d.broken, d.unnamed = true, true
		s.bringAll()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		s.mu.Lock()
		d.broken, d.unnamed = false, false
		s.mu.Unlock()
		time.Sleep(eachSweep)
		synctest.Wait()
		if names := s.files(); !slices.Equal(names, []string{drained}) {
			t.Errorf("left: %q", names)
		}
		stop()
		s.must(<-done)
	})
}

// Of two slots one is whole, whatever becomes of the other.
func TestASlotIsDamaged(t *testing.T) {
	s := newStage(t, Options{})
	s.log.set(true)
	s.keep("a")
	for n := range 5 {
		s.say(cursor{Segment: 1, Offset: int64(100 + n)})
	}
	path := filepath.Join(s.o.Dir, drained)
	sound, err := os.ReadFile(path)
	s.must(err)
	newest := int(s.note.turn%2) * slotSize
	for at, want := range map[int]int64{newest: 103, newest + 23: 103, newest + 27: 103, slotSize - newest: 104, slotSize - newest + 27: 104} {
		bad := bytes.Clone(sound)
		bad[at] ^= 1
		s.must(os.WriteFile(path, bad, 0o600))
		n := note{disk: osDisk{}, path: path}
		c, err := n.read()
		if err != nil || c.Offset != want {
			t.Errorf("byte %d: %+v, %v; want %d", at, c, err, want)
		}
		s.must(n.close())
	}
	s.must(os.WriteFile(path, make([]byte, 2*slotSize), 0o600))
	s.again()
	if !strings.Contains(s.out.String(), "how far the spool was brought is not known") {
		t.Errorf("it says:\n%s", s.out)
	}
}

// A write of the cursor that fails is tried again in the same slot: the other one is whole.
func TestASlotIsWrittenInVain(t *testing.T) {
	d := newSmall()
	s := newStage(t, Options{disk: d})
	s.log.set(true)
	s.keep("a")
	s.say(cursor{Segment: 1, Offset: 100})
	for range 3 {
		d.steps = 1 // the write, and not that it lasts
		s.say(cursor{Segment: 1, Offset: 101})
	}
	d.steps = 1 << 30
	data, err := os.ReadFile(filepath.Join(s.o.Dir, drained))
	s.must(err)
	if want := (cursor{Segment: 1, Offset: 100}).slot(2); !bytes.Contains(data, want) {
		t.Error("the slot that lasts was written over")
	}
}
