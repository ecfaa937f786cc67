package projector_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
)

// harms are what no fold does to a store, and what may be so all the same.
var harms = []struct {
	name string
	harm func(store projector.Store, b projector.Batch) error
	want error
}{
	{"another version", func(store projector.Store, b projector.Batch) error {
		v, _, err := store.Get([]byte("p"), nil)
		v[0]++
		return errors.Join(err, b.Set([]byte("p"), v))
	}, projector.ErrVersion},
	{"no position", func(_ projector.Store, b projector.Batch) error { return b.Delete([]byte("p")) }, projector.ErrCorrupt},
	{"a commit less", meterRecord("k\x01", []byte{2}), projector.ErrCorrupt},
	{"a commit more", func(_ projector.Store, b projector.Batch) error { return b.Merge([]byte("k\x00"), []byte{1}) }, projector.ErrCorrupt},
	{"no commits", func(_ projector.Store, b projector.Batch) error {
		return b.DeleteRange([]byte("k"), []byte("l"))
	}, projector.ErrCorrupt},
	{"commits that are no number", meterRecord("k\x00", []byte{1, 1}), projector.ErrCorrupt},
	{"an id less", func(_ projector.Store, b projector.Batch) error {
		return b.Delete([]byte("i\x01\x00\x00\x00\x01"))
	}, projector.ErrCorrupt},
	{"a counter of nobody", func(_ projector.Store, b projector.Batch) error {
		return b.Set([]byte("c\x00\x00\x00\x09\x00\x00\x00\x00\x01"), make([]byte, 16))
	}, projector.ErrCorrupt},
	{"a counter cut short", func(_ projector.Store, b projector.Batch) error {
		return b.Set([]byte("c\x00\x00\x00\x01\x00\x00\x00\x00\x01"), make([]byte, 15))
	}, projector.ErrCorrupt},
	{"a position cut short", func(_ projector.Store, b projector.Batch) error {
		return b.Set([]byte("p"), []byte{projector.RulesVersion, 1, 0})
	}, projector.ErrCorrupt},
	{"a provider of no id", func(_ projector.Store, b projector.Batch) error {
		return b.Set([]byte("n\x00\x00\x00\x01"), []byte{99, 0})
	}, projector.ErrCorrupt},
	{"a meter of nobody", meterRecord("M\x00\x00\x00\x09\x01\x00\x00\x00\x00", head(1)), projector.ErrCorrupt},
	{"a meter of no window", meterRecord("M\x00\x00\x00\x01\x06\x00\x00\x00\x00", head(1)), projector.ErrCorrupt},
	{"a meter of no scope", meterRecord("M\x00\x00\x00\x01\x01\x00\x00\x00\x09", head(1)), projector.ErrCorrupt},
	{"a meter that read nothing", meterRecord("M\x00\x00\x00\x01\x02\x00\x00\x00\x00", head(0)), projector.ErrCorrupt},
	{"a meter cut short", meterRecord("M\x00\x00\x00\x01\x01\x00\x00\x00\x00", head(1)[:9]), projector.ErrCorrupt},
	{"a meter's key cut short", meterRecord("M\x00\x00\x00\x01\x01\x00\x00\x00", head(1)), projector.ErrCorrupt},
	{"a row of no meter", meterRecord(row(1, 0, 0, 1, 1), used3), projector.ErrCorrupt},
	{"a row with a scope", meterRecord(row(1, 1, 1, 1, 1), used3), projector.ErrCorrupt},
	{"a row of another cycle", meterRecord(row(1, 1, 0, 3, 1), used3), projector.ErrCorrupt},
	{"a row of no key", meterRecord(row(1, 1, 0, 1, 0), used3), projector.ErrCorrupt},
	{"a row of an unknown key", meterRecord(row(1, 1, 0, 1, 9), used3), projector.ErrCorrupt},
	{"a row cut short", meterRecord(row(1, 1, 0, 1, 2), used3[:2]), projector.ErrCorrupt},
	{"a row as there may be", meterRecord(row(1, 1, 0, 1, 2), used3), nil},
	{"an id of tomorrow", meterRecord("d\x00\x00\x50\xee\x00\x00", nil), projector.ErrCorrupt},
	{"an id of its day", meterRecord("d\x00\x00\x50\xed\x00\x00", nil), nil},
	{"a request settled in an hour to come", meterRecord("S\x00\x07\x96\x50\x00\x00", nil), projector.ErrCorrupt},
	{"a request settled in its hour", meterRecord("S\x00\x07\x96\x4f\x00\x00", nil), nil},
	{"an entry cut short", meterRecord("S\x00\x07\x96\x4f\x00\x00", make([]byte, 19)), projector.ErrCorrupt},
	{"a wait of no pool", waitRecord("q", nil), projector.ErrCorrupt},
	{"a wait in no order", waitRecord("p", nil), projector.ErrCorrupt},
	{"a wait as there may be", waitRecord("p", lane(0, 1, 1)), nil},
	{"credits of another pool", meterRecord("Rp", lane(0, 2, 0)), projector.ErrCorrupt},
	{"credits that do not sum to 0", meterRecord("Rp", lane(2, 1, 0)), projector.ErrCorrupt},
	{"credits of no pool", meterRecord("Rq", lane(0, 1, 0)), projector.ErrCorrupt},
	{"an order of nobody", meterRecord("Rp", lane(0, 1, 1)), projector.ErrCorrupt},
	{"credits as there may be", meterRecord("Rp", lane(0, 1, 0)), nil},
	{"half a pool", func(_ projector.Store, b projector.Batch) error { return b.Set([]byte("ox"), []byte(`1{"name"`)) }, projector.ErrCorrupt},
}

