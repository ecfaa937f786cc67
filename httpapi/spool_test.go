package httpapi

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// What is read is what was written, in order, whatever the sizes and whether
// the reader keeps up or not.
func TestSpoolIsAQueue(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := newSpool(dir, 1<<30)
		defer s.release()
		var wrote, read bytes.Buffer
		steps := rapid.SliceOf(rapid.IntRange(-100_000, 100_000)).Draw(t, "written (>0) or read (<0)")
		for i, n := range steps {
			if n > 0 {
				p := bytes.Repeat([]byte{byte(i)}, n)
				wrote.Write(p)
				if _, err := s.Write(p); err != nil {
					t.Fatal(err)
				}
			} else if read.Len() < wrote.Len() {
				p := make([]byte, -n+1)
				n, err := s.Read(p)
				if err != nil || n == 0 {
					t.Fatalf("read gave %d, %v though something is left", n, err)
				}
				read.Write(p[:n])
			}
		}
		s.end()
		if _, err := io.Copy(&read, s); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read.Bytes(), wrote.Bytes()) {
			t.Fatalf("read %d bytes that differ from the %d written", read.Len(), wrote.Len())
		}
	})
}

// The file has no name that a crash would leave, and is emptied as soon as the
// reader has caught up.
func TestSpoolFileIsNamelessAndEmptied(t *testing.T) {
	dir := t.TempDir()
	s := newSpool(dir, 1<<30)
	defer s.release()
	block := bytes.Repeat([]byte("x"), maxSpoolMemory)
	for range 10 {
		if _, err := s.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("directory has %v, %v; want nothing", left, err)
	}
	if cap(s.memory) > 2*maxSpoolMemory {
		t.Errorf("%d bytes are in memory, want at most %d", cap(s.memory), 2*maxSpoolMemory)
	}
	if _, err := io.CopyN(io.Discard, s, 10*maxSpoolMemory); err != nil {
		t.Fatal(err)
	}
	if info, err := s.file.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("file has %d bytes after all was read (%v), want 0", info.Size(), err)
	}
}

// A file that is full makes the writer wait, and never grows beyond its bound.
func TestSpoolWriterWaitsAtItsBound(t *testing.T) {
	const blocks, bound = 50, 3 * maxSpoolMemory
	s := newSpool(t.TempDir(), bound)
	defer s.release()
	go func() {
		defer s.end()
		for i := range blocks {
			s.Write(bytes.Repeat([]byte{byte(i)}, maxSpoolMemory))
		}
	}()
	total := 0
	for p := make([]byte, 10_000); ; {
		n, err := s.Read(p)
		total += n
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		if s.wrote > bound {
			t.Fatalf("file has %d bytes, want at most %d", s.wrote, bound)
		}
		s.mu.Unlock()
	}
	if total != blocks*maxSpoolMemory {
		t.Errorf("read %d bytes, want %d", total, blocks*maxSpoolMemory)
	}
}

// When the reader gives up, a writer that waits for it is not left waiting.
func TestSpoolFailureWakesTheWriter(t *testing.T) {
	s := newSpool(t.TempDir(), maxSpoolMemory)
	defer s.release()
	gone := errors.New("the client has gone")
	done := make(chan error)
	go func() {
		for block := make([]byte, maxSpoolMemory); ; {
			if _, err := s.Write(block); err != nil {
				done <- err
				return
			}
		}
	}()
	s.fail(gone)
	if err := <-done; !errors.Is(err, gone) {
		t.Errorf("writer got %v, want %v", err, gone)
	}
}

func TestSpoolReaderIsToldOfFailure(t *testing.T) {
	s := newSpool(filepath.Join(t.TempDir(), "missing"), 1<<30)
	defer s.release()
	block := bytes.Repeat([]byte("x"), maxSpoolMemory)
	s.Write(block)
	if _, err := s.Write(block); err == nil {
		t.Error("written beyond memory without a directory: no error")
	}
	if _, err := s.Read(block); err == nil {
		t.Error("read after a failure: no error")
	}
}
