package replay

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// everything is a history after which the digest has something of every part.
func (r *rig) everything() (list []events.Message) {
	r.t.Helper()
	r.history()
	r.publish("quota.config.settings", `{"values":{"saturationThreshold":{"value":0.6,"source":"stored"}}}`)
	r.publish("quota.config.pool.q", `{"id":"q","name":"Q","provider":"kimi","connections":[{"connectionId":"d","maxConcurrent":1},{"connectionId":"e","maxConcurrent":1}],"allocations":[{"apiKeyId":"a","weight":50}]}`)
	r.publish("quota.saturation", `{"connectionId":"d","readings":[{"window":"5h","usedPercent":10},{"window":"weekly","scope":"m","usedPercent":3}]}`)
	r.publish("quota.consumption", `{"id":"m1","apiKeyId":"a","connectionId":"d","provider":"kimi","model":"m","requestId":"m1","cost":{"tokens":5,"usd":"0.001"}}`)
	r.publish("quota.saturation", `{"connectionId":"d","readings":[{"window":"5h","usedPercent":12}]}`)
	r.publish("quota.consumption", `{"id":"m2","apiKeyId":"a","connectionId":"d","time":"2026-01-01T00:00:00Z","cost":{"tokens":5}}`)
	for i := range 4 {
		r.publish("quota.hold", fmt.Sprintf(`{"id":"w%d","apiKeyId":"a","requestId":"w%d","pool":"q","candidates":null,"estimate":{"tokens":1,"requests":1},"leaseMs":300000,"maxWaitMs":600000,"decisionId":"w%d"}`, i, i, i))
	}
	r.use("end", "b", 1)
	return r.messages()
}

// altered is the store of messages in which a record was changed after some of them,
// as a disk or a fault would.
func (r *rig) altered(list []events.Message, after int, change func(key, value []byte) []byte) *memstore.Store {
	r.t.Helper()
	_, store := r.fold(list[:after])
	b := store.NewBatch()
	done := false
	r.must(store.Scan([]byte{0}, []byte{0xff}, func(key, value []byte) error {
		if next := change(key, slices.Clone(value)); next != nil && !done {
			done = true
			return b.Set(key, next)
		}
		return nil
	}))
	if !done {
		r.t.Fatal("there is no such record")
	}
	r.must(store.Commit(b))
	s, err := projector.Load(store)
	r.must(err)
	for _, m := range list[after:] {
		var run projector.Run
		run.Add(m)
		r.must(s.Apply(&run))
	}
	b = store.NewBatch()
	r.must(s.Cut(b))
	r.must(store.Commit(b))
	return store
}

// firstRecord is a limit that is one too high.
func firstRecord(key, value []byte) []byte {
	if key[0] != 'l' {
		return nil
	}
	return bytes.Replace(value, []byte("1000"), []byte("1001"), 1)
}

func (r *rig) keep(dir *snapdir.Dir, store *memstore.Store) {
	r.t.Helper()
	_, _, err := projected.Save(r.within(), dir, store)
	r.must(err)
}

func (r *rig) digests(o DigestOptions) *Digests {
	r.t.Helper()
	o.Log, o.Store = r.log, inMemory
	d, err := TakeDigests(r.within(), o)
	r.must(err)
	return d
}

func TestAllThatIsHeldToTheLogIsEqual(t *testing.T) {
	r := newRig(t)
	list := r.everything()
	end := uint64(len(list))
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	for _, at := range []int{5, 20, 30} {
		r.snapshot(dir, list[:at])
	}
	live := &LiveDigest{Seq: end - 1, Digest: r.digest(list[:end-1])}
	d := r.digests(DigestOptions{Options: Options{Start: starts.Local{Dir: dir}}, At: []uint64{7}, Every: 10, Live: live})
	var got []string
	for i := range d.Points {
		p := &d.Points[i]
		got = append(got, strings.TrimSpace(fmt.Sprint(p.Seq, " ", p.Of)))
		if p.Digest != r.digest(list[:p.Seq]) || p.Differs() || !p.Proved() || p.LogTime < list[p.Seq-1].Time {
			t.Errorf("point %+v", p)
		}
	}
	want := fmt.Sprintf("[5 snapshot 7 10 20 snapshot 30 snapshot 40 %d live %d]", end-1, end)
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	if d.Diverged != nil || d.Messages != end || d.Began != 0 || d.Unread != nil {
		t.Errorf("%+v", d)
	}
	quick := r.digests(DigestOptions{Options: Options{Start: starts.Local{Dir: dir}}, Live: live, Quick: true})
	if quick.Began != 30 || quick.Messages != end-1-30 || len(quick.Points) != 1 || quick.Points[0].Differs() {
		t.Errorf("quick: %+v", quick)
	}
}