// TestStoresOfOtherMakingAreRefused: another version, half a store, or a
// record that no fold wrote.
func TestStoresOfOtherMakingAreRefused(t *testing.T) {
	for _, c := range harms {
		t.Run(c.name, func(t *testing.T) {
			store := smallStore(t)
			b := store.NewBatch()
			must(t, c.harm(store, b))
			must(t, store.Commit(b))
			if _, err := projector.Load(store); !errors.Is(err, c.want) {
				t.Errorf("Load: %v, want %v", err, c.want)
			}
		})
	}
}

// smallStore has a record of most kinds.
func smallStore(t *testing.T) projector.Store {
	t.Helper()
	store := memstore.New()
	s := projector.NewState(store)
	fold(t, s, []events.Message{
		{Subject: "quota.saturation", Seq: 1, Time: start, Data: []byte(`{"connectionId":"c","readings":[{"window":"5h","usedPercent":7},{"window":"5h","scope":"m","usedPercent":7}]}`)},
		{
			Subject: "quota.consumption", Seq: 2, Time: start,
			Data: []byte(`{"id":"1","apiKeyId":"a","connectionId":"c","provider":"kimi","model":"m","cost":{"tokens":5}}`),
		},
		{
			Subject: "quota.config.pool.p", Seq: 3, Time: start, Header: map[string][]string{"Quota-Config": {"put"}},
			Data: []byte(`{"id":"p","name":"P","provider":"custom","connectionIds":["d"]}`),
		},
	}, 1)
	cut(t, s, store)
	return store
}

func meterRecord(key string, value []byte) func(projector.Store, projector.Batch) error {
	return func(_ projector.Store, b projector.Batch) error { return b.Set([]byte(key), value) }
}

// waitRecord puts a request of key 1 that waits for a pool, and its order.
func waitRecord(pool string, order []byte) func(projector.Store, projector.Batch) error {
	value := append([]byte{byte(len(pool))}, pool...)
	value = append(value, 1, 2, 0, 2, 0, 0, 0) // number, key, no model, amounts
	value = binary.AppendVarint(value, start)
	value = binary.AppendVarint(value, start+1)
	value = append(value, 2) // lease
	value = append(value, make([]byte, 17)...)
	return func(_ projector.Store, b projector.Batch) error {
		err := b.Set([]byte("W0123456789abcdef"), value)
		if order != nil {
			err = errors.Join(err, b.Set([]byte("Rp"), order))
		}
		return err
	}
}

// lane is a record of so many credits, all of them this one, and of so many keys.
func lane(credit byte, n, keys int) []byte {
	value := append([]byte{byte(n)}, bytes.Repeat([]byte{credit}, n)...)
	value = append(value, 0, 0, byte(keys)) // nothing given, not asked
	return append(value, bytes.Repeat([]byte{2, 0}, keys)...)
}

// head is a meter's record with nothing but a number.
func head(number byte) []byte { return append([]byte{number}, make([]byte, 9)...) }

var used3 = []byte{2, 2, 2}

func row(conn, window, scope, cycle, key byte) string {
	return string([]byte{'K', 0, 0, 0, conn, window, 0, 0, 0, scope, 0, 0, 0, 0, 0, 0, 0, cycle, 0, 0, 0, key})
}

