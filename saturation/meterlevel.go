package saturation

import "github.com/quotashare/quotashare/quota"

// Level is a value that the provider gave and how long it stands. It has the
// fields of a decision's level and converts to it.
type Level struct {
	Used     quota.Amount // unit percent
	Until    int64        // the first instant at which it is unknown again; 0 = it never was known
	ResetAt  int64        // as the provider says, 0 = it does not
	Observed int64        // when it was last said
}

// Current returns the level of the open cycle: it stands until its reset, which
// the provider itself named, however long ago that was; without a reset for the
// life-time of a signal, ttl ms.
func (m *Meter) Current(ttl int64) Level {
	switch {
	case m.Number == 0:
		return Level{}
	case m.ResetAt != 0:
		return Level{m.Used, m.ResetAt, m.ResetAt, m.Observed}
	}
	return Level{m.Used, m.Observed + ttl, 0, m.Observed}
}

// Remembered returns the level of the other window: it stands for a signal's
// life-time, and not beyond its reset. The zero Level when there is none.
func (m *Meter) Remembered(ttl int64) Level {
	w := &m.Other
	if w.ResetAt == 0 {
		return Level{}
	}
	return Level{w.Used, min(w.ResetAt, w.Observed+ttl), w.ResetAt, w.Observed}
}

// At returns the level at instant now, the larger of both that stand; ok is
// false when none does. Unknown is not 0.
func (m *Meter) At(now, ttl int64) (l Level, ok bool) {
	current, other := m.Current(ttl), m.Remembered(ttl)
	switch knows, remembers := now < current.Until, now < other.Until; {
	case knows && remembers && other.Used > current.Used, !knows && remembers:
		return other, true
	case knows:
		return current, true
	}
	return Level{}, false
}

// PartsUntil returns the first instant at which the cycle's parts are nobody's
// any more: its reset, or one window after it began when none is known. 0 when
// the meter has read nothing.
func (m *Meter) PartsUntil() int64 {
	switch {
	case m.Number == 0:
		return 0
	case m.ResetAt != 0:
		return m.ResetAt
	}
	return m.Start + m.width
}
