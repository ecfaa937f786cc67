package httpapi

import (
	"io"
	"os"
	"sync"
)

// maxSpoolMemory is how many bytes of a spool stay in memory.
const maxSpoolMemory = 64 << 10

// spool is a queue of bytes between one writer and one reader. What does not
// fit into memory goes to a file without a name, which is emptied whenever the
// reader has caught up; only when the file is full does the writer wait.
//
// A stream of NDJSON needs it because its answer grows while its body still
// comes. Clients that read while they write get the answer as it grows; those
// that read only after they have written everything (most libraries) would
// otherwise stop for ever, both sides waiting for the other to read. A buffer
// in memory without bound would let one caller take everybody's.
type spool struct {
	dir  string // of the file; "" = the system's
	most int64  // bytes of the file

	mu     sync.Mutex
	change *sync.Cond
	memory []byte // what was written last, after all of the file
	file   *os.File
	read   int64 // of the file
	wrote  int64 // to the file
	closed bool
	err    error
}

func newSpool(dir string, most int64) *spool {
	s := &spool{dir: dir, most: most}
	s.change = sync.NewCond(&s.mu)
	return s
}

// Write appends p.
func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.change.Broadcast()
	if len(s.memory) > 0 && len(s.memory)+len(p) > maxSpoolMemory {
		s.spill()
	}
	if s.err != nil {
		return 0, s.err
	}
	s.memory = append(s.memory, p...)
	return len(p), nil
}

// spill moves the memory to the end of the file, once there is room.
func (s *spool) spill() {
	for s.err == nil && s.wrote > 0 && s.wrote+int64(len(s.memory)) > s.most {
		s.change.Wait()
	}
	if s.err == nil && s.file == nil {
		s.file, s.err = nameless(s.dir)
	}
	if s.err == nil {
		var n int
		n, s.err = s.file.WriteAt(s.memory, s.wrote)
		s.wrote += int64(n)
		s.memory = s.memory[:0]
	}
}

// nameless creates a file that is gone from its directory already, so that no
// crash leaves it behind.
func nameless(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "quotashare-answer-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// fail ends both sides with err.
func (s *spool) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.change.Broadcast()
}

// end ends the writing. The reader gets what is left, then io.EOF.
func (s *spool) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.change.Broadcast()
}

// Read waits until there is something, or the spool has ended and is empty.
func (s *spool) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.err != nil:
			return 0, s.err
		case s.read < s.wrote:
			return s.readFile(p), s.err
		case len(s.memory) > 0:
			n := copy(p, s.memory)
			s.memory = s.memory[:copy(s.memory, s.memory[n:])]
			return n, nil
		case s.closed:
			return 0, io.EOF
		}
		s.change.Wait()
	}
}

// readFile reads from the file, which has something, and empties it at its end.
func (s *spool) readFile(p []byte) (n int) {
	n, s.err = s.file.ReadAt(p[:min(int64(len(p)), s.wrote-s.read)], s.read)
	s.read += int64(n)
	if s.err == nil && s.read == s.wrote {
		s.read, s.wrote = 0, 0
		s.err = s.file.Truncate(0)
		s.change.Broadcast()
	}
	return n
}

// release gives the file back. Nobody may use the spool any more.
func (s *spool) release() {
	if s.file != nil {
		s.file.Close()
	}
}
