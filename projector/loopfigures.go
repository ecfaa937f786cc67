package projector

// Behind returns how many messages the log had after the last one that is folded, when
// it last spoke.
func (l *Loop) Behind() uint64 {
	if n := l.behind.Load(); n > 0 || l.head.Load() == 0 {
		return n
	}
	return 1 // at least the one that is being folded
}

// Ahead returns how far our clock is ahead of the broker's, negative when it is behind,
// in milliseconds; see skew.
func (l *Loop) Ahead() int64 { return l.ahead.Load() }
