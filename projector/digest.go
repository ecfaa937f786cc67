package projector

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"maps"
	"slices"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// Digest is the SHA-256 over the canonical encoding of a state, drawn in
// docs/format/state.md. Equal logs give equal digests on every machine.
type Digest [sha256.Size]byte

// Digest computes the digest. Everything folded must have been committed, as
// de-dup entries are read from the store. The caller must be the one that
// folds: a million pairs take about a second, for which readers are not made
// to wait.
func (s *State) Digest() (Digest, error) {
	h := sha256.New()
	if err := s.Canonical(h); err != nil {
		return Digest{}, err
	}
	return Digest(h.Sum(nil)), nil
}

// Canonical writes the canonical encoding, which the digest is of, for who wants to
// know in what two states differ. It is called as Digest is. The error is that of the
// store or of the writer.
func (s *State) Canonical(to io.Writer) error {
	w := &digester{to: to}
	w.uint(RulesVersion)
	w.int(s.logTime)
	s.digestConfig(w)
	s.digestCounters(w)
	s.digestMeters(w)
	s.digestHolds(w)
	s.digestRoutes(w)
	if err := s.settled.digest(w, s.logTime); err != nil {
		return err
	}
	w.bytes(nil) // no id hash is empty: the end
	s.digestProviders(w)
	if err := s.dedup.digest(w, s.logTime); err != nil {
		return err
	}
	w.flush()
	return w.err
}

// digester writes the canonical encoding: varints, and strings with their
// length in front, so that no two states share an encoding.
type digester struct {
	to  io.Writer
	buf []byte
	err error // the first of the writer; nothing is written after it
}

func (w *digester) flush() {
	if w.err == nil {
		_, w.err = w.to.Write(w.buf)
	}
	w.buf = w.buf[:0]
}

func (w *digester) room() {
	if len(w.buf) > 1<<14 {
		w.flush()
	}
}

func (w *digester) uint(v uint64) { w.buf = binary.AppendUvarint(w.buf, v); w.room() }
func (w *digester) int(v int64)   { w.buf = binary.AppendVarint(w.buf, v); w.room() }
func (w *digester) bytes(b []byte) {
	w.uint(uint64(len(b)))
	w.buf = append(w.buf, b...)
}

func (s *State) digestConfig(w *digester) {
	w.uint(uint64(len(s.poolList)))
	for _, p := range s.poolList {
		w.bytes([]byte(p.doc.ID))
		w.uint(p.revision)
		w.bytes(plans.AppendPoolJSON(nil, p.doc))
	}
	refs := slices.SortedFunc(maps.Keys(s.plans), s.conns.compare)
	w.uint(uint64(len(refs)))
	for _, r := range refs {
		w.bytes(s.conns.raw(r))
		w.uint(s.plans[r].revision)
		w.bytes(plans.AppendPlanJSON(nil, s.conns.id(r), s.plans[r].dimensions))
	}
	w.uint(s.settings.revision)
	w.bytes(plans.AppendSettingsJSON(nil, &s.settings.doc))
}

// compare orders refs by their ids.
func (in *interner) compare(a, b ref) int { return bytes.Compare(in.raw(a), in.raw(b)) }

// ranks returns the place of each ref among all ids in byte order; that of 0
// is 0, before all.
func (in *interner) ranks() []uint32 {
	refs := make([]ref, in.len())
	for i := range refs {
		refs[i] = ref(i + 1)
	}
	slices.SortFunc(refs, in.compare)
	ranks := make([]uint32, len(refs)+1)
	for i, r := range refs {
		ranks[r] = uint32(i + 1)
	}
	return ranks
}

// digestCounters writes every counter, rotated to log time, in the order of
// connection, key (the total first), model, unit, window. One that reads 0 for
// ever is left out, so that it does not matter whether it was collected: its
// buckets are 0 and no newer than log time.
func (s *State) digestCounters(w *digester) {
	conns, names := s.conns.ranks(), s.names.ranks()
	order := make([]uint32, 0, s.counters.pairs.n)
	for i, p := range s.counters.pairs.all {
		if p.conn != 0 { // else the place is free
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b uint32) int {
		x, y := s.counters.pairs.at(a), s.counters.pairs.at(b)
		return cmp.Or(
			cmp.Compare(conns[x.conn], conns[y.conn]),
			cmp.Compare(names[x.key], names[y.key]),
			cmp.Compare(names[x.model], names[y.model]),
		)
	})
	now := bucketsAt(s.logTime)
	for _, i := range order {
		p := s.counters.pairs.at(i)
		for u := range quota.Unit(quota.NumUnits) {
			for win := range quota.Window(quota.NumWindows) {
				c := s.counters.get(p, u, win).Rotate(now[win])
				if c.Empty() && c.Index <= now[win] {
					continue
				}
				s.digestCounter(w, p, u, win, c)
			}
		}
	}
	w.bytes(nil) // no connection has the empty id: the end
}

func (s *State) digestCounter(w *digester, p *pair, u quota.Unit, win quota.Window, c windows.Counter) {
	w.bytes(s.conns.raw(p.conn))
	w.bytes([]byte(s.names.id(p.key)))
	w.bytes([]byte(s.names.id(p.model)))
	w.uint(uint64(u))
	w.uint(uint64(win))
	w.int(c.Index)
	w.int(int64(c.Curr))
	w.int(int64(c.Prev))
}

func (s *State) digestProviders(w *digester) {
	var refs []ref
	for r := ref(1); r <= s.conns.len(); r++ {
		if s.conn(r).provider != 0 {
			refs = append(refs, r)
		}
	}
	slices.SortFunc(refs, s.conns.compare)
	w.uint(uint64(len(refs)))
	for _, r := range refs {
		w.bytes(s.conns.raw(r))
		w.bytes(s.names.raw(s.conn(r).provider))
	}
}

// digest writes the entries younger than the horizon, in the order of span
// and id hash. That of spans and buckets is the store's; within a bucket they lie
// as they came.
func (d *dedup) digest(w *digester, logTime int64) error {
	var list []remembered
	return d.store.Scan([]byte{d.tag}, []byte{d.tag + 1}, func(key, value []byte) error {
		number, err := d.decodeKey(key, value)
		if err != nil {
			return err
		}
		list = list[:0]
		for v := value; len(v) > 0; v = v[d.width:] {
			if e := d.decode(number, v); d.live(e, logTime) {
				list = append(list, remembered{id: idHash(v[:len(idHash{})]), seen: e})
			}
		}
		slices.SortFunc(list, func(x, y remembered) int { return bytes.Compare(x.id[:], y.id[:]) })
		for i := range list {
			w.bytes(list[i].id[:])
			w.int(list[i].time)
			if content := d.width - len(idHash{}) - 4; content > 0 {
				w.bytes(list[i].content[:content])
			}
		}
		return nil
	})
}
