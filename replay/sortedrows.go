package replay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// sortedRows are recorded decisions in the order in which they were answered, in a
// store of their own: processes record them late, and in no order.
type sortedRows struct{ store projector.Store }

// sortedAtOnce is how many rows go into one batch.
const sortedAtOnce = 1000

// sortRows brings the answers that are wanted into order; of no rows at all it makes an
// empty list. Those that share a row are taken out of it, each to its place. parts makes
// records of what a row has.
func sortRows(ctx context.Context, rows Rows, newStore func() (projector.Store, error), parts func(*questions.Record) []questions.Record) (*sortedRows, error) {
	store, err := newStore()
	if err != nil {
		return nil, err
	}
	if rows == nil {
		return &sortedRows{store}, nil
	}
	s := &sorting{store: store, b: store.NewBatch()}
	err = rows.Each(ctx, func(c *questions.Record) (err error) {
		list := parts(c)
		for i := range list {
			err = errors.Join(err, s.add(&list[i]))
		}
		return err
	})
	if err == nil {
		err = store.Commit(s.b)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("decisions: %w", err), store.Close())
	}
	return &sortedRows{store}, nil
}

// sorting is a list that is being made.
type sorting struct {
	store projector.Store
	b     projector.Batch
	n     uint64
	key   []byte
}

// add adds a record behind those of its place and instant.
func (s *sorting) add(c *questions.Record) error {
	s.n++
	s.key = binary.BigEndian.AppendUint64(s.key[:0], c.Reply.AsOf.Seq)
	s.key = binary.BigEndian.AppendUint64(s.key, uint64(c.Reply.AsOf.Time))
	s.key = binary.BigEndian.AppendUint64(s.key, s.n)
	if err := s.b.Set(s.key, c.AppendJSON(nil)); err != nil || s.n%sortedAtOnce != 0 {
		return err
	}
	err := s.store.Commit(s.b)
	s.b = s.store.NewBatch()
	return err
}

// each goes through the rows.
func (s *sortedRows) each(fn func(*questions.Record) error) error {
	return s.store.Scan(nil, []byte{0xff}, func(_, value []byte) error {
		list, err := questions.ParseRecords(append(append([]byte{'['}, value...), ']'))
		if err != nil {
			return fmt.Errorf("decisions: %w", err)
		}
		return fn(&list[0])
	})
}

// Close closes the store.
func (s *sortedRows) Close() error { return s.store.Close() }
