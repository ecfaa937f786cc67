package projector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/events"
)

// MaxAhead is how far an event's time may lie ahead of the broker's timestamp,
// in milliseconds. What is further ahead is placed at the broker's timestamp:
// a fast clock must not rotate a window away.
const MaxAhead int64 = 120_000

// Run is a few messages in stream order, decoded and hashed. Preparing needs no
// state, so it happens before the lock is taken, and beside the fold. A Run is
// used again after Reset; its memory grows to the largest it held.
type Run struct {
	messages []prepared
	items    []events.Item
	ids      []identity
	pending  uint64 // how many more messages the log had after the last
}

type prepared struct {
	message  events.Message
	from, to int // in items and ids
}

// identity is what of an event is worked out before the lock is taken.
type identity struct {
	id      idHash
	content contentHash
	has     bool
	opened  idHash // identity of the hold event that a release names
	names   bool   // it names one
	request idHash // of the key, when the event names a request
	said    *said  // by a response, when the event tells whose it is; else nil
}

// MaxRunItems is when a run is full: readers wait for as many events at most,
// or for one message's if it has more.
const MaxRunItems = 128

// Reset empties the run.
func (r *Run) Reset() {
	clear(r.items) // they hold on to the messages' memory
	clear(r.ids)
	r.messages, r.items, r.ids = r.messages[:0], r.items[:0], r.ids[:0]
}

// Add decodes the message into the run.
func (r *Run) Add(m events.Message) {
	from := len(r.items)
	r.items = events.Decode(&m, r.items)
	for i := from; i < len(r.items); i++ {
		n := identify(&r.items[i])
		n.said = hear(&m, &r.items[i].Event)
		r.ids = append(r.ids, n)
	}
	r.messages = append(r.messages, prepared{message: m, from: from, to: len(r.items)})
}

// Full reports whether the run should be applied before more is added.
func (r *Run) Full() bool { return len(r.items) >= MaxRunItems }

// Len returns the number of messages in the run.
func (r *Run) Len() int { return len(r.messages) }

func identify(it *events.Item) (n identity) {
	if it.Err != nil || it.Event.Kind.IsConfig() {
		return n
	}
	if it.Event.RequestID != "" {
		n.request = requestOf(it.Event.APIKeyID, it.Event.RequestID)
	}
	if it.Event.Kind == events.Release && it.Event.DecisionID != "" {
		named := events.Event{Kind: events.Hold, ID: it.Event.DecisionID}
		n.opened, n.names = named.Identity()
	}
	id, ok := it.Event.Identity()
	if !ok {
		return n
	}
	content := it.Event.Content()
	n.id, n.has = id, true
	copy(n.content[:], content[:])
	return n
}

