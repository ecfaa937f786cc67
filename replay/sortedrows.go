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

// sortRows brings the rows that are wanted into order; of no rows at all it makes an
// empty list.
func sortRows(ctx context.Context, rows Rows, newStore func() (projector.Store, error), wanted func(*questions.Record) bool) (*sortedRows, error) {
	store, err := newStore()
	if err != nil {
		return nil, err
	}
	if rows == nil {
		return &sortedRows{store}, nil
	}
	b, n, key := store.NewBatch(), uint64(0), []byte(nil)
	err = rows.Each(ctx, func(c *questions.Record) error {
		if !wanted(c) {
			return nil
		}
		n++
		key = binary.BigEndian.AppendUint64(key[:0], c.Reply.AsOf.Seq)
		key = binary.BigEndian.AppendUint64(key, uint64(c.Reply.AsOf.Time))
		key = binary.BigEndian.AppendUint64(key, n)
		if err := b.Set(key, c.AppendJSON(nil)); err != nil || n%sortedAtOnce != 0 {
			return err
		}
		err := store.Commit(b)
		b = store.NewBatch()
		return err
	})
	if err == nil {
		err = store.Commit(b)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("decisions: %w", err), store.Close())
	}
	return &sortedRows{store}, nil
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