// TestADamagedByteIsRefusedOrHarmless: whichever byte of a store with something of
// everything in it is another, Load refuses it, or the state goes on: it folds, is
// cut, is loaded again as it was and has a digest.
func TestADamagedByteIsRefusedOrHarmless(t *testing.T) {
	whole := memstore.New()
	s := projector.NewState(whole)
	log := littleOfEverything()
	fold(t, s, log, 1)
	cut(t, s, whole)
	if n, m := s.Holds().Open, len(s.Waiting()); n != 4 || m != 2 {
		t.Fatalf("%d open holds and %d requests that wait, want 4 and 2", n, m)
	}
	type record struct{ key, value []byte }
	var records []record
	must(t, whole.Scan([]byte{0}, []byte{0xff}, func(key, value []byte) error {
		records = append(records, record{key, value})
		return nil
	}))
	refused := 0
	try := func(at int, key, value []byte) {
		store := memstore.New()
		b := store.NewBatch()
		for i, r := range records {
			if i == at {
				r = record{key, value}
			}
			must(t, b.Set(r.key, r.value))
		}
		must(t, store.Commit(b))
		if !goesOn(t, store, log[len(log)-3:]) {
			refused++
		}
	}
	for i, r := range records {
		for _, flip := range []byte{0x01, 0xff} {
			for n := range r.key {
				try(i, flipped(r.key, n, flip), r.value)
			}
			for n := range r.value {
				try(i, r.key, flipped(r.value, n, flip))
			}
		}
	}
	if refused < 500 {
		t.Errorf("%d were refused", refused)
	}
}

func flipped(b []byte, at int, by byte) []byte {
	c := append([]byte(nil), b...)
	c[at] ^= by
	return c
}

// goesOn folds on in a store, when that is not refused.
func goesOn(t *testing.T, store projector.Store, log []events.Message) bool {
	s, err := projector.Load(store)
	if err != nil {
		if !errors.Is(err, projector.ErrCorrupt) && !errors.Is(err, projector.ErrVersion) {
			t.Fatalf("Load: %v", err)
		}
		return false
	}
	var r projector.Run
	for _, m := range log {
		m.Time += 3_600_000
		r.Add(m)
	}
	if err := s.Apply(&r); err != nil {
		return false // found when it was looked for
	}
	cut(t, s, store)
	before, err := s.Digest()
	if err != nil {
		return false
	}
	again, err := projector.Load(store)
	if err != nil {
		return false
	}
	if after, err := again.Digest(); err != nil || after != before {
		t.Fatalf("loaded again the digest is %x, %v, and was %x", after, err, before)
	}
	return true
}

// littleOfEverything is a log that leaves records of most kinds.
func littleOfEverything() []events.Message {
	put := map[string][]string{"Quota-Config": {"put"}}
	log := []events.Message{
		{Subject: "quota.config.plan.c", Header: put, Data: []byte(`{"connectionId":"c","dimensions":[{"unit":"requests","window":"hourly","limit":100}]}`)},
		{Subject: "quota.config.pool.p", Header: put, Data: []byte(`{"id":"p","name":"P","provider":"kimi","connectionIds":["c"],"allocations":[{"apiKeyId":"a","weight":1}]}`)},
		{Subject: "quota.saturation", Data: []byte(`{"connectionId":"c","readings":[{"window":"5h","usedPercent":7}]}`)},
		{Subject: "quota.consumption", Data: []byte(`{"id":"1","apiKeyId":"a","connectionId":"c","provider":"kimi","model":"m","requestId":"r1","cost":{"tokens":5}}`)},
		{Subject: "quota.consumption", Data: []byte(`{"nonsense":1}`)},
		{Subject: "quota.hold", Data: []byte(`{"id":"2","apiKeyId":"a","connectionId":"c","requestId":"r2","estimate":{"tokens":7},"leaseMs":3600000,"decisionId":"2"}`)},
		{Subject: "quota.hold", Data: []byte(`{"id":"3","apiKeyId":"b","connectionId":"d","model":"m","requestId":"r3","estimate":{"usd":1},"leaseMs":3600000,"decisionId":"3"}`)},
		{Subject: "quota.consumption", Data: []byte(`{"apiKeyId":"a","connectionId":"c","requestId":"r2","partial":true,"cost":{"tokens":5}}`)},
		{Subject: "quota.config.pool.q", Header: put, Data: []byte(`{"id":"q","name":"Q","provider":"kimi","connections":[{"connectionId":"e","weight":1,"maxConcurrent":1},{"connectionId":"f","weight":2,"maxConcurrent":1}],"allocations":[{"apiKeyId":"a","weight":1}]}`)},
	}
	route := `{"id":"%d","apiKeyId":%q,"requestId":"r%[1]d",%[3]s,"estimate":{"tokens":7},"leaseMs":3600000,"maxWaitMs":3600000,"decisionId":"%[1]d"}`
	for i, of := range []string{`"pool":"q"`, `"pool":"q"`, `"pool":"q","model":"m"`, `"candidates":[{"connectionId":"e","score":0.5},{"connectionId":"f"}]`} {
		log = append(log, events.Message{Subject: "quota.hold", Data: fmt.Appendf(nil, route, 10+i, []string{"a", "a", "a", "b"}[i], of)})
	}
	for i := range log {
		log[i].Seq, log[i].Time = uint64(i+1), start+int64(i)
	}
	return log
}
