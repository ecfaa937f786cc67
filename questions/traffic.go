package questions

import "github.com/quotashare/quotashare/wire"

// Traffic is what goes on at the connection that a reply is about, and who waits in
// the backlog of its pool, as of the reply's time. It is shown with explain.
type Traffic struct {
	InFlight      int64 // open holds on the connection, without that of this answer
	MaxConcurrent int64 // 0 = none, and absent
	Waiting       int64 // requests in the backlog; 0 = none, and what follows is absent
	OldestMs      int64 // for how long the first of them has waited
	KeyWaiting    int64 // those of the asking key
	KeyOldestMs   int64 // of these
}

func (t *Traffic) read(in wire.Reader) (there bool) {
	t.InFlight, there = in.Int("inFlight", 0, MaxSeq)
	t.MaxConcurrent, _ = in.Int("maxConcurrent", 0, MaxSeq)
	if b, ok := in.Object("backlog"); ok {
		t.Waiting, _ = b.Int("waiting", 0, MaxSeq)
		t.OldestMs, _ = b.Int("oldestMs", 0, MaxSeq)
		t.KeyWaiting, _ = b.Int("keyWaiting", 0, MaxSeq)
		t.KeyOldestMs, _ = b.Int("keyOldestMs", 0, MaxSeq)
	}
	return there
}

func jsonTraffic(dst []byte, t *Traffic) []byte {
	dst = jsonInt(dst, `,"inFlight":`, t.InFlight)
	if t.MaxConcurrent != 0 {
		dst = jsonInt(dst, `,"maxConcurrent":`, t.MaxConcurrent)
	}
	if t.Waiting == 0 {
		return dst
	}
	dst = jsonInt(dst, `,"backlog":{"waiting":`, t.Waiting)
	dst = jsonInt(dst, `,"oldestMs":`, t.OldestMs)
	dst = jsonInt(dst, `,"keyWaiting":`, t.KeyWaiting)
	dst = jsonInt(dst, `,"keyOldestMs":`, t.KeyOldestMs)
	return append(dst, '}')
}

func writeTraffic(w *wire.Writer, t *Traffic) {
	intField(w, "inFlight", t.InFlight)
	if t.MaxConcurrent != 0 {
		intField(w, "maxConcurrent", t.MaxConcurrent)
	}
	if t.Waiting == 0 {
		return
	}
	w.Name("backlog")
	w.Object()
	intField(w, "waiting", t.Waiting)
	intField(w, "oldestMs", t.OldestMs)
	intField(w, "keyWaiting", t.KeyWaiting)
	intField(w, "keyOldestMs", t.KeyOldestMs)
	w.End()
}
