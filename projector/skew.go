package projector

// skew is how far our clock is ahead of the broker's, negative when it is behind, in
// milliseconds: the least time that a message took from the broker's timestamp to us,
// of those that came as the log's newest. One that waited somewhere took longer; of
// many, the quickest tells how the clocks differ. Without it, the age of a message
// would be that of the difference: a clock some seconds ahead would find every
// message late, and one behind none.
//
// Clocks are set. So only the quickest of the last one to two minutes counts.
type skew struct {
	minute      int64
	now, before int64
	known, had  bool // now, before
}

// observe takes in a message that came as the newest at instant clock, epoch ms.
func (s *skew) observe(clock, sent int64) {
	took := clock - sent
	minute := clock / minuteMillis
	switch {
	case s.known && minute == s.minute:
		s.now = min(s.now, took)
	default:
		s.before, s.had = s.now, s.known
		s.minute, s.now, s.known = minute, took, true
	}
}

// least returns the difference; 0 when none is known.
func (s *skew) least() int64 {
	if s.had {
		return min(s.now, s.before)
	}
	return s.now
}
