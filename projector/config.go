package projector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
	"github.com/quotashare/quotashare/wire"
)

// foldPool puts or deletes a pool. A document is checked by itself, and that
// its connections are in no other pool: nothing that depends on a plan, which
// may come later.
func (s *State) foldPool(m *events.Message, e *events.Event) *events.Rejection {
	old := s.pools[e.ConfigID]
	if e.Delete {
		s.dropPool(old)
		s.touchConfig(tagPool, e.ConfigID)
		if old != nil {
			s.closeLane(old.lane)
			s.regroup()
		}
		return nil
	}
	doc, faults := plans.ParsePool(e.ConfigID, e.Document)
	if err := faults.Err(); err != nil {
		return invalidConfig(err)
	}
	if err := s.checkFree(doc); err != nil {
		return invalidConfig(err)
	}
	if doc.CreatedAt == 0 {
		doc.CreatedAt = m.Time
		if old != nil {
			doc.CreatedAt = old.doc.CreatedAt
		}
	}
	s.dropPool(old)
	p := s.putPool(doc, originOf(m, e))
	if old != nil {
		s.keepLane(old.lane, p)
	}
	s.regroup()
	s.touchConfig(tagPool, e.ConfigID)
	return nil
}

func invalidConfig(err error) *events.Rejection {
	return &events.Rejection{Reason: events.ConfigInvalid, Message: err.Error()}
}

// checkFree reports every connection of the document that another pool has.
func (s *State) checkFree(doc *plans.Pool) error {
	var faults wire.Faults
	for i, c := range doc.Connections {
		r := s.conns.find(c.ConnectionID)
		if r == 0 || s.conn(r).pool == 0 {
			continue
		}
		if other := s.poolAt[s.conn(r).pool-1]; other.doc.ID != doc.ID {
			faults.Add(fmt.Sprintf("connections[%d].connectionId", i), fmt.Sprintf(
				"%q is in pool %q (%s): a connection is in at most one pool", c.ConnectionID, other.doc.ID, other.doc.Name))
		}
	}
	return faults.Err()
}

func (s *State) dropPool(p *pool) {
	if p == nil {
		return
	}
	for _, c := range p.conns {
		s.conn(c).pool, s.conn(c).place = 0, 0
	}
	s.poolAt[p.at] = nil
	delete(s.pools, p.doc.ID)
	if at, ok := s.findPool(p.doc.ID); ok {
		s.poolList = slices.Delete(s.poolList, at, at+1)
	}
}

// putPool brings a checked document into force.
func (s *State) putPool(doc *plans.Pool, from origin) *pool {
	p := &pool{doc: doc, origin: from, alloc: make(map[ref]int, len(doc.Allocations)), others: -1, places: limitsPlaces(doc)}
	p.at = int32(slices.Index(s.poolAt, nil))
	if p.at < 0 {
		p.at = int32(len(s.poolAt))
		s.poolAt = append(s.poolAt, nil)
	}
	s.poolAt[p.at] = p
	for i, c := range doc.Connections {
		r := s.connRef(c.ConnectionID)
		p.conns = append(p.conns, r)
		s.conn(r).pool, s.conn(r).place = p.at+1, int32(i)
	}
	for i, a := range doc.Allocations {
		if a.APIKeyID == quota.AllOthers {
			p.others = i
			p.keys = append(p.keys, 0)
			continue
		}
		r := s.names.intern(a.APIKeyID)
		p.alloc[r] = i
		p.listed, p.keys = append(p.listed, r), append(p.keys, r)
	}
	s.pools[doc.ID] = p
	at, _ := s.findPool(doc.ID)
	s.poolList = slices.Insert(s.poolList, at, p)
	p.resolve(s.planWith(nil))
	p.lane = &lane{pool: p, credits: make([]int64, len(p.conns)), due: routing.Never}
	return p
}

// asks is the index of the allocation that a key asks by, -1 = it has none.
func (p *pool) asks(key ref) int {
	if i, own := p.alloc[key]; own {
		return i
	}
	return p.others
}

// resolve works out the pool's dimensions, limits and shares, and what an operator
// should know, from the plans of its connections.
func (p *pool) resolve(planOf func(connectionID, provider string) plans.Plan) {
	of := func(connectionID string) plans.Plan { return planOf(connectionID, p.doc.Provider) }
	p.resolved = plans.Resolve(p.doc, of)
	p.warnings = plans.Warnings(p.doc, of)
}

