package replay

import (
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
)

// verdicts tell what the fold says of holds.
type verdicts struct {
	state   *projector.State
	explain bool
	told    func(*projector.Expected) // nil = nobody wants to know
	holds   []announced               // of the player's own run
}

// announced is a hold whose verdict the fold was asked for.
type announced struct {
	x                   *projector.Expected
	apiKeyID, requestID string
}

func (v *verdicts) of(s *projector.State) { v.state = s }

// Expect makes the player tell the verdict on every hold that it folds from now on,
// as the engine had it that wrote the hold: after the run in which the fold gave it,
// which is a later one for a request that waited for room. A hold that the log has
// twice, or that is no event, has no verdict of its own. With explain the facts are
// those of a question to be explained.
//
// The fold gives no verdict on what waited already when the snapshot was taken.
func (p *Player) Expect(explain bool, told func(*projector.Expected)) {
	p.explain, p.told = explain, told
	p.state.OnJudged = func(list []*projector.Expected) {
		for _, x := range list {
			told(x)
		}
	}
}

// announce adds the holds of a message, which the fold will be asked about.
func (v *verdicts) announce(list []announced, m *events.Message) []announced {
	if v.told == nil || m.Subject != events.Hold.String() {
		return list
	}
	for _, it := range events.Decode(m, nil) {
		if it.Err != nil || it.Event.Kind != events.Hold {
			continue
		}
		x := &projector.Expected{ID: it.Event.ID}
		x.Question.Explain = v.explain
		list = append(list, announced{x, it.Event.APIKeyID, it.Event.RequestID})
	}
	return list
}

// expect asks about the holds of the run that is folded next. Those of later runs
// wait: of two holds of one id, each is asked about when it is its turn.
func (v *verdicts) expect(holds []announced) {
	for _, a := range holds {
		v.state.Expect(a.x)
	}
}

// settle forgets those that the fold did not take: no verdict will come of a hold
// that it had seen before. That of a request that waits for room is still to come.
func (v *verdicts) settle(holds []announced) {
	for _, a := range holds {
		if !v.state.Waits(a.apiKeyID, a.requestID) {
			v.state.Unexpect(a.x)
		}
	}
}
