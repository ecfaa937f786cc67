package replay

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// placeOf is the dumb twin of SeqAt.
func (l *memory) placeOf(at int64) (seq uint64) {
	for _, m := range l.list {
		if m.Time > at {
			return seq
		}
		seq = m.Seq
	}
	return seq
}

// A place goes by log time, whatever the timestamps do: from the first message, from
// snapshots, and from what a player has passed.
func TestSeqAtGoesByLogTime(t *testing.T) {
	dirs, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		l := shared(50, 50)
		steps := rapid.SliceOfN(rapid.Int64Range(-100_000, 200_000), 0, 20).Draw(t, "steps, ms")
		now := int64(0)
		for _, s := range steps {
			now = max(0, now+s)
			l.use(now, "a", 1)
		}
		dir := snapdir.New(snapdir.Options{Dir: fmt.Sprint(dirs, "/", n)})
		from := Options{Log: l, Store: inMemory}
		p, err := Open(t.Context(), from, 0)
		must(t, err)
		for seq := range uint64(len(l.list)) {
			must(t, p.To(t.Context(), seq+1))
			if rapid.IntRange(0, 30).Draw(t, "a snapshot") == 30 {
				must(t, p.flush())
				_, _, err := projected.Save(t.Context(), dir, p.store.(*memstore.Store))
				must(t, err)
			}
		}
		begun := from
		begun.Start = starts.Local{Dir: dir}
		at := began + rapid.Int64Range(-1, 4_000_000).Draw(t, "at, ms")
		if rapid.Bool().Draw(t, "at a message") {
			at = l.list[rapid.IntRange(0, len(l.list)-1).Draw(t, "message")].Time
		}
		want := l.placeOf(at)
		for name, o := range map[string]Options{"from the first message": from, "from a snapshot": begun} {
			if got, err := o.SeqAt(t.Context(), at); got != want || err != nil {
				t.Fatalf("%s: at %d: %d, %v, want %d", name, at-began, got, err, want)
			}
			known := p.passed(at)
			if got, err := o.seqAt(t.Context(), at, known); got != want || err != nil {
				t.Fatalf("%s, and %+v is known: %d, %v, want %d", name, known, got, err, want)
			}
			if known.seq > want || l.list[max(known.seq, 1)-1].Time > known.logTime && known.seq > 0 {
				t.Fatalf("at %d, in message %d, %+v is known", at-began, want, known)
			}
		}
		must(t, p.Close())
	})
}

// TestWhatIsBehindAClockThatWasSetBackIsFound: all that was consumed, and in a range of
// time what the log has from then on.
func TestWhatIsBehindAClockThatWasSetBackIsFound(t *testing.T) {
	l := shared(50, 50)
	for i := range int64(4) { // two hours ahead
		l.use(2*hour+i, "a", 100)
	}
	for i := range int64(4) {
		l.use(10+i, "a", 10)
	}
	o := Options{Log: l, Store: inMemory}
	x, err := Explain(t.Context(), o, &Ask{
		Question: questions.Question{APIKeyID: "a", ConnectionID: "c", MaxWaitMs: -1}, Seq: 10, Top: 10,
	})
	must(t, err)
	line := lineOf(t, x, quota.Tokens, quota.Hourly, "")
	if line.Consumed != 400_000 || line.Found != line.Consumed || line.Events != 4 || len(x.Notes) != 0 {
		t.Errorf("found %d of %d, %d events; notes %q", line.Found, line.Consumed, line.Events, x.Notes)
	}
	for _, c := range []struct {
		doc      string
		from, to uint64
	}{
		{`{"withoutPools":["p"],"from":%d}`, 3, 10},
		{`{"withoutPools":["p"],"to":%d}`, 1, 2},
	} {
		r, err := WhatIf(t.Context(), WhatIfOptions{Options: o, Rows: l}, trial(t, fmt.Sprintf(c.doc, began+12)))
		if err != nil || r.From != c.from || r.To != c.to {
			t.Errorf("%s: %+v, %v, want %d to %d", c.doc, r, err, c.from, c.to)
		}
	}
	v, err := Verify(t.Context(), VerifyOptions{Options: o, FromTime: began + 12})
	if err != nil || v.From != 3 || v.To != 10 {
		t.Errorf("verify: %+v, %v", v, err)
	}
}
