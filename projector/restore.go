package projector

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// PositionOf returns the position that a store holds and the log time there; ok is
// false when nothing was folded into it. ErrVersion and ErrCorrupt are as of Load,
// and only the position is looked at: records may lie there without one.
func PositionOf(store Reader) (pos Position, logTime int64, ok bool, err error) {
	value, ok, err := store.Get([]byte{tagPosition}, nil)
	if err != nil || !ok {
		return pos, 0, false, err
	}
	return positionIn(value)
}

func positionIn(value []byte) (pos Position, logTime int64, ok bool, err error) {
	s := new(State)
	if err := s.loadPosition(value); err != nil {
		return pos, 0, false, err
	}
	return s.pos, s.logTime, s.pos.Seq != 0, nil
}

// Records are those of a store, one after the other in any order. io.EOF says that
// these were all, and that they may be believed.
type Records func() (key, value []byte, err error)

// restoreBytes is how much of records makes a batch: enough that a commit costs
// little, and a small part of what a store keeps in memory.
const restoreBytes = 512 << 10

// Restore writes records into a store that nothing was folded into. The position
// comes in the last batch, and only when all records came and it is the one that
// is wanted. So a store that has a part of them has none, which Load calls corrupt.
func Restore(ctx context.Context, into Store, from Records, want Position, logTime int64) error {
	r := restorer{into: into}
	if err := r.begin(); err != nil {
		return err
	}
	err := r.copy(ctx, from)
	if err == nil {
		err = r.end(want, logTime)
	}
	if r.batch != nil {
		err = errors.Join(err, r.batch.Close())
	}
	return err
}

// restorer is a Restore under way.
type restorer struct {
	into     Store
	commits  commits // of the store
	batch    Batch   // nil = committed
	size     int
	position []byte // the record that comes last
}

// begin makes sure that nothing is there. A program that ended before it folded
// anything leaves a position of 0; it goes in the first batch, as records beside it
// would be taken for a state.
func (r *restorer) begin() error {
	pos, _, ok, err := PositionOf(r.into)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if ok {
		return fmt.Errorf("restore: the store was folded up to message %d: restore into an empty one", pos.Seq)
	}
	if r.commits, err = commitsOf(r.into); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := ScanRecords(r.into, func(key, _ []byte) error {
		if key[0] == tagPosition {
			return nil
		}
		return corrupt("record without a position", key)
	}); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	r.batch = r.into.NewBatch()
	return r.batch.Delete([]byte{tagPosition})
}

func (r *restorer) copy(ctx context.Context, from Records) error {
	for {
		key, value, err := from()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("restore: %w", err)
		}
		if err := r.add(ctx, key, value); err != nil {
			return err
		}
	}
}

func (r *restorer) add(ctx context.Context, key, value []byte) error {
	if len(key) > 0 && key[0] == tagCommits {
		return nil // of another store
	}
	if len(key) == 1 && key[0] == tagPosition {
		r.position = append([]byte{}, value...)
		return nil
	}
	if r.batch == nil {
		r.batch = r.into.NewBatch()
	}
	r.size += len(key) + len(value)
	if err := r.batch.Set(key, value); err != nil || r.size < restoreBytes {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.commit()
}

// commit writes what is gathered. A batch that found no room is whole and still
// ours to close.
func (r *restorer) commit() error {
	if err := r.commits.next(r.batch); err != nil {
		return err
	}
	err := r.into.Commit(r.batch)
	if !errors.Is(err, ErrFull) {
		r.batch, r.size = nil, 0
	}
	return err
}

func (r *restorer) end(want Position, logTime int64) error {
	pos, at, ok, err := positionIn(r.position)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if !ok || pos != want || at != logTime {
		return fmt.Errorf("restore: %w: the records are of message %d, and message %d is wanted", ErrCorrupt, pos.Seq, want.Seq)
	}
	if r.batch == nil {
		r.batch = r.into.NewBatch()
	}
	if err := r.batch.Set([]byte{tagPosition}, r.position); err != nil {
		return err
	}
	return r.commit()
}
