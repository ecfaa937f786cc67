package projector

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
	"github.com/quotashare/quotashare/saturation"
	"github.com/quotashare/quotashare/windows"
)

// Counter returns a counter for tests to compare; key "" is the total.
func (s *State) Counter(conn, key, model string, u quota.Unit, w quota.Window) windows.Counter {
	k := pairKey{conn: s.conns.find(conn), key: s.names.find(key), model: s.names.find(model)}
	if key != "" && k.key == 0 || model != "" && k.model == 0 {
		return windows.Counter{}
	}
	return s.counters.get(s.counters.find(k), u, w)
}

// HistoryRows returns the minute rows that the store holds, for tests to read;
// that of a total names no key.
func (s *State) HistoryRows(store Reader) (rows []string, err error) {
	err = store.Scan([]byte{tagHistory}, []byte{tagHistory + 1}, func(key, value []byte) error {
		k, err := decodeHistoryKey(key)
		if err != nil {
			return err
		}
		row := quota.FormatInstant(k.minute*minuteMillis) + " " + s.conns.id(k.conn) + " " + s.names.id(k.key)
		x, err := decodeHistory(value)
		row += format(&x.consumed)
		if x.adjusted != (quota.Amounts{}) {
			row += ", adjusted" + format(&x.adjusted)
		}
		rows = append(rows, row)
		return err
	})
	return rows, err
}

func format(amounts *quota.Amounts) (s string) {
	for u, a := range amounts {
		s += " " + a.Format(quota.Unit(u)) + " " + quota.Unit(u).String()
	}
	return s
}

// SeenDays returns how many de-dup entries the store holds, by day.
func SeenDays(store Reader) (days map[int64]int, err error) {
	days = make(map[int64]int)
	d := newDedup(store)
	err = store.Scan([]byte{tagSeen}, []byte{tagSeen + 1}, func(key, value []byte) error {
		number, err := d.decodeKey(key, value)
		days[number] += len(value) / d.width
		return err
	})
	return days, err
}

// KeysOf returns the keys counted on the connection, in the order of their ids.
func (s *State) KeysOf(connection string) (keys []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.eachKeyOf(s.conns.find(connection), func(key ref, p *pair) bool {
		if p.key == key {
			keys = append(keys, s.names.id(key))
		}
		return true
	})
	slices.Sort(keys)
	return keys
}

// MeterName names a meter by ids.
type MeterName struct {
	Connection string
	Window     quota.Window
	Scope      string
}

// MeterState is all there is to a meter, for tests to compare.
type MeterState struct {
	saturation.Head
	Rows map[string]Row // by cycle and key
}

// Row is what a key used in a cycle.
type Row struct {
	Cycle uint64
	saturation.Usage
}

// StateOf returns the state of a meter whose keys have those names.
func StateOf(m *saturation.Meter, name func(uint32) string) MeterState {
	x := MeterState{Head: m.Head, Rows: map[string]Row{}}
	m.Rows(func(cycle uint64, key uint32, u saturation.Usage) {
		x.Rows[strconv.FormatUint(cycle, 10)+" "+name(key)] = Row{cycle, u}
	})
	return x
}

// Meter returns the meter again, its keys without names.
func (x *MeterState) Meter(w quota.Window) *saturation.Meter {
	m := saturation.Restore(w, x.Head)
	key := uint32(0)
	for _, r := range x.Rows {
		key++
		if err := m.PutRow(r.Cycle, key, r.Usage); err != nil {
			panic(err)
		}
	}
	return m
}

// Meters returns every meter.
func (s *State) Meters() map[MeterName]MeterState {
	all := map[MeterName]MeterState{}
	for _, list := range s.meters.byConn {
		for _, m := range list {
			all[MeterName{s.conns.id(m.conn), m.window, m.id}] = StateOf(m.Meter, func(key uint32) string { return s.names.id(ref(key)) })
		}
	}
	return all
}

// Part returns the key's part of the cycle of the window's meter; ok is false
// when that has none at the instant.
func (s *State) Part(conn, key string, w quota.Window, now int64) (part quota.Amount, ok bool) {
	m := s.meterOf(s.conns.find(conn), w)
	if m == nil || now >= m.PartsUntil() {
		return 0, false
	}
	return m.Part(m.Local(uint32(s.names.find(key)))), true
}

