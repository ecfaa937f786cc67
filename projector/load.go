package projector

import (
	"encoding/binary"
	"errors"

	"github.com/quotashare/quotashare/quota"
)

// ErrVersion says that a store was folded by a program with other rules.
var ErrVersion = errors.New("the store was folded by another rules version")

// Load returns the state that the store holds; an empty store gives the empty
// state. ErrVersion and ErrCorrupt mean that the store must be set aside and
// the state folded anew.
func Load(store Reader) (*State, error) {
	s := NewState(store)
	value, ok, err := store.Get([]byte{tagPosition}, nil)
	if err != nil {
		return nil, err
	}
	if !ok {
		return s, s.checkVirgin(store)
	}
	if err := s.loadPosition(value); err != nil {
		return nil, err
	}
	if s.commits, err = commitsOf(store); err != nil {
		return nil, err
	}
	if s.commits == 0 {
		return nil, corrupt("position without a commit", value)
	}
	// Ids first: every other record speaks in refs. Plans before pools, whose
	// limits come from them.
	for _, step := range []struct {
		tag  byte
		load func(key, value []byte) error
	}{
		{tagID, s.loadID},
		{tagConnection, s.loadConnection},
		{tagSeries, s.loadSeries},
		{tagModel, s.loadSeries},
		{tagIdle, s.loadIdle},
		{tagMeter, s.loadMeter},
		{tagMeterRow, s.loadMeterRow},
		{tagSettings, s.loadConfig},
		{tagPlan, s.loadConfig},
		{tagPool, s.loadConfig},
		{tagHold, s.loadHold},
		{tagWaiting, s.loadWaiting},
		{tagLane, s.loadLane},
		{tagSettled, s.loadSettled},
		{tagSeen, s.loadSeen},
	} {
		if err := store.Scan([]byte{step.tag}, []byte{step.tag + 1}, step.load); err != nil {
			return nil, err
		}
	}
	s.newIDs = [2]ref{connTable: s.conns.len(), nameTable: s.names.len()}
	if err := s.loaded(); err != nil {
		return nil, err
	}
	return s, nil
}

// checkVirgin makes sure that a store without a position holds nothing: every
// batch writes one, so records without it are not of our making.
func (s *State) checkVirgin(store Reader) error {
	return store.Scan([]byte{0}, []byte{0xff}, func(key, _ []byte) error {
		return corrupt("record without a position", key)
	})
}

func (s *State) loadPosition(value []byte) error {
	d := decoder{b: value}
	if v := d.uint(); !d.bad && v != RulesVersion {
		return ErrVersion
	}
	s.pos.Seq, s.pos.Time = d.uint(), d.int()
	copy(s.pos.Hash[:], d.bytes(len(s.pos.Hash)))
	s.logTime, s.lastConfig = d.int(), d.uint()
	for _, n := range s.counts.all() {
		*n = d.uint()
	}
	if !d.done() {
		return corrupt("position", value)
	}
	return nil
}

// loadID gives an id back its ref. Refs were given in order and are scanned in
// order, so interning again must give the same one.
func (s *State) loadID(key, value []byte) error {
	if len(key) != 6 || key[1] > byte(nameTable) {
		return corrupt("id key", key)
	}
	want := ref(binary.BigEndian.Uint32(key[2:]))
	var got ref
	if table(key[1]) == connTable {
		got = s.connRef(string(value))
	} else {
		got = s.names.intern(string(value))
	}
	if got != want {
		return corrupt("order of ids at", key)
	}
	return nil
}

func (s *State) loadConnection(key, value []byte) error {
	if len(key) != 5 {
		return corrupt("connection key", key)
	}
	r := ref(binary.BigEndian.Uint32(key[1:]))
	d := decoder{b: value}
	provider, changed := d.uint(), d.int()
	if !d.done() || r == 0 || r > s.conns.len() || provider > uint64(s.names.len()) {
		return corrupt("connection", key)
	}
	c := s.conn(r)
	c.provider, c.changed = ref(provider), changed
	return nil
}

func (s *State) loadSeen(key, value []byte) error { return s.dedup.restore(key, value, s.logTime) }

func (s *State) loadSettled(key, value []byte) error { return s.settled.restore(key, value, s.logTime) }

// loadSeries puts the counters of one pair and unit back.
func (s *State) loadSeries(key, value []byte) error {
	k, u, err := decodeSeriesKey(key)
	if err != nil {
		return err
	}
	if k.conn == 0 || k.conn > s.conns.len() || max(k.key, k.model) > s.names.len() {
		return corrupt("counter of an unknown id", key)
	}
	i := s.counters.need(k)
	d := decoder{b: value}
	if k.model != 0 {
		x := s.counters.modelSeriesOf(i, u)
		x.changed, x.counter = d.int(), d.counter()
	} else {
		x := s.counters.seriesOf(i, u)
		x.changed = d.int()
		for w := range quota.Window(quota.NumWindows) {
			x.counter[w] = d.counter()
		}
	}
	if !d.done() {
		return corrupt("counter", key)
	}
	// The total's counters may be gone while those of a key are there: corrections
	// that cancel each other.
	if c := s.conn(k.conn); c.total == 0 {
		c.total = s.counters.need(pairKey{conn: k.conn}) + 1
	}
	return nil
}
