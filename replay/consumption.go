package replay

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
)

// consumption finds the events that made up what the asker consumed, line by line.
// They are read from the log once more, from where the oldest bucket of a line
// begins: the state has sums. Of an event that the log has twice, the state knows
// which one it counted.
func (x *explainer) consumption(ctx context.Context, p *Player) error {
	s := &search{explainer: x, state: p.State(), conns: x.connections(), seen: map[[16]byte]struct{}{}, old: map[[16]byte]int64{}}
	s.lines = s.linesOf()
	x.keys(p.State(), s)
	if len(s.lines) == 0 {
		return nil
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	for _, l := range s.lines {
		l.finish()
		x.made.Lines = append(x.made.Lines, l.Line)
		if l.HasConsumed && l.Found != l.Consumed {
			s.short = true
		}
	}
	if s.missing > 0 {
		x.note("%d messages of the time that consumption is looked for in are not in the log any more; what is not found is of them, or older than what the fold remembers ids for", s.missing)
	} else if s.short {
		x.note("the events found do not weigh exactly what was consumed: shares of the older bucket and of a provider's points are rounded down for each event, and for all together")
	}
	return nil
}

// search looks for events.
type search struct {
	*explainer
	state   *projector.State
	conns   []string
	lines   []*line
	missing uint64
	short   bool

	logTime int64 // of the messages so far, epoch ms
	items   []events.Item
	// seen are the ids that came at the log time; old are those that the state has
	// forgotten, with the log time that they came at.
	seen map[[16]byte]struct{}
	old  map[[16]byte]int64
}

// linesOf returns the dimensions and the caps that the answer was judged by.
func (s *search) linesOf() (list []*line) {
	add := func(l explanation.Line) {
		for _, have := range list {
			if have.Unit == l.Unit && have.Window == l.Window && have.Model == l.Model {
				return
			}
		}
		list = append(list, s.newLine(l))
	}
	q := &s.made.Question
	for i := range s.made.Reply.Dimensions {
		d := &s.made.Reply.Dimensions[i]
		add(explanation.Line{Unit: d.Unit, Window: d.Window, Consumed: d.Consumed, HasConsumed: true})
	}
	pool := s.asked[0].Pool
	if pool == nil {
		return list
	}
	if at := slices.IndexFunc(pool.Allocations, func(a plans.Allocation) bool { return a.APIKeyID == q.APIKeyID }); at >= 0 {
		for _, c := range pool.Allocations[at].Caps {
			add(explanation.Line{Unit: c.Unit, Window: c.Window})
		}
	}
	for _, c := range pool.ModelCaps {
		if c.APIKeyID == q.APIKeyID && q.Model != "" && c.Model == q.Model {
			add(explanation.Line{Unit: c.CapUnit, Window: quota.Hourly, Model: c.Model})
		}
	}
	return list
}

// keys adds who consumed most of each dimension. The row of all keys without an
// allocation of their own is left out: it is the sum of others that are there.
func (x *explainer) keys(state *projector.State, s *search) {
	pool := x.asked[0].Pool
	if pool == nil {
		return
	}
	u, ok := state.Usage(pool.ID, x.at)
	if !ok {
		return
	}
	for i := range u.Dimensions {
		d := &u.Dimensions[i]
		for _, l := range s.lines {
			if d.Unit == l.Unit && d.Window == l.Window && l.Model == "" {
				l.Keys = largest(u.Keys, d.Uses, x.ask.Top)
			}
		}
	}
}

// largest returns who used most, the most first, and nobody who used nothing.
func largest(keys []usage.Key, uses []usage.Use, most int) (list []explanation.KeyUse) {
	for i, k := range keys {
		if uses[i].Consumed > 0 && !(k.Own && k.ID == quota.AllOthers) {
			list = append(list, explanation.KeyUse{APIKeyID: k.ID, Consumed: uses[i].Consumed})
		}
	}
	slices.SortStableFunc(list, func(a, b explanation.KeyUse) int { return cmp.Compare(b.Consumed, a.Consumed) })
	return list[:min(len(list), most)]
}

// read goes through the log from where the oldest line begins to the answer's place.
func (s *search) read(ctx context.Context) error {
	from := s.at
	for _, l := range s.lines {
		from = min(from, l.From)
	}
	// What the state has forgotten the ids of is told apart by what came before it. Of
	// an id that came three times, so far apart that the first is not seen, the last
	// may be taken for the second again.
	if from < s.at-projector.Horizon {
		from -= projector.Horizon
	}
	// An event may stand so much later than the message that brought it.
	before, err := s.o.Log.SeqAt(ctx, from-projector.MaxAhead-1)
	if err != nil || before >= s.seq {
		return err
	}
	source, stop, err := s.o.Log.From(ctx, before+1)
	if err != nil {
		return err
	}
	defer stop()
	r := reading{source: source, end: s.seq, read: before, passed: before}
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
			err = s.look(m)
		}
		if err != nil {
			return err
		}
		r.take()
	}
}

