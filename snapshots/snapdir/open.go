package snapdir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/quotashare/quotashare/snapshots"
)

// Snapshot is a file that was found whole, open to be read.
type Snapshot struct {
	*snapshots.Reader
	file io.Closer
}

// Close closes the file.
func (s *Snapshot) Close() error { return s.file.Close() }

// readSize is how much is read of a file at once.
const readSize = 256 << 10

// Newest opens the newest snapshot that fits and is whole, which is checked to its
// last byte before; it is checked again as it is read, should the disk change its
// mind. Those that do not fit, by their header, are passed over in silence; those
// that cannot be used are told of once. When none is left, the error wraps ErrNone
// and what was wrong with each.
func (d *Dir) Newest(fits func(snapshots.Header) bool) (*Snapshot, error) {
	list, err := d.List()
	if err != nil {
		return nil, err
	}
	faults := []error{ErrNone}
	for _, seq := range list {
		s, err := d.open(seq, fits)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil:
			d.say(nameOf(seq), err)
			faults = append(faults, err)
		case s != nil:
			return s, nil
		}
	}
	return nil, fmt.Errorf("snapshots: %w", errors.Join(faults...))
}

// open returns nil for a snapshot that does not fit.
func (d *Dir) open(seq uint64, fits func(snapshots.Header) bool) (s *Snapshot, err error) {
	f, err := d.o.FS.Open(d.path(nameOf(seq)))
	if err != nil {
		return nil, err
	}
	defer func() {
		if s == nil {
			err = errors.Join(err, f.Close())
		}
	}()
	h, err := header(f, seq)
	if err != nil || !fits(h) {
		return nil, err
	}
	if _, _, err := whole(f); err != nil {
		return nil, fmt.Errorf("%s: %w", nameOf(seq), err)
	}
	r, err := begin(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", nameOf(seq), err)
	}
	return &Snapshot{r, f}, nil
}

// header reads the header of a file and holds it to the file's name.
func header(f io.ReadSeeker, seq uint64) (snapshots.Header, error) {
	r, err := begin(f)
	if err != nil {
		return snapshots.Header{}, fmt.Errorf("%s: %w", nameOf(seq), err)
	}
	if h := r.Header(); h.Seq != seq {
		return h, fmt.Errorf("%s: %w: it is of sequence %d", nameOf(seq), snapshots.ErrDamaged, h.Seq)
	}
	return r.Header(), nil
}

// begin reads from the start of a file, wherever it was read to.
func begin(f io.ReadSeeker) (*snapshots.Reader, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return snapshots.NewReader(bufio.NewReaderSize(f, readSize))
}

func whole(f io.ReadSeeker) (snapshots.Header, snapshots.Summary, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return snapshots.Header{}, snapshots.Summary{}, err
	}
	return snapshots.Verify(bufio.NewReaderSize(f, readSize))
}

func (d *Dir) verify(name string) (h snapshots.Header, err error) {
	f, err := d.o.FS.Open(d.path(name))
	if err != nil {
		return h, err
	}
	h, _, err = whole(f)
	return h, errors.Join(err, f.Close())
}

// Header returns the header of a snapshot. It has its own checksum; whether the
// rest is whole is not looked at.
func (d *Dir) Header(seq uint64) (h snapshots.Header, err error) {
	f, err := d.o.FS.Open(d.path(nameOf(seq)))
	if err != nil {
		return h, err
	}
	h, err = header(f, seq)
	return h, errors.Join(err, f.Close())
}

// Size returns how many bytes the file of a snapshot has.
func (d *Dir) Size(seq uint64) (n int64, err error) {
	f, err := d.o.FS.Open(d.path(nameOf(seq)))
	if err != nil {
		return 0, err
	}
	n, err = f.Seek(0, io.SeekEnd)
	return n, errors.Join(err, f.Close())
}
