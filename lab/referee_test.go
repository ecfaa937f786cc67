package lab

import (
	"testing"

	"github.com/quotashare/quotashare/quota"
)

// game is a run of two keys whose moves are made by hand, a millisecond after the beginning
// of a window.
func game(kind Kind) *run {
	r := newRun(two(2, []Request{{0, 1}}, []Request{{0, 1}}), kind, FirstCome(), nil)
	r.now++
	return r
}

func (r *run) serve(key int, size quota.Amount) {
	r.referee.admits(key, size)
	r.use(key, size)
	r.referee.admitted(key)
}

func (r *run) endWindow() int {
	r.now = r.begin + r.width
	r.referee.periodEnds()
	return r.referee.figures.Broken
}

func TestTheRefereeSeesWhatIsTooMuch(t *testing.T) {
	for _, kind := range []Kind{Sliding, Anchored} {
		r := game(kind)
		r.serve(0, Whole)
		if got := r.referee.figures.Over; got != 0 {
			t.Errorf("%v: all is not too much: %d", kind, got)
		}
		r.serve(1, 1)
		if got := r.referee.figures.Over; got != 1 {
			t.Errorf("%v: one more is: %d", kind, got)
		}
	}
}

// In a cycle a promise is due at once: at a millisecond before the middle, half of the
// share of 50 points, less what was used.
func TestTheRefereeKnowsThePromiseOfACycle(t *testing.T) {
	r := game(Anchored)
	r.now = r.begin + r.width/2 - 1
	r.serve(0, 10*onePercent)
	r.referee.refused(0, 15*onePercent+1)
	if f := r.referee.figures; f.Broken != 0 || f.Claims != 1 {
		t.Errorf("more than was promised: %+v", f)
	}
	r.referee.refused(0, 15*onePercent)
	if f := r.referee.figures; f.Broken != 1 || f.Claims != 2 {
		t.Errorf("what was promised: %+v", f)
	}
	if r.referee.refused(1, 25*onePercent); r.referee.figures.Broken != 2 {
		t.Error("the other has used nothing, and is promised 25 points")
	}
	r.now, r.referee.reserve = r.begin+1, 200
	if got := r.referee.promise(0); got != 50*onePercent {
		t.Errorf("twice the pace is no more than the share: %d", got)
	}
}

// In a sliding window it is due when the bucket ends: of 50 points, with requests of one,
// all but 16, or as much as others have that were served since.
func TestTheRefereeKnowsThePromiseOfASlidingWindow(t *testing.T) {
	for _, c := range []struct {
		about string
		moves func(r *run)
		want  int
	}{
		{"nobody was served", func(r *run) {}, 0},
		{"another was, with more", func(r *run) { r.serve(1, 60*onePercent) }, 1},
		{"16 points more are not more", func(r *run) { r.serve(1, 16*onePercent) }, 0},
		{"a step over that is", func(r *run) { r.serve(1, 16*onePercent+1) }, 1},
		{"it was served too, and has as good as all", func(r *run) { r.serve(1, 60*onePercent); r.serve(0, 34*onePercent) }, 0},
		{"it was served too, and has not", func(r *run) { r.serve(1, 60*onePercent); r.serve(0, 33*onePercent) }, 1},
		{"it had all that it asked for", func(r *run) { r.serve(1, 60*onePercent); r.referee.hasAll(0) }, 0},
		{"it asks no more", func(r *run) { r.serve(1, 60*onePercent); r.lines[0].requests = nil }, 0},
	} {
		r := game(Sliding)
		r.referee.refused(0, onePercent)
		c.moves(r)
		r.now = r.begin + r.width - 1
		r.referee.refused(0, onePercent) // it asks on
		if got := r.endWindow(); got != c.want {
			t.Errorf("%s: %d broken, want %d", c.about, got, c.want)
		}
	}
	r := game(Sliding)
	r.serve(1, 60*onePercent)
	r.referee.refused(0, onePercent)
	if r.endWindow() != 0 {
		t.Error("the other was served before")
	}
	r = game(Sliding)
	r.referee.refused(0, onePercent)
	r.serve(1, 60*onePercent)
	r.now = r.begin + r.width - 1 - r.width/100*34
	if r.referee.refused(0, onePercent); r.endWindow() != 0 {
		t.Error("34 points came free after it had asked last")
	}
	r = game(Sliding)
	r.referee.refused(0, onePercent)
	r.serve(1, 60*onePercent)
	r.now = r.begin + r.width - 1 - r.width/100*33
	if r.referee.refused(0, onePercent); r.endWindow() != 1 {
		t.Error("33 points are not enough")
	}
	if r.referee.refused(0, 51*onePercent); r.referee.figures.Claims != 1 {
		t.Error("more than the share is no claim")
	}
}

// Reserve 0 keeps nothing back and promises nothing, so nothing of it is broken; the rules
// without a promise are held against that of 100.
func TestTheRefereeOfNoReserve(t *testing.T) {
	for rule, want := range map[Rule]int{Guarantee(0): 0, Guarantee(100): 1, FirstCome(): 1} {
		r := newRun(two(2, []Request{{0, 1}}, []Request{{0, 1}}), Anchored, rule, nil)
		if r.referee.refused(0, onePercent); r.referee.figures.Claims != want || r.referee.figures.Broken != want {
			t.Errorf("%s: %d claims, %d broken, want %d", rule.Name, r.referee.figures.Claims, r.referee.figures.Broken, want)
		}
	}
}