// look looks at the events of a message.
func (s *search) look(m *events.Message) error {
	if m.Time > s.logTime {
		s.logTime = m.Time
		clear(s.seen)
	}
	s.items = s.items[:0]
	if !isUsage(m.Subject) {
		return nil
	}
	s.items = events.Decode(m, s.items)
	return s.take(m, s.items)
}

func isUsage(subject string) bool {
	return strings.HasPrefix(subject, events.Consumption.String()) || strings.HasPrefix(subject, events.Adjustment.String())
}

// take adds the events of a message that count.
func (s *search) take(m *events.Message, items []events.Item) error {
	for i := range items {
		e := &items[i].Event
		if items[i].Err != nil || e.Kind != events.Consumption && e.Kind != events.Adjustment || !s.isAsker(e.APIKeyID) || !slices.Contains(s.conns, e.ConnectionID) {
			continue
		}
		counted, err := s.counted(&items[i])
		if err != nil {
			return err
		}
		if counted {
			s.add(m, i, e)
		}
	}
	return nil
}

// isAsker reports whether what a key consumed counts as the asker's: keys without an
// allocation of their own share that of all others, if there is one.
func (s *search) isAsker(key string) bool {
	asker := s.made.Question.APIKeyID
	if key == asker {
		return true
	}
	pool := s.asked[0].Pool
	if pool == nil {
		return false
	}
	others := false
	for i := range pool.Allocations {
		switch id := pool.Allocations[i].APIKeyID; id {
		case asker, key:
			return false
		case quota.AllOthers:
			others = true
		}
	}
	return others
}

// counted reports whether the fold took an event in that place. The state knows when
// it took each id of the last days. Of older ones the first counts that is found.
func (s *search) counted(it *events.Item) (bool, error) {
	id, has := it.Event.Identity()
	if !has {
		return true, nil
	}
	at, known, err := s.state.FoldedAt(it)
	if err != nil {
		return false, err
	}
	_, now := s.state.At()
	switch {
	case known && at == s.logTime: // one message of that millisecond, or event of it
		_, twice := s.seen[id]
		s.seen[id] = struct{}{}
		return !twice, nil
	case known && at-s.logTime < projector.Horizon: // else it was taken again after it was forgotten
		return false, nil
	case !known && now-s.logTime < projector.Horizon: // rejected
		return false, nil
	}
	before, twice := s.old[id]
	if twice && s.logTime-before < projector.Horizon {
		return false, nil
	}
	s.old[id] = s.logTime
	return true, nil
}

// add adds an event to the lines.
func (s *search) add(m *events.Message, index int, e *events.Event) {
	at := projector.PlaceAt(e, m.Time)
	for _, l := range s.lines {
		if !l.wants(e) {
			continue
		}
		made := explanation.Event{
			Seq: m.Seq, Index: index, ID: strings.Clone(e.ID), Time: at, Adjustment: e.Kind == events.Adjustment,
			APIKeyID: strings.Clone(e.APIKeyID), ConnectionID: strings.Clone(e.ConnectionID), Model: strings.Clone(e.Model),
			RequestID: strings.Clone(e.RequestID), Cost: e.Cost[l.Unit],
		}
		if made.Adjustment {
			made.Reason = strings.Clone(e.Reason)
		}
		l.add(&made, m.Time, &e.Cost)
	}
}
