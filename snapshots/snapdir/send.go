package snapdir

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/quotashare/quotashare/snapshots"
)

// Name returns the name of the file of a snapshot, which is its name elsewhere
// too.
func Name(seq uint64) string { return nameOf(seq) }

// SeqOf returns the sequence of the snapshot that has this name, and false for any
// other name.
func SeqOf(name string) (seq uint64, ok bool) { return seqOf(name) }

// Send copies a snapshot to elsewhere, what Receive is for there. What was written
// is a whole snapshot only if there is no error: the file is checked while it is
// read, since reading it twice would not make its second reading any surer.
func (d *Dir) Send(seq uint64, to io.Writer) (h snapshots.Header, sum snapshots.Summary, err error) {
	f, err := d.o.FS.Open(d.path(nameOf(seq)))
	if err != nil {
		return h, sum, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if h, err = header(f, seq); err != nil {
		return h, sum, err
	}
	if _, err = f.Seek(0, io.SeekStart); err != nil {
		return h, sum, err
	}
	h, sum, err = snapshots.Verify(bufio.NewReaderSize(io.TeeReader(f, to), readSize))
	if err != nil {
		err = fmt.Errorf("%s: %w", nameOf(seq), err)
	}
	return h, sum, err
}
