package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// Newest brings the newest snapshot that fits and is good into a directory, unless
// it is there, and returns its header. Those that do not fit are passed over in
// silence; one that is damaged is told of once, and an older one takes its place.
// When none is left, the error wraps ErrNone and what was wrong with each.
//
// An error of the broker is not one of an object: it ends the search, since what
// would be found beyond it may be far older than what is there.
func (s *Store) Newest(ctx context.Context, into *snapdir.Dir, fits func(snapshots.Header) bool) (snapshots.Header, error) {
	all, err := s.entries(ctx)
	if err != nil {
		return snapshots.Header{}, err
	}
	faults := []error{ErrNone}
	for _, e := range all {
		if !fits(e.Header) {
			continue
		}
		err := s.fetch(ctx, e, into)
		if err == nil {
			return e.Header, nil
		}
		if !damaged(err) {
			return snapshots.Header{}, err
		}
		s.say(e, err)
		faults = append(faults, err)
	}
	return snapshots.Header{}, errors.Join(faults...)
}

// damaged tells what is wrong with an object from what is wrong with the way to it.
func damaged(err error) bool {
	return errors.Is(err, snapshots.ErrDamaged) || errors.Is(err, snapshots.ErrFormat)
}

// Fetch brings a snapshot into a directory. The error wraps ErrNone when it is not
// there to its last piece, and snapshots.ErrDamaged or ErrFormat when it is of no
// use.
func (s *Store) Fetch(ctx context.Context, seq uint64, into *snapdir.Dir) (snapshots.Header, error) {
	all, err := s.entries(ctx)
	if err != nil {
		return snapshots.Header{}, err
	}
	for _, e := range all {
		if e.Header.Seq == seq {
			return e.Header, s.fetch(ctx, e, into)
		}
	}
	return snapshots.Header{}, wrap("fetch "+snapdir.Name(seq), ErrNone)
}

func (s *Store) fetch(ctx context.Context, e entry, into *snapdir.Dir) error {
	doing := "fetch " + snapdir.Name(e.Header.Seq)
	if h, err := into.Header(e.Header.Seq); err == nil && h == e.Header {
		if _, _, err := into.Send(e.Header.Seq, io.Discard); err == nil {
			return nil
		}
	}
	if e.Size > s.o.MaxBytes {
		return wrap(doing, fmt.Errorf("%w: %d bytes are more than a snapshot has", snapshots.ErrDamaged, e.Size))
	}
	stream, err := s.look(ctx)
	if err == nil && stream == nil {
		err = ErrNone
	}
	if err != nil {
		return err
	}
	return wrap(doing, receive(into, &download{ctx: ctx, stream: stream, e: e, sum: sha256.New()}))
}

// receive looks at the header first: a good file that is not the one described must
// not come into the directory either.
func receive(into *snapdir.Dir, from *download) error {
	var head bytes.Buffer
	r, err := snapshots.NewReader(io.TeeReader(from, &head))
	if err != nil {
		return err
	}
	if r.Header() != from.e.Header {
		return fmt.Errorf("%w: it is another snapshot than the one described", snapshots.ErrDamaged)
	}
	_, err = into.Receive(io.MultiReader(&head, from))
	return err
}

// say tells of an object that cannot be used, the first time.
func (s *Store) say(e entry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.said[e.id] {
		s.said[e.id] = true
		s.o.Log.Warn("a snapshot in the broker cannot be used; an older one takes its place", "object", snapdir.Name(e.Header.Seq), "err", err)
	}
}

// download reads an object, each piece by a request for the next one of its subject.
// A consumer would need the right to make one, and waits for ever for a piece that
// is not there; a request says so.
type download struct {
	ctx    context.Context // of this one fetch
	stream jetstream.Stream
	e      entry
	last   uint64 // sequence of the last piece
	pieces uint64
	size   uint64
	sum    hash.Hash
	left   []byte // of the last piece
}

// Read ends with io.EOF only when the bytes were those that were stored. The file
// has checksums of its own; this one tells a damaged object from a file that was
// never good.
func (d *download) Read(p []byte) (int, error) {
	for len(d.left) == 0 {
		if d.pieces == d.e.pieces {
			return 0, d.end()
		}
		if err := d.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.left)
	d.left = d.left[n:]
	return n, nil
}

func (d *download) next() error {
	ctx, cancel := context.WithTimeout(d.ctx, answerWithin)
	defer cancel()
	m, err := d.stream.GetMsg(ctx, d.last+1, jetstream.WithGetMsgSubject(piecesOf(d.e.id)))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("%w: it ends after %d of %d pieces", snapshots.ErrDamaged, d.pieces, d.e.pieces)
	}
	if err != nil {
		return err
	}
	d.last, d.left = m.Sequence, m.Data
	d.pieces++
	d.size += uint64(len(m.Data))
	d.sum.Write(m.Data)
	if d.size > d.e.Size {
		return fmt.Errorf("%w: it is longer than its %d bytes", snapshots.ErrDamaged, d.e.Size)
	}
	return nil
}

func (d *download) end() error {
	if sum := jetstream.GetObjectDigestValue(d.sum); d.size != d.e.Size || sum != d.e.sum {
		return fmt.Errorf("%w: its bytes are not those that were stored", snapshots.ErrDamaged)
	}
	return io.EOF
}
