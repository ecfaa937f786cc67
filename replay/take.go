package replay

import (
	"slices"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/projector"
)

// look looks at the events of a message.
func (s *search) look(m *events.Message) error {
	if m.Time > s.logTime {
		s.logTime = m.Time
		clear(s.seen)
	}
	s.items = s.items[:0]
	if !counts(m.Subject) {
		return nil
	}
	s.items = events.Decode(m, s.items)
	return s.take(m, s.items)
}

func counts(subject string) bool {
	return slices.ContainsFunc(counting[:], func(k events.Kind) bool { return strings.HasPrefix(subject, k.String()) })
}

// counting are the kinds of events that say what was consumed, or what a provider says.
var counting = [...]events.Kind{events.Consumption, events.Adjustment, events.Saturation}

// take adds the events of a message that count.
func (s *search) take(m *events.Message, items []events.Item) error {
	for i := range items {
		e := &items[i].Event
		if items[i].Err != nil || !slices.Contains(counting[:], e.Kind) || !s.needs(e) {
			continue
		}
		counted, err := s.counted(&items[i])
		if err != nil {
			return err
		}
		switch {
		case !counted || !slices.Contains(s.conns, e.ConnectionID):
		case e.Kind == events.Saturation:
			s.hear(e, m.Time)
		default:
			s.add(m, i, e)
		}
	}
	return nil
}

// needs reports whether it must be known if an event counts. A cycle is of all keys. Of
// the ids that the state has forgotten, any event may have one that another wants later.
func (s *search) needs(e *events.Event) bool {
	if _, now := s.state.At(); now-s.logTime >= projector.Horizon {
		return true
	}
	return slices.Contains(s.conns, e.ConnectionID) && (s.isAsker(e.APIKeyID) || s.inCycle(e.ConnectionID))
}

// inCycle reports whether a line takes parts of what the connection's provider says.
func (s *search) inCycle(conn string) bool {
	return slices.ContainsFunc(s.lines, func(l *line) bool { return l.sums[conn].cycle != nil })
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

// resume goes on behind messages that are missing: of a cycle that has begun by that time
// and was not found, with what comes now, as if it had begun here. Which events before
// were its own, nobody knows. The log need not begin late for that: configuration stays
// when what is around it goes.
func (s *search) resume(at int64) {
	for _, l := range s.lines {
		for _, x := range l.sums {
			if c := x.cycle; c != nil && c.Start < at && !c.began() {
				c.twin, c.open, c.next = c.Opened(l.Window), points{}, points{}
			}
		}
	}
}

// hear takes in what a provider says.
func (s *search) hear(e *events.Event, stored int64) {
	list, at := s.state.Readings(e, stored)
	ttl := s.made.Rules.Settings.SignalTTLMs()
	for i := range list {
		for _, l := range s.lines {
			if c := l.sums[e.ConnectionID].cycle; c != nil && list[i].Window == l.Window && list[i].Scope == "" {
				c.hear(&list[i], at, ttl)
			}
		}
	}
}

// add adds an event to the lines.
func (s *search) add(m *events.Message, index int, e *events.Event) {
	at := projector.PlaceAt(e, m.Time)
	for _, l := range s.lines {
		c := l.sums[e.ConnectionID].cycle
		var of *points
		if c != nil {
			of = c.use(e, at)
		}
		if !s.wants(l, e) || c != nil && of == nil {
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
		if c != nil {
			made.Weight, made.HasSplit, made.SplitBy = c.Part(&e.Cost), true, c.SplitBy()
			made.Split = e.Cost[made.SplitBy]
			of.add(&made, &e.Cost, l.most)
		} else {
			l.add(&made)
		}
	}
}

// wants reports whether the line counts an event. The caps of a model are of one key
// alone, whatever allocation it shares.
func (s *search) wants(l *line, e *events.Event) bool {
	if l.Model == "" {
		return s.isAsker(e.APIKeyID)
	}
	return l.Model == e.Model && e.APIKeyID == s.made.Question.APIKeyID
}