// TestTheFirstDivergenceIsNamed: a counter was changed between two snapshots.
func TestTheFirstDivergenceIsNamed(t *testing.T) {
	r := newRig(t)
	list := r.everything()
	end := len(list)
	for _, c := range []struct {
		at       int // it was changed after so many messages
		from, to uint64
	}{{3, 1, 5}, {5, 6, 10}, {12, 11, 20}, {21, 21, 30}, {31, 31, uint64(end)}} {
		dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
		for _, at := range []int{5, 10, 20, 30} {
			if at <= c.at {
				r.snapshot(dir, list[:at])
			} else {
				r.keep(dir, r.altered(list[:at], c.at, firstRecord))
			}
		}
		s, err := projector.Load(r.altered(list, c.at, firstRecord))
		r.must(err)
		live := &LiveDigest{Seq: uint64(end)}
		live.Digest, err = s.Digest()
		r.must(err)
		for _, quick := range []bool{false, true} {
			if quick && c.to < uint64(end) {
				live.Digest = r.digest(list) // the engine did not begin from what was changed
			}
			d := r.digests(DigestOptions{Options: Options{Start: starts.Local{Dir: dir}}, Live: live, Quick: quick}).Diverged
			if d == nil || d.From != c.from || d.To != c.to {
				t.Fatalf("changed after %d, quick %v: %+v, want %d to %d", c.at, quick, d, c.from, c.to)
			}
			if isLive := c.to == uint64(end); isLive != (d.Of == OfLive) || isLive != (d.Parts == nil) {
				t.Errorf("changed after %d: %+v", c.at, d)
			}
		}
	}
}

// TestWhatDiffersIsNamed: of each kind of record one is changed.
func TestWhatDiffersIsNamed(t *testing.T) {
	r := newRig(t)
	list := r.everything()
	at := func(tag byte, change func(value []byte)) func(key, value []byte) []byte {
		return func(key, value []byte) []byte {
			if key[0] != tag {
				return nil
			}
			change(value)
			return value
		}
	}
	last := func(v []byte) { v[len(v)-1] ^= 2 }
	first := func(v []byte) { v[0] ^= 2 }
	replaced := func(tag byte, old, new string) func(key, value []byte) []byte {
		return func(key, value []byte) []byte {
			if key[0] != tag || !bytes.Contains(value, []byte(old)) {
				return nil
			}
			return bytes.Replace(value, []byte(old), []byte(new), 1)
		}
	}
	for _, c := range []struct {
		name   string
		change func(key, value []byte) []byte
		part   string
		says   string // what it is called
		folded string
		count  uint64
	}{
		{"a pool", replaced('o', `"P"`, `"Z"`), PartPools, `pool "p"`, `"P"`, 1},
		{"a plan", replaced('l', "1000", "1001"), PartPlans, `plan of connection "c"`, "1000", 1},
		{"settings", replaced('s', "0.6", "0.7"), PartSettings, "", "0.6", 1},
		{"a counter", at('c', last), PartCounters, `requests monthly of connection "c", all keys`, "the one before 0", 1},
		{"a counter of a model", at('m', last), PartCounters, `requests hourly of connection "d", key "a", model "m"`, "the one before 0", 1},
		{"a meter", at('M', func(v []byte) { v[1] ^= 2 }), PartMeters, `meter 5h of connection "d"`, "record", 1},
		{"a part of a meter", at('K', first), PartMeters, `meter 5h of connection "d"`, `this cycle "a"`, 1},
		{"a hold", at('H', last), PartHolds, "hold ", "lease 300000 ms", 1},
		{"one that waits", at('W', func(v []byte) { v[len(v)-2] ^= 2 }), PartRoutes, `place `, "by event", 1},
		{"a turn", turned, PartRoutes, `turns of pool`, "credits", 1},
		{"a settled request", at('S', first), PartSettled, "request ", "settled at ", 2},
		{"a provider", at('n', first), PartProviders, `connection "`, "provider ", 1},
		{"an id", at('d', first), PartIDs, "id ", "content ", 2},
	} {
		folded, _ := r.fold(list)
		stored, err := projector.Load(r.altered(list, len(list), c.change))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := Compare(folded, stored)
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %v %+v", c.name, err, got)
			continue
		}
		d := &got[0]
		if d.Part != c.part || !strings.HasPrefix(d.Name, c.says) || !strings.Contains(d.Folded+d.Stored, c.folded) || d.Folded == d.Stored || d.Count != c.count {
			t.Errorf("%s: %+v", c.name, *d)
		}
	}
}

