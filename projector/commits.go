package projector

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A store on disk may lose commits that are not its newest ones: the list of its
// tables ends early, or a log of its own between two others is gone, and it opens as
// if nothing were missing. Then the position, which is in every commit, is that of the
// newest, and the counters lack what came before it. So each commit adds one to a
// record, which therefore lacks as many as the store, and writes in another how many
// there were; they differ when any is gone. A checksum over the records would find
// the same, and would have to read all of them at every commit.
//
// Forgotten rejections are not counted. They are deleted beside the fold, and one that
// comes back is told again, to a stream that takes it once.
const (
	commitsCounted = iota // what the commits add up to
	commitsTold           // what the newest says that there were
)

// commits is how many a store has had.
type commits uint64

// next adds one to the batch, which is to be committed.
func (n *commits) next(b Batch) error {
	*n++
	return errors.Join(
		b.Merge([]byte{tagCommits, commitsCounted}, binary.AppendUvarint(nil, 1)),
		b.Set([]byte{tagCommits, commitsTold}, binary.AppendUvarint(nil, uint64(*n))),
	)
}

// commitsOf returns how many commits a store has had. ErrCorrupt says that some of
// them are gone.
func commitsOf(store Reader) (commits, error) {
	counted, err := countIn(store, commitsCounted)
	if err != nil {
		return 0, err
	}
	told, err := countIn(store, commitsTold)
	if err != nil {
		return 0, err
	}
	if counted != told {
		return 0, fmt.Errorf("%w: it has %d of %d commits", ErrCorrupt, counted, told)
	}
	return commits(told), nil
}

// countIn reads one of the two records, 0 when it is not there.
func countIn(store Reader, which byte) (uint64, error) {
	key := []byte{tagCommits, which}
	value, ok, err := store.Get(key, nil)
	if err != nil || !ok {
		return 0, err
	}
	d := decoder{b: value}
	n := d.uint()
	if !d.done() || n == 0 {
		return 0, corrupt("count of commits", key)
	}
	return n, nil
}

// mergeCommits adds two counts.
func mergeCommits(key, value, newer []byte) ([]byte, error) {
	x, y := decoder{b: value}, decoder{b: newer}
	sum := x.uint() + y.uint()
	if !x.done() || !y.done() {
		return nil, corrupt("count of commits", key)
	}
	return binary.AppendUvarint(value[:0], sum), nil
}

// ScanRecords calls fn for each record of the state that a store holds, in byte order,
// as Reader.Scan does. How many commits the store has had is no part of the state:
// stores that folded the same log in other portions have the same records.
func ScanRecords(store Reader, fn func(key, value []byte) error) error {
	return store.Scan([]byte{0}, []byte{0xff}, func(key, value []byte) error {
		if key[0] == tagCommits {
			return nil
		}
		return fn(key, value)
	})
}
