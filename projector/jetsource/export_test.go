package jetsource

import "time"

// Waited adds to how long it has waited for a log that does not answer, and returns it.
func (s *Source) Waited(more time.Duration) time.Duration {
	s.away += more
	return s.away
}
