package saturation

import (
	"encoding/binary"
	"errors"

	"github.com/quotashare/quotashare/quota"
)

// ErrCorrupt is a record of a meter or a row that nobody wrote.
var ErrCorrupt = errors.New("the record of a meter cannot be read")

// Changed reports whether the meter changed since it was saved.
func (m *Meter) Changed() bool { return m.changed }

// Dropped returns the cycles whose rows in the store are gone, from ≤ n < to.
func (m *Meter) Dropped() (from, to uint64) { return m.kept, m.Number }

// ChangedRows calls fn for each row that changed since the meter was saved, with
// the number of its cycle.
func (m *Meter) ChangedRows(fn func(cycle uint64, key uint32, u Usage)) {
	for _, place := range m.local.changed {
		r := m.local.at(place)
		fn(m.Number, r.key, r.Usage)
	}
	for _, place := range m.next.changed {
		r := m.next.at(place)
		fn(m.Number+1, r.key, r.Usage)
	}
}

// Rows calls fn for each row of the open cycle, and then of the next, in the
// order in which the keys came first.
func (m *Meter) Rows(fn func(cycle uint64, key uint32, u Usage)) {
	for key, u := range m.local.all() {
		fn(m.Number, key, u)
	}
	for key, u := range m.next.all() {
		fn(m.Number+1, key, u)
	}
}

// Saved notes that head and rows are in the store as they are now.
func (m *Meter) Saved() {
	m.local.saved()
	m.next.saved()
	m.kept, m.changed = m.Number, false
}

func (l *ledger) saved() {
	for _, place := range l.changed {
		l.at(place).changed = false
	}
	l.changed = l.changed[:0]
}

// Restore returns the meter with that head, as saved; PutRow gives it its rows.
func Restore(w quota.Window, h Head) *Meter {
	return &Meter{Head: h, width: w.Millis(), kept: h.Number}
}

// PutRow gives a restored meter a row of the store. One of another cycle, or
// one that no sum of amounts gives, is ErrCorrupt.
func (m *Meter) PutRow(cycle uint64, key uint32, u Usage) error {
	l := &m.local
	switch {
	case m.Number == 0, min(u.Requests, u.Tokens, u.USD) < 0:
		return ErrCorrupt
	case cycle == m.Number:
	case cycle == m.Number+1:
		l = &m.next
	default:
		return ErrCorrupt
	}
	l.add(key, u)
	l.saved()
	return nil
}

// Excerpt returns the meter as it is now for somebody who asks about those keys
// alone, each named once. All others are one there, under the handle rest, so
// that parts, levels and the total are the meter's. Usage of the next cycle is
// left out.
func Excerpt[K ~uint32](m *Meter, keys []K, rest K) *Meter {
	x := &Meter{Head: m.Head, width: m.width}
	x.local.places = make(map[uint32]uint32, min(len(keys), len(m.local.places))+1)
	others := m.LocalTotal()
	for _, key := range keys {
		if place, ok := m.local.places[uint32(key)]; ok {
			u := m.local.at(place).Usage
			x.local.add(uint32(key), u)
			others = others.Minus(u)
		}
	}
	if others != (Usage{}) {
		x.local.add(uint32(rest), others)
	}
	return x
}

// Append appends the head's canonical encoding: uvarint number, u8 flags; varint
// used, reset, observed, start, pot, newest, next newest; varint used, reset,
// observed of the other window.
func (h *Head) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, h.Number)
	dst = append(dst, h.flags())
	for _, v := range h.numbers() {
		dst = binary.AppendVarint(dst, *v)
	}
	return dst
}

// flags has bit 1 for Waiting, 2 for Unpriced and 4 for NextUnpriced.
func (h *Head) flags() (f byte) {
	for i, set := range h.bools() {
		if *set {
			f |= 1 << i
		}
	}
	return f
}

func (h *Head) bools() [3]*bool { return [...]*bool{&h.Waiting, &h.Unpriced, &h.NextUnpriced} }

// numbers are the signed fields in the order of the encoding.
func (h *Head) numbers() [10]*int64 {
	return [...]*int64{
		(*int64)(&h.Used), &h.ResetAt, &h.Observed, &h.Start, (*int64)(&h.Pot),
		&h.Newest, &h.NextNewest,
		(*int64)(&h.Other.Used), &h.Other.ResetAt, &h.Other.Observed,
	}
}

// DecodeHead reads what Append wrote; anything else is ErrCorrupt.
func DecodeHead(b []byte) (Head, error) {
	var h Head
	number, n := binary.Uvarint(b)
	if n <= 0 || len(b) == n {
		return h, ErrCorrupt
	}
	flags := b[n]
	h.Number = number
	for i, set := range h.bools() {
		*set = flags&(1<<i) != 0
	}
	numbers := h.numbers()
	if h.flags() != flags || !varints(b[n+1:], numbers[:]) || !h.valid() {
		return Head{}, ErrCorrupt
	}
	return h, nil
}

// valid checks what holds after every operation.
func (h *Head) valid() bool {
	if h.Number == 0 {
		return *h == Head{}
	}
	return 0 <= h.Pot && h.Pot <= h.Used && h.Other.Used >= 0 && h.Start <= h.Observed && min(h.Newest, h.NextNewest) >= 0
}

// Append appends the row's canonical encoding: varint requests, tokens, usd.
func (u *Usage) Append(dst []byte) []byte {
	for _, v := range u.numbers() {
		dst = binary.AppendVarint(dst, *v)
	}
	return dst
}

func (u *Usage) numbers() [3]*int64 {
	return [...]*int64{(*int64)(&u.Requests), (*int64)(&u.Tokens), (*int64)(&u.USD)}
}

// DecodeUsage reads what Append wrote; anything else is ErrCorrupt.
func DecodeUsage(b []byte) (u Usage, err error) {
	numbers := u.numbers()
	if !varints(b, numbers[:]) || min(u.Requests, u.Tokens, u.USD) < 0 {
		return Usage{}, ErrCorrupt
	}
	return u, nil
}

// varints reads exactly these numbers and reports whether they were all of it.
func varints(b []byte, into []*int64) bool {
	for _, v := range into {
		x, n := binary.Varint(b)
		if n <= 0 {
			return false
		}
		*v, b = x, b[n:]
	}
	return len(b) == 0
}