// TestWhatIsKeptBySpansIsHeldTogether: ids, and settled requests, lie in the order of
// the days and hours in which they were folded, and within these by their hashes.
func TestWhatIsKeptBySpansIsHeldTogether(t *testing.T) {
	r := &rig{t: t}
	both := shared(50, 50)
	for i := range 40 {
		both.add(int64(i)*90*60_000, "quota.consumption", fmt.Sprintf(`{"id":"u%d","apiKeyId":"a","connectionId":"c","requestId":"r%d"}`, i, i))
		both.add(int64(i)*90*60_000+50*60_000, "quota.consumption", fmt.Sprintf(`{"id":"v%d","apiKeyId":"a","connectionId":"c","requestId":"s%d"}`, i, i))
	}
	one := slices.Clone(both.list)
	for _, at := range []int{5, len(one) - 2} { // an id of the first day, a request of the last hour
		one[at].Data = bytes.Replace(bytes.Replace(one[at].Data, []byte(`:"u`), []byte(`:"w`), 1), []byte(`:"v`), []byte(`:"w`), 1)
		one[at].Data = bytes.Replace(bytes.Replace(one[at].Data, []byte(`:"r`), []byte(`:"x`), 1), []byte(`:"s`), []byte(`:"x`), 1)
	}
	a, _ := r.fold(both.list)
	b, _ := r.fold(one)
	got, err := Compare(a, b)
	if err != nil || len(got) != 2 || got[0].Part != PartSettled || got[0].Count != 2 || got[1].Part != PartIDs || got[1].Count != 4 {
		t.Errorf("%v %+v", err, got)
	}
}

// turned is a turn that somebody else has.
func turned(key, value []byte) []byte {
	if key[0] != 'R' || value[0] != 2 {
		return nil
	}
	x, n := binary.Varint(value[1:])
	y, m := binary.Varint(value[1+n:])
	next := binary.AppendVarint([]byte{2}, x+1)
	return append(binary.AppendVarint(next, y-1), value[1+n+m:]...)
}

// TestTheLogTimeIsAPart, and equal states differ in nothing.
func TestTheLogTimeIsAPart(t *testing.T) {
	r := newRig(t)
	list := r.everything()
	a, _ := r.fold(list)
	b, _ := r.fold(list)
	if got, err := Compare(a, b); err != nil || got != nil {
		t.Fatalf("%v %+v", err, got)
	}
	later, _ := r.fold(append(slices.Clip(list), events.Message{Subject: "quota.due", Data: []byte("{}"), Seq: uint64(len(list) + 1), Time: list[len(list)-1].Time + 1}))
	got, err := Compare(a, later)
	if err != nil || len(got) == 0 || got[0].Part != PartTime || got[0].Count != 1 {
		t.Fatalf("%v %+v", err, got)
	}
}

// TestAnEncodingThatEndsEarly is an error, and no difference.
func TestAnEncodingThatEndsEarly(t *testing.T) {
	r := newRig(t)
	s, _ := r.fold(r.everything())
	var all bytes.Buffer
	r.must(s.Canonical(&all))
	n := 0
	for cut := range all.Len() {
		d := decoder{r: bufio.NewReader(bytes.NewReader(all.Bytes()[:cut])), yield: func(item, error) bool { n++; return true }}
		if d.all(); d.err == nil && d.part != len(digestParts)-1 {
			t.Fatalf("cut at %d of %d: no error", cut, all.Len())
		}
	}
	if n == 0 {
		t.Error("nothing was read")
	}
}

