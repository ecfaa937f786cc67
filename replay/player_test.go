package replay

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/pebblestore"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

func TestAPlayerHasTheStateThatAFoldHas(t *testing.T) {
	r := newRig(t)
	last := r.history()
	list := r.messages()
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	for _, at := range []int{3, 17, 30} {
		r.snapshot(dir, list[:at])
	}
	for _, seq := range []uint64{1, 2, 16, 17, 18, 29, last} {
		want := r.digest(list[:seq])
		for name, o := range map[string]Options{
			"from the first message": {},
			"from a snapshot":        {Start: starts.Local{Dir: dir}},
			"on disk":                {Store: pebblestore.Temporary(t.TempDir(), nil)},
		} {
			p := r.open(o, seq)
			r.must(p.To(t.Context(), seq))
			if got := r.digestOf(p); got != want {
				t.Errorf("%s, at %d: %x, want %x", name, seq, got[:4], want[:4])
			}
			if p.Missing() != (Missing{}) {
				t.Errorf("%s, at %d: missing %+v", name, seq, p.Missing())
			}
		}
	}
}

func TestAPlayerBeginsWithTheNewestSnapshotThatIsNotTooNew(t *testing.T) {
	r := newRig(t)
	r.history()
	list := r.messages()
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	for _, at := range []int{3, 17} {
		r.snapshot(dir, list[:at])
	}
	for notAfter, want := range map[uint64]uint64{0: 0, 2: 0, 3: 3, 16: 3, 17: 17, 20: 17} {
		if got := r.open(Options{Start: starts.Local{Dir: dir}}, notAfter).Began().Seq; got != want {
			t.Errorf("not after %d: began at %d, want %d", notAfter, got, want)
		}
	}
}

func TestASnapshotOfAnotherLogIsPassedOver(t *testing.T) {
	r := newRig(t)
	last := r.history()
	list := r.messages()
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	r.snapshot(dir, list[:5])
	other := slices.Clone(list[:20])
	other[19].Data = []byte(`{"apiKeyId":"x","connectionId":"c"}`)
	r.snapshot(dir, other)
	p := r.open(Options{Start: starts.Local{Dir: dir}}, last)
	if got := p.Began().Seq; got != 5 {
		t.Errorf("began at %d, want 5", got)
	}
	r.must(p.To(t.Context(), last))
	if r.digestOf(p) != r.digest(list) {
		t.Error("the state is another one than that of the log")
	}
}

func TestStepsAndLooks(t *testing.T) {
	r := newRig(t)
	last := r.history()
	list := r.messages()
	p := r.open(Options{End: 9}, 0)
	if p.End() != 9 || last <= 9 {
		t.Fatalf("the end is %d of %d", p.End(), last)
	}
	for i := range 9 {
		m, err := p.Peek(t.Context())
		r.must(err)
		if seq, _ := p.State().At(); m.Seq != list[i].Seq || seq != m.Seq-1 {
			t.Fatalf("message %d is next at %d", m.Seq, seq)
		}
		r.must(p.Step(t.Context()))
	}
	if _, err := p.Peek(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Peek at the end: %v", err)
	}
	if err := p.Step(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Step at the end: %v", err)
	}
	if err := p.To(t.Context(), 10); err == nil || !strings.Contains(err.Error(), "the log ends at 9") {
		t.Errorf("To beyond the end: %v", err)
	}
	r.must(p.To(t.Context(), 3)) // it was there before
	if r.digestOf(p) != r.digest(list[:9]) {
		t.Error("steps give another state than the fold")
	}
}

func TestWhatTheLogHasForgottenIsSaid(t *testing.T) {
	r := newRig(t)
	last := r.history()
	s, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	for _, seq := range []uint64{1, 7, 8, last} {
		r.must(s.DeleteMsg(t.Context(), seq))
	}
	list := r.messages()
	p := r.open(Options{}, 0)
	r.must(p.To(t.Context(), 7))
	if got, want := p.Missing(), (Missing{Count: 2, First: 1, Last: 7}); got != want {
		t.Errorf("at 7: missing %+v, want %+v", got, want)
	}
	r.must(p.To(t.Context(), last)) // the log says at last that it has no more
	if got, want := p.Missing(), (Missing{Count: 4, First: 1, Last: last}); got != want {
		t.Errorf("at the end: missing %+v, want %+v", got, want)
	}
	if r.digestOf(p) != r.digest(list) {
		t.Error("the rest is not folded as it is")
	}
}

// The message of the snapshot is gone, and a single one comes after it: the reader
// has that before it is asked for more.
func TestTheOnlyMessageAfterASnapshotIsRead(t *testing.T) {
	r := newRig(t)
	last := r.history()
	list := r.messages()
	list[last-2].Time -= 7_200_000 // it may be gone
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	r.snapshot(dir, list[:last-1])
	s, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	r.must(s.DeleteMsg(t.Context(), last-1))
	p := r.open(Options{Start: starts.Local{Dir: dir}}, last)
	if p.Began().Seq != last-1 {
		t.Fatalf("began at %d", p.Began().Seq)
	}
	r.must(p.Step(t.Context()))
	if p.Missing() != (Missing{}) || r.digestOf(p) != r.digest(list) {
		t.Errorf("missing %+v, or another state", p.Missing())
	}
}

func TestAPauseMayEndIt(t *testing.T) {
	r := newRig(t)
	last := r.history()
	enough, runs := errors.New("enough"), 0
	var told []uint64
	p := r.open(Options{
		Pause: func(context.Context) error {
			if runs++; runs > 2 {
				return enough
			}
			return nil
		},
		Progress: func(seq uint64) { told = append(told, seq) },
	}, 0)
	r.must(p.To(t.Context(), 4))
	r.must(p.To(t.Context(), 9))
	if err := p.To(t.Context(), last); !errors.Is(err, enough) {
		t.Errorf("To: %v", err)
	}
	if !slices.Equal(told, []uint64{4, 9}) {
		t.Errorf("told %v", told)
	}
}

func TestTheVerdictsOfHoldsAreTold(t *testing.T) {
	r := newRig(t)
	last := r.history()
	verdicts := func(move func(p *Player)) (list []string) {
		p := r.open(Options{}, 0)
		p.Expect(true, func(x *projector.Expected) {
			d := x.Asked.Facts.Decide(x.Asked.Now)
			word := x.ID + " " + d.Reason.String()
			if x.Held {
				word += " held"
			}
			list = append(list, word)
		})
		move(p)
		return list
	}
	whole := verdicts(func(p *Player) { r.must(p.To(t.Context(), last)) })
	steps := verdicts(func(p *Player) {
		for p.Step(t.Context()) == nil {
		}
	})
	want := []string{
		"h0 ok held", "h1 ok held", "h2 ok held", "h3 ok held", "h4 ok held", "h5 ok held",
		"h6 ok held", "h7 ok held", "h8 ok held", "h9 ok held", "h10 global-saturated", "h11 global-saturated",
	}
	for name, got := range map[string][]string{"in runs": whole, "in steps": steps} {
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
