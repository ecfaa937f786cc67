package projector

import (
	"errors"
	"slices"
)

const (
	// maxPassed is how many rows that nobody wants a sweep passes one after the
	// other. To begin anew behind them costs about as much.
	maxPassed = 64
	// rowsPerLook is how many rows a sweep goes along between two looks whether it
	// is to end.
	rowsPerLook = 4096
)

// sweep reads wanted rows of a store. It goes along all rows of their time, and
// where too many are not wanted it jumps to the next that may be. So it costs what
// there is or what is wanted, whichever is less, and nothing for the pairs of key
// and connection that have no rows. A scan of each pair costs the product of all
// keys and connections; one of all rows costs the whole day of a connection for an
// hour of it, and those of a million keys for one.
type sweep struct {
	wanted
	err  func() error // why it is to end, if it is
	take func(historyKey, *used) error

	at           historyKey // the next that may be there
	more         bool       // there is such a one
	seen, passed int
}

// stored reads the rows of the store.
func (s *sweep) stored(from Reader) error {
	end := appendHistoryDay(nil, (s.to-1)/minutesPerDay+1)
	for s.at, s.more = s.next(historyKey{minute: s.from}); s.more; {
		if err := s.err(); err != nil {
			return err
		}
		s.passed = 0
		if err := from.Scan(appendHistoryKey(nil, s.at), end, s.see); !errors.Is(err, errEnough) {
			return err
		}
	}
	return nil
}

// see takes the row when it is wanted. errEnough says that the scan is to go on at
// the next that may be there.
func (s *sweep) see(key, value []byte) error {
	if s.seen++; s.seen%rowsPerLook == 0 && s.err() != nil {
		return s.err()
	}
	k, err := decodeHistoryKey(key)
	if err != nil {
		return err
	}
	if s.at, s.more = s.next(k); !s.more {
		return errEnough
	}
	if s.at != k {
		if s.passed++; s.passed > maxPassed {
			return errEnough
		}
		return nil
	}
	s.passed = 0
	x, err := decodeHistory(value)
	if err != nil {
		return err
	}
	return s.take(k, &x)
}

// wanted is the minute rows in [from, to) of all pairs of these connections and
// keys, which are in order. None of the three is empty.
type wanted struct {
	conns, keys []ref
	from, to    int64
}

func (w *wanted) wants(k historyKey) bool {
	next, ok := w.next(k)
	return ok && next == k
}

// next returns the first wanted row that does not come before k in the order of the
// store: by day, connection, key, minute. These are the digits of a number: where
// one has no value left, the one before it goes on and those behind it begin again.
// ok is false when there is no such row.
func (w *wanted) next(k historyKey) (_ historyKey, ok bool) {
	day := k.minute - k.minute%minutesPerDay
	key, minute := 0, day
	conn, same := slices.BinarySearch(w.conns, k.conn)
	if same {
		if key, same = slices.BinarySearch(w.keys, k.key); same {
			minute = k.minute
		}
	}
	if minute >= w.to {
		key, minute = key+1, day
	}
	if key >= len(w.keys) {
		conn, key, minute = conn+1, 0, day
	}
	if conn >= len(w.conns) {
		conn, key, minute = 0, 0, day+minutesPerDay
	}
	minute = max(minute, w.from)
	return historyKey{minute: minute, conn: w.conns[conn], key: w.keys[key]}, minute < w.to
}