// TestASnapshotTakesOverWhereTheLogLacksMessages: what is before it nobody can say.
func TestASnapshotTakesOverWhereTheLogLacksMessages(t *testing.T) {
	r := newRig(t)
	list := r.everything()
	end := uint64(len(list))
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	for _, at := range []int{10, 20} {
		r.snapshot(dir, list[:at])
	}
	s, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	r.must(s.DeleteMsg(t.Context(), 4))
	live := &LiveDigest{Seq: end, Digest: r.digest(list)}
	d := r.digests(DigestOptions{Options: Options{Start: starts.Local{Dir: dir}}, Live: live, At: []uint64{5}})
	if d.Began != 10 || d.Diverged != nil || len(d.Points) != 4 {
		t.Fatalf("%+v", d)
	}
	want := fmt.Sprintf("[5  equal 10 snapshot unknown 20 snapshot equal %d live equal]", end)
	if got := fmt.Sprint(results(d)); got != want || !d.Proves() {
		t.Errorf("%s, proves %v, want %s", got, d.Proves(), want)
	}
	for i, lacks := range []uint64{4, 4, 0, 0} {
		if p := &d.Points[i]; p.Missing.First != lacks || p.Proved() != (lacks == 0) {
			t.Errorf("at %d: %+v", p.Seq, p.Missing)
		}
	}
	alone := r.digests(DigestOptions{Live: live})
	if p := &alone.Points[0]; !p.Unknown() || alone.Diverged != nil || alone.Proves() {
		t.Errorf("without snapshots: %+v %+v", p, alone.Diverged)
	}
}

// TestASnapshotIsNotHeldToItself where the log lacks messages: one that is wrong is
// believed, which is said, and nothing is blamed on what comes after it alone.
func TestASnapshotIsNotHeldToItself(t *testing.T) {
	r := newRig(t)
	list := r.everything()
	end := uint64(len(list))
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	r.keep(dir, r.altered(list[:20], 5, firstRecord))
	s, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	r.must(s.DeleteMsg(t.Context(), 4))
	o := DigestOptions{Options: Options{Start: starts.Local{Dir: dir}}}
	if d := r.digests(o); fmt.Sprint(results(d)) != fmt.Sprintf("[20 snapshot unknown %d  equal]", end) || d.Proves() || d.Points[0].Missing.Count != 1 {
		t.Errorf("%v, proves %v: %+v", results(d), d.Proves(), d.Points)
	}
	o.Live = &LiveDigest{Seq: end, Digest: r.digest(list)}
	d := r.digests(o)
	if x := d.Diverged; x == nil || x.From != 21 || !x.Believed || !d.Proves() {
		t.Errorf("%v: %+v", results(d), x)
	}
	r.snapshot(dir, list[:40]) // as it should be
	if x := r.digests(o).Diverged; x == nil || x.Of != OfSnapshot || x.From != 21 || x.To != 40 || !x.Believed {
		t.Errorf("with another one: %+v", x)
	}
	// What differs after one that is equal is between them.
	r.keep(dir, r.altered(list[:30], 5, firstRecord))
	r.keep(dir, r.altered(list[:40], 5, firstRecord))
	if x := r.digests(o).Diverged; x == nil || x.Of != OfLive || x.From != 41 || x.Believed {
		t.Errorf("after equal ones: %+v", x)
	}
}

// TestWhatProvesSomething: an engine that was asked must be known to be equal, or not;
// else some snapshot.
func TestWhatProvesSomething(t *testing.T) {
	lost, other := Missing{Count: 1, First: 2, Last: 2}, projector.Digest{1}
	for i, c := range []struct {
		points []Point
		want   bool
	}{
		{nil, true},
		{[]Point{{}}, true},
		{[]Point{{Missing: lost}}, false},
		{[]Point{{Missing: lost}, {Of: OfSnapshot}}, true},
		{[]Point{{Of: OfSnapshot, Missing: lost}}, true}, // equal all the same
		{[]Point{{Of: OfSnapshot, Missing: lost, Want: other}}, false},
		{[]Point{{Of: OfSnapshot, Missing: lost, Want: other}, {}}, false},
		{[]Point{{Of: OfSnapshot, Missing: lost, Want: other}, {Of: OfSnapshot}}, true},
		{[]Point{{Of: OfSnapshot, Want: other}}, true},
		{[]Point{{Of: OfSnapshot}, {Of: OfLive, Missing: lost, Want: other}}, false},
		{[]Point{{Of: OfSnapshot, Damage: snapshots.ErrDamaged}, {Missing: lost}}, false},
	} {
		if d := (&Digests{Points: c.points}); d.Proves() != c.want {
			t.Errorf("%d: %v", i, d.Proves())
		}
	}
}
