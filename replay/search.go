package replay

import (
	"context"
	"errors"
	"io"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
)

// search looks for events.
type search struct {
	*explainer
	p     *Player // of which the state is
	state *projector.State
	conns []string
	lines []*line
	// listed are the keys that have an allocation of their own; others says that all
	// others share one.
	listed map[string]bool
	others bool

	back    int64 // ms before a cycle
	whole   bool  // it looks from where the log begins
	missing uint64

	logTime int64 // of the messages so far, epoch ms
	items   []events.Item
	// seen are the ids that came at the log time; old are those that the state has
	// forgotten, with the log time that they came at.
	seen map[[16]byte]struct{}
	old  map[[16]byte]int64
}

// newSearch returns one that looks for cycles from so many ms before them.
func (x *explainer) newSearch(p *Player, back int64) *search {
	s := &search{
		explainer: x, p: p, state: p.State(), conns: x.connections(), back: back,
		listed: make(map[string]bool), seen: make(map[[16]byte]struct{}), old: make(map[[16]byte]int64),
	}
	if pool := x.asked[0].Pool; pool != nil {
		for i := range pool.Allocations {
			id := pool.Allocations[i].APIKeyID
			s.listed[id] = id != quota.AllOthers
			s.others = s.others || id == quota.AllOthers
		}
	}
	s.lines = s.linesOf()
	return s
}

// isAsker reports whether what a key consumed counts as the asker's: keys without an
// allocation of their own share that of all others, if there is one. A key may be named
// like that one, and has none of its own then.
func (s *search) isAsker(key string) bool {
	return key == s.made.Question.APIKeyID || s.shared() && !s.listed[key]
}

// shared reports whether the asker is one of those that share an allocation.
func (s *search) shared() bool { return s.others && !s.listed[s.made.Question.APIKeyID] }

// sure reports whether each cycle that parts are taken of was found.
func (s *search) sure() bool {
	for _, l := range s.lines {
		for _, x := range l.sums {
			if x.cycle != nil && !x.cycle.sure() {
				return false
			}
		}
	}
	return true
}

// from is the instant from which on messages are looked at.
func (s *search) from() int64 {
	from := s.at
	for _, l := range s.lines {
		from = min(from, l.From)
		for _, x := range l.sums {
			if x.cycle != nil {
				from = min(from, x.cycle.Start-s.back)
			}
		}
	}
	// What the state has forgotten the ids of is told apart by what came before it. Of
	// an id that came three times, so far apart that the first is not seen, the last
	// may be taken for the second again.
	if from < s.at-projector.Horizon {
		from -= projector.Horizon
	}
	// An event may stand so much later than the message that brought it.
	return from - projector.MaxAhead
}

// read goes through the log from where the oldest line begins to the answer's place.
// What is missing right before that may be of it too: nobody knows the time of a message
// that is gone.
func (s *search) read(ctx context.Context) error {
	first, _, err := s.o.Log.Bounds(ctx)
	if err != nil {
		return err
	}
	before, there, err := s.o.placeAt(ctx, s.from()-1, s.p.passed(s.from()-1))
	s.whole = before < first
	if err != nil || there >= s.seq {
		return err
	}
	source, stop, err := s.o.Log.From(ctx, before+1)
	if err != nil {
		return err
	}
	defer stop()
	r := reading{source: source, end: s.seq, read: before, passed: there}
	for n := projector.MaxRunItems; ; n += 1 + len(s.items) {
		if n >= projector.MaxRunItems && s.o.Pause != nil {
			if err := s.o.Pause(ctx); err != nil {
				return err
			}
			n = 0
		}
		m, err := r.peek(ctx)
		if errors.Is(err, io.EOF) {
			r.finish(s.seq)
			s.missing = r.missing.Count
			return nil
		}
		if err == nil {
			if m.Seq > r.passed+1 {
				s.resume(m.Time)
			}
			err = s.look(m)
		}
		if err != nil {
			return err
		}
		r.take()
	}
}