// Apply folds the run and moves the position to its last message. The messages
// become visible to readers together.
//
// An error means that the store could not be read. The state may then have a
// part of a message in it and must be given up.
func (s *State) Apply(r *Run) error {
	s.mu.Lock()
	defer s.tell() // when all of it can be read
	defer s.mu.Unlock()
	for i := range r.messages {
		p := &r.messages[i]
		if err := s.applyMessage(&p.message, r.items[p.from:p.to], r.ids[p.from:p.to]); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) applyMessage(m *events.Message, items []events.Item, ids []identity) error {
	today := s.logTime / dayMillis
	s.logTime, s.folding = max(s.logTime, m.Time), m.Seq
	if s.logTime/dayMillis != today {
		s.forgetMeters()
	}
	s.expireHolds()
	s.serveBacklogs()
	var verdict *events.Rejection // of the only item, if this is configuration
	for i := range items {
		rejected, err := s.applyItem(m, i, &items[i], &ids[i])
		if err != nil {
			return err
		}
		if rejected != nil {
			s.reject(m, i, items[i].Raw, rejected)
		}
		verdict = rejected
	}
	s.serveBacklogs()
	if strings.HasPrefix(m.Subject, events.ConfigPrefix) {
		s.lastConfig = m.Seq
		s.verdicts.put(m.Seq, m.Time, verdict)
	}
	s.counts.Messages++
	s.pos.Seq, s.pos.Time, s.last = m.Seq, m.Time, *m
	return nil
}

// applyItem folds one event; the rejection says why it was not folded.
func (s *State) applyItem(m *events.Message, index int, it *events.Item, n *identity) (*events.Rejection, error) {
	if it.Err != nil {
		return it.Err, nil
	}
	if n.has {
		old, known, err := s.dedup.find(n.id, s.logTime)
		switch {
		case err != nil:
			return nil, err
		case known && old.content == n.content:
			s.counts.Duplicates++
			return nil, nil
		case known:
			return conflict(&it.Event), nil
		}
	}
	r, err := s.fold(m, index, &it.Event, n)
	if r != nil || err != nil {
		return r, err
	}
	// Only a folded event takes its id: one that was refused may come again,
	// put right, under the same id.
	if n.has {
		s.dedup.add(n.id, n.content, s.logTime)
	}
	s.counts.Folded++
	return nil, nil
}

func conflict(e *events.Event) *events.Rejection {
	return &events.Rejection{Reason: events.IDConflict, Message: fmt.Sprintf(
		"id %q was folded before with other content: give every event an id of its own", e.ID)}
}

// fold applies one event by its kind.
func (s *State) fold(m *events.Message, index int, e *events.Event, n *identity) (*events.Rejection, error) {
	switch e.Kind {
	case events.Consumption:
		return s.foldConsumption(m, index, e, n)
	case events.Adjustment:
		return s.foldAdjustment(m, index, e), nil
	case events.Saturation:
		s.foldSaturation(m, e, n.said)
	case events.Release:
		s.release(e, n)
	case events.Hold:
		return nil, s.foldHold(m, index, e, n)
	case events.ConfigPool:
		return s.foldPool(m, e), nil
	case events.ConfigPlan:
		return s.foldPlan(m, e), nil
	case events.ConfigSettings:
		return s.foldSettings(m, e), nil
	case events.Due:
		// Its place in the log is all it has: leases were looked at there.
	}
	return nil, nil
}

// foldUsage adds a consumption or adjustment to the counters of its key, of its
// connection and of its model, all or none of them. A correction caused no use
// at the provider, so meters know nothing of it.
func (s *State) foldUsage(m *events.Message, e *events.Event) *events.Rejection {
	at, clamped := placeAt(e.Time, m.Time)
	b, now := bucketsAt(at), bucketsAt(s.logTime)
	conn, key, model := s.connRef(e.ConnectionID), s.names.intern(e.APIKeyID), s.names.intern(e.Model)
	touched := [...]touch{
		s.total(conn),
		s.counters.touch(pairKey{conn: conn, key: key}),
		{},
	}
	list := touched[:2]
	if model != 0 {
		touched[2] = s.counters.touch(pairKey{conn: conn, key: key, model: model})
		list = touched[:]
	}
	for i := range list {
		if list[i].known && !s.counters.fits(list[i].place, &b, &now, &e.Cost) {
			return overflow(e)
		}
	}
	late := false
	for i := range list {
		if !list[i].known {
			list[i].place = s.counters.create(list[i].pairKey)
		}
		late = s.counters.add(list[i].place, &b, &e.Cost, s.logTime) || late
	}
	c := s.conn(conn)
	c.total = touched[0].place + 1
	if c.meters != 0 && e.Kind == events.Consumption {
		s.use(s.meters.byConn[c.meters-1], key, at, e)
	}
	if c.meters != 0 || e.Kind == events.Adjustment || s.compares(c) {
		s.touchConn(conn) // else it only rises, and nobody passes for that
	}
	s.noteProvider(conn, e.Provider)
	for i := range 2 { // the total and the key
		s.addHistory(list[i].place, at/minuteMillis, e.Kind, &e.Cost)
	}
	if late {
		s.counts.Late++
	}
	if clamped {
		s.counts.Clamped++
	}
	return nil
}

// touch is a pair that an event adds to. It is looked up once; one that is not
// known is made only when the event fits everywhere.
type touch struct {
	pairKey
	place uint32
	known bool
}

func (c *counters) touch(k pairKey) touch {
	place, known := c.byKey[k]
	return touch{k, place, known}
}

// total is the touch of the connection's total, which knows its place.
func (s *State) total(conn ref) touch {
	t := touch{pairKey: pairKey{conn: conn}}
	if at := s.conn(conn).total; at != 0 {
		t.place, t.known = at-1, true
	}
	return t
}

// placeAt returns where on the time line an event stands.
func placeAt(said, broker int64) (at int64, clamped bool) {
	switch {
	case said == 0:
		return broker, false
	case said > broker+MaxAhead:
		return broker, true
	}
	return said, false
}

func overflow(e *events.Event) *events.Rejection {
	return &events.Rejection{Reason: events.OverflowReason, Message: fmt.Sprintf(
		"the amounts pass what a counter of key %q on connection %q can hold: check the unit of cost", e.APIKeyID, e.ConnectionID)}
}

// noteProvider keeps the provider that the connection's newest event named, and
// that the connection was seen.
func (s *State) noteProvider(conn ref, provider string) {
	c := s.conn(conn)
	same := provider == "" || c.provider != 0 && string(s.names.raw(c.provider)) == provider
	if same && c.seen() {
		return
	}
	if !same {
		c.provider = s.names.intern(provider)
	}
	c.changed = s.logTime
	if !c.dirty {
		c.dirty = true
		s.dirtyConns = append(s.dirtyConns, conn)
	}
}

// reject keeps the rejection until QUOTA_REJECTED has it.
func (s *State) reject(m *events.Message, index int, raw []byte, r *events.Rejection) {
	s.counts.Rejected++
	s.counts.ByReason[slices.Index(Reasons[:], r.Reason)]++
	record := events.NewRejected(m, index, r, raw)
	s.rejected = append(s.rejected, rejection{seq: m.Seq, index: index, value: record.AppendJSON(nil)})
}

// verdicts remembers what became of the newest configuration messages, for
// those who wrote them and wait, and of all that were refused and are not in the
// store yet, for those who read the history.
type verdicts struct {
	ring [256]Verdict
	next int
	// fresh are the refused since the last cut, flying those of a cut whose commit
	// is under way.
	fresh, flying map[uint64]Verdict
}

// Verdict is what became of a configuration message.
type Verdict struct {
	Seq      uint64 // 0 = not known
	Time     int64  // the broker's timestamp, epoch ms
	Rejected *events.Rejection
}

func (v *verdicts) put(seq uint64, time int64, r *events.Rejection) {
	v.ring[v.next%len(v.ring)] = Verdict{seq, time, r}
	v.next++
	if r != nil {
		if v.fresh == nil {
			v.fresh = make(map[uint64]Verdict)
		}
		v.fresh[seq] = Verdict{seq, time, r}
	}
}

func (v *verdicts) get(seq uint64) Verdict {
	for i := range v.ring {
		if v.ring[i].Seq == seq {
			return v.ring[i]
		}
	}
	if known, ok := v.fresh[seq]; ok {
		return known
	}
	return v.flying[seq]
}

func (v *verdicts) cut() { v.fresh, v.flying = nil, v.fresh }

func (v *verdicts) committed() { v.flying = nil }