// planWith returns the plans in force, but for that of the draft.
func (s *State) planWith(d *Draft) func(connectionID, provider string) plans.Plan {
	return func(id, provider string) plans.Plan {
		if d != nil && id == d.ConnectionID {
			return plans.PlanOf(d.Plan, provider)
		}
		return s.planOf(s.conns.find(id), provider)
	}
}

// planOf is the plan in force of a connection with that provider.
func (s *State) planOf(conn ref, provider string) plans.Plan {
	if e, ok := s.plans[conn]; ok {
		return plans.PlanOf(&plans.Plan{Dimensions: e.dimensions, Source: plans.Manual}, provider)
	}
	return plans.PlanOf(nil, provider)
}

// foldPlan puts or deletes the manual plan of a connection.
func (s *State) foldPlan(m *events.Message, e *events.Event) *events.Rejection {
	var next planEntry
	if !e.Delete {
		dimensions, faults := plans.ParsePlan(e.Document)
		if err := faults.Err(); err != nil {
			return invalidConfig(err)
		}
		next = planEntry{dimensions: dimensions, origin: originOf(m, e)}
	}
	conn := s.connRef(e.ConfigID)
	if e.Delete {
		delete(s.plans, conn)
	} else {
		s.plans[conn] = next
	}
	s.touchConfig(tagPlan, e.ConfigID)
	if at := s.conn(conn).pool; at != 0 {
		s.poolAt[at-1].resolve(s.planWith(nil))
		s.touchConn(conn)
	}
	return nil
}

// foldSettings puts or deletes the settings.
func (s *State) foldSettings(m *events.Message, e *events.Event) *events.Rejection {
	next := settings{doc: plans.DefaultSettings(), origin: originOf(m, e)}
	if !e.Delete {
		doc, faults := plans.ParseSettings(e.Document)
		if err := faults.Err(); err != nil {
			return invalidConfig(err)
		}
		next.doc = doc
	}
	s.settings = next
	s.touchLanes()
	s.touchConfig(tagSettings, "")
	return nil
}

// append begins a document's record.
func (o *origin) append(dst []byte) []byte {
	dst = binary.AppendVarint(binary.AppendUvarint(dst, o.revision), o.time)
	for _, text := range []string{o.actor, o.why} {
		dst = appendText(dst, text)
	}
	return dst
}

func (d *decoder) origin() origin {
	return origin{revision: d.uint(), time: d.int(), actor: d.text(), why: d.text()}
}

func (s *State) touchConfig(tag byte, id string) { s.dirtyConf[confKey{tag, id}] = struct{}{} }

// cutConfig writes the changed configuration documents.
func (s *State) cutConfig(b Batch) (err error) {
	for k := range s.dirtyConf {
		key := append([]byte{k.tag}, k.id...)
		value := s.confValue(k)
		if value == nil {
			err = errors.Join(err, b.Delete(key))
		} else {
			err = errors.Join(err, b.Set(key, value))
		}
	}
	clear(s.dirtyConf)
	return err
}

// confValue returns the record of a document: where it comes from and the
// document as JSON; nil when it was deleted.
func (s *State) confValue(k confKey) []byte {
	switch k.tag {
	case tagPool:
		if p := s.pools[k.id]; p != nil {
			return plans.AppendPoolJSON(p.append(nil), p.doc)
		}
	case tagPlan:
		if e, ok := s.plans[s.conns.find(k.id)]; ok {
			return plans.AppendPlanJSON(e.append(nil), k.id, e.dimensions)
		}
	case tagSettings:
		return plans.AppendSettingsJSON(s.settings.append(nil), &s.settings.doc)
	}
	return nil
}

// loadConfig puts a stored document back into force.
func (s *State) loadConfig(key, value []byte) error {
	d := decoder{b: value}
	from := d.origin()
	doc, err := wire.ParseJSON(d.b)
	if d.bad || err != nil {
		return corrupt("configuration", key)
	}
	id := strings.Clone(string(key[1:]))
	var faults wire.Faults
	switch key[0] {
	case tagPool:
		var p *plans.Pool
		if p, faults = plans.ParsePool(id, doc); len(faults) == 0 {
			s.putPool(p, from)
		}
	case tagPlan:
		var e planEntry
		if e.dimensions, faults = plans.ParsePlan(doc); len(faults) == 0 {
			e.origin = from
			s.plans[s.connRef(id)] = e
		}
	case tagSettings:
		if s.settings.doc, faults = plans.ParseSettings(doc); len(faults) == 0 {
			s.settings.origin = from
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("%w: configuration %q: %w", ErrCorrupt, key, faults)
	}
	return nil
}
