package answers

import (
	"slices"
	"testing"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/routing"
)

// Who lacks only room comes back when there is some that nobody waits for.
func TestComingBackForRoom(t *testing.T) {
	for _, c := range []struct {
		reason        fairshare.Reason
		freeAt, retry int64
		want          int64
	}{
		{fairshare.Capacity, 0, 70, 70},
		{fairshare.Capacity, now + 50, 70, 50},
		{fairshare.Capacity, now, 70, 1},
		{fairshare.Capacity, routing.Never, 70, -1},
		{fairshare.FairShare, now + 50, 70, 70},
	} {
		d := fairshare.Answer{RetryMs: c.retry}
		d.Reason = c.reason
		if comeBack(c.freeAt, now, &d); d.RetryMs != c.want {
			t.Errorf("%s, free at %d: %d, want %d", c.reason, c.freeAt, d.RetryMs, c.want)
		}
	}
}

func TestAChoiceIsSaid(t *testing.T) {
	r := questions.Reply{Candidates: []questions.RouteCandidate{{ConnectionID: "old"}}}
	to := &projector.Route{ConnectionID: "c", Candidates: []questions.RouteCandidate{{ConnectionID: "c"}, {ConnectionID: "d"}}}
	if chosen(to, &r); r.ConnectionID != "c" || !slices.Equal(r.Candidates, to.Candidates) {
		t.Errorf("%+v", r)
	}
}