// SetMaxHolds bounds the open holds.
func (s *State) SetMaxHolds(n int) { s.maxHolds = n }

// RequestOf names a request of a key.
func RequestOf(key, request string) [16]byte { return requestOf(key, request) }

// OpenHold is all there is to a hold, for tests to compare.
type OpenHold struct {
	Connection, Key, Model string
	Amounts                quota.Amounts
	End, LeaseMs           int64
}

// OpenHolds returns every open hold, by request.
func (s *State) OpenHolds() map[[16]byte]OpenHold {
	all := map[[16]byte]OpenHold{}
	for id, at := range s.holds.byID {
		x := s.holds.at(at)
		all[id] = OpenHold{s.conns.id(x.conn), s.names.id(x.key), s.names.id(x.model), x.amounts, x.end, x.lease}
	}
	return all
}

// Settled reports whether a request is remembered as settled.
func (s *State) Settled(key, request string) bool {
	_, known, err := s.settled.find(requestOf(key, request), s.logTime)
	return known && err == nil
}

// Renew gives all events and requests of the run other names, the same for the
// same n.
func (r *Run) Renew(n uint64) {
	n *= 0x9e3779b97f4a7c15
	for i := range r.ids {
		for _, id := range []*idHash{&r.ids[i].id, &r.ids[i].request} {
			binary.BigEndian.PutUint64(id[:], binary.BigEndian.Uint64(id[:])^n)
			binary.BigEndian.PutUint64(id[8:], binary.BigEndian.Uint64(id[8:])^n)
		}
	}
}

// Waiting is a request that waits, for tests to compare.
type Waiting struct {
	Pool, Key, Model string
	Request          [16]byte
	Amounts          quota.Amounts
	Candidates       []string // those of the pool when it named none
	Arrived          int64
	Deadline         int64
	First            bool // of its key
}

// Waiting returns who waits, pool by pool in the order in which keys are visited.
func (s *State) Waiting() (list []Waiting) {
	for _, l := range s.routes.busy {
		last := routing.Key(0)
		for _, w := range l.waiting() {
			x := s.routes.tickets[w.Ticket]
			y := Waiting{l.pool.doc.ID, x.apiKeyID, x.model, x.request, x.amounts, nil, w.Arrived, w.Deadline, w.Key != last}
			for _, c := range x.candidates {
				y.Candidates = append(y.Candidates, c.ConnectionID)
			}
			if x.candidates == nil {
				for _, c := range l.pool.doc.Connections {
					y.Candidates = append(y.Candidates, c.ConnectionID)
				}
			}
			list, last = append(list, y), w.Key
		}
	}
	return list
}

// Credits returns the routing credits of a pool, in the order of its connections.
func (s *State) Credits(pool string) []int64 { return s.pools[pool].lane.credits }

// Sizes are what counters take.
type Sizes struct{ Places, Chunks, Indexed, Room int }

// Sizes returns how many places counters have had, how many chunks these take now,
// how many pairs are indexed, and for how many the index has room.
func (s *State) Sizes() (x Sizes) {
	c := s.counters
	count := func(n uint32, chunks int, there func(int) bool) {
		x.Places += int(n)
		for i := range chunks {
			if there(i) {
				x.Chunks++
			}
		}
	}
	count(c.pairs.n, len(c.pairs.chunks), func(i int) bool { return c.pairs.chunks[i] != nil })
	count(c.series.n, len(c.series.chunks), func(i int) bool { return c.series.chunks[i] != nil })
	count(c.models.n, len(c.models.chunks), func(i int) bool { return c.models.chunks[i] != nil })
	x.Indexed, x.Room = len(c.byKey), c.most
	return x
}

// HasTotal reports whether questions look for the keys of the connection.
func (s *State) HasTotal(connection string) bool { return s.conn(s.conns.find(connection)).total != 0 }

// KeyList is a list of keys that is being made.
type KeyList struct{ l *keyLister }

// BeginKeys begins what Keys does.
func (s *State) BeginKeys() KeyList { return KeyList{s.newKeyLister()} }

// End ends it.
func (x KeyList) End() []Key { return x.l.run() }

// HasMeters reports whether the connection counts as one whose provider speaks.
func (s *State) HasMeters(connection string) bool {
	return s.conn(s.conns.find(connection)).meters != 0
}
