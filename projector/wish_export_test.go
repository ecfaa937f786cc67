package projector

// WantOf returns what a request wants that waits, the same number for those of a key that
// want the same.
func (s *State) WantOf(w *Waiting) uint32 { return s.routes.byRequest[w.Request].Want }
