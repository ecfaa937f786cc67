package fairshare

// Answer is the decision on a question.
type Answer struct {
	Verdict
	// Connection is the one the verdict is of, an index in pool order; -1
	// without a pool.
	Connection int
	// RetryMs is the first wait after which the question would be judged allow
	// if nothing else happened; 0 when it is, -1 when it never would.
	RetryMs int64
	// Alternatives are the connections that would be allowed, in pool order:
	// all of them when the pool was asked, all others when one was. They are
	// valid until the next call on the Facts.
	Alternatives []int
}

// Decide answers the question at an instant not before that of Gather.
//
// Asked for AnyConnection the answer is that of the first connection that is
// judged allow; when none is, of the one that comes free first, the earlier in
// the pool if several do.
func (f *Facts) Decide(now int64) Answer {
	if f.conns == 0 {
		return Answer{Verdict: f.verdict(0, now), Connection: AnyConnection, RetryMs: f.wait(now, nil)}
	}
	f.measure(now)
	f.free = f.free[:0]
	a := Answer{Connection: f.q.Connection}
	for conn := range f.conns {
		v := f.verdictOf(conn, now)
		free := !v.Reason.Blocks()
		if conn == f.q.Connection || free && a.Connection == AnyConnection {
			a.Connection, a.Verdict = conn, v
		}
		if free && conn != f.q.Connection {
			f.free = append(f.free, conn)
		}
	}
	a.Alternatives = f.free
	switch {
	case a.Connection == AnyConnection:
		a.Connection, a.RetryMs = f.firstFree(now)
		a.Verdict = f.judge(a.Connection, now)
	case a.Reason.Blocks():
		a.RetryMs = f.wait(now, f.span(a.Connection, a.Connection+1))
	}
	return a
}

// Judge judges the question at an instant not before that of Gather. Asked for
// AnyConnection it is Decide's verdict.
func (f *Facts) Judge(now int64) Verdict {
	if f.q.Connection == AnyConnection {
		return f.Decide(now).Verdict
	}
	f.measure(now)
	return f.verdictOf(f.q.Connection, now)
}

// verdictOf is verdict, but for what Gather found.
func (f *Facts) verdictOf(conn int, now int64) Verdict {
	if now == f.at && conn == f.judged {
		return f.first
	}
	return f.verdict(conn, now)
}

// JudgeOn judges one of the pool's connections in the same way. The facts were
// gathered for it or for AnyConnection; of one that blocks the retry is not known.
func (f *Facts) JudgeOn(conn int, now int64) Verdict {
	f.measure(now)
	return f.verdictOf(conn, now)
}

func (f *Facts) judge(conn int, now int64) Verdict {
	f.measure(now)
	return f.verdict(conn, now)
}

// firstFree returns the connection that comes free first and the wait until
// then; the pool's first and -1 when none ever does.
func (f *Facts) firstFree(now int64) (conn int, ms int64) {
	ms = f.wait(now, f.span(0, f.conns))
	for ms >= 0 && conn < f.conns-1 && f.judge(conn, now+ms).Reason.Blocks() {
		conn++
	}
	return conn, ms
}
