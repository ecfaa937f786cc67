package projector_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/saturation"
)

// collect runs a whole collection of everything that reads 0, however young.
func collect(s *projector.State) *projector.Collection {
	c := &projector.Collection{Counters: math.MaxInt64, Models: math.MaxInt64}
	for !s.Collect(c) {
	}
	return c
}

// TestACollectionChangesNothing: at any moment, before and after restarts, and for
// what comes late, a state that collects all it may gives the answers and the digest
// of one that collects nothing.
func TestACollectionChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := histories(40).Draw(t, "log")
		kept := projector.NewState(memstore.New())
		store := memstore.New()
		s := load(t, store)
		for _, m := range log {
			fold(t, kept, []events.Message{m}, 1)
			fold(t, s, []events.Message{m}, 1)
			switch rapid.IntRange(0, 5).Draw(t, "then") {
			case 0:
				collect(s)
			case 1:
				cut(t, s, store)
				collect(s)
			case 2: // what was dropped is dropped from the store too
				collect(s)
				cut(t, s, store)
				s = load(t, store)
			case 3: // a crash: it was not
				cut(t, s, store)
				collect(s)
				s = load(t, store)
			}
			_, now := kept.At()
			sameAnswers(t, kept, s, now+rapid.Int64Range(0, 1<<32).Draw(t, "later"))
		}
		want, got := plain(t, log), finish(t, s, store)
		// An event that the dropped one would have refused is not late to a new one.
		want.Counts.Late, got.Counts.Late = 0, 0
		same(t, want, got, "collecting")
	})
}

// sameAnswers asks both everything that can be asked.
func sameAnswers(t *rapid.T, a, b *projector.State, at int64) {
	var qs []questions.Question
	for _, key := range []string{"alice", "bob", "a:b", "*"} {
		for _, conn := range []string{"c1", "c2", "c3"} {
			for _, model := range []string{"", "gpt"} {
				qs = append(qs, questions.Question{APIKeyID: key, ConnectionID: conn, Model: model, Explain: true})
			}
		}
	}
	ask := func(s *projector.State) (said []string) {
		asked := make([]projector.Asked, len(qs))
		s.Gather(qs, at, asked)
		for i := range asked {
			d := asked[i].Facts.Decide(asked[i].Now)
			said = append(said, fmt.Sprintf("%+v %+v", d, asked[i].Facts.Explain(0, asked[i].Now, nil)))
		}
		return said
	}
	if d := cmp.Diff(ask(a), ask(b)); d != "" {
		t.Fatalf("answers at %d (-kept +collected):\n%s", at, d)
	}
}

// idleWorld is a state with so many keys on one connection, each of which used it
// once, at start.
func idleWorld(t fataler, store projector.Store, keys int) *projector.State {
	s := load(t, store)
	var log []events.Message
	for i := range keys {
		log = append(log, usageOf(uint64(i+1), start, fmt.Sprintf("k%d", i)))
	}
	fold(t, s, log, 100)
	cut(t, s, store)
	return s
}

func usageOf(seq uint64, at int64, key string) events.Message {
	return events.Message{Subject: "quota.consumption", Seq: seq, Time: at, Data: fmt.Appendf(nil, `{"apiKeyId":%q,"connectionId":"c","model":"m"}`, key)}
}

// pass lets log time pass by an event of another connection.
func pass(t fataler, s *projector.State, to int64) {
	seq, _ := s.At()
	fold(t, s, []events.Message{{Subject: "quota.consumption", Seq: seq + 1, Time: to, Data: []byte(`{"apiKeyId":"clock","connectionId":"d"}`)}}, 1)
}

func records(t fataler, store projector.Reader, tag byte) (n int) {
	must(t, store.Scan([]byte{tag}, []byte{tag + 1}, func(_, _ []byte) error { n++; return nil }))
	return n
}

// TestWhatACollectionDrops goes by the ages, each of which counts to the millisecond,
// and by what the counters read.
func TestWhatACollectionDrops(t *testing.T) {
	const months = 60 * day
	for _, c := range []struct {
		name             string
		after            int64 // log time at the collection, since the use
		counters, models int64 // ages
		left, leftModels int   // of one key and the total, and of the key's model
	}{
		{"nothing is old", 1, 60 * day, 14 * day, 2, 1},
		{"the model is as old as it may be", 14 * day, 60 * day, 14 * day, 2, 1},
		{"and a millisecond older", 14*day + 1, 60 * day, 14 * day, 2, 0},
		{"all are", months + 30*day, 60 * day, 14 * day, 0, 0},
		{"one would be, but keeps its age", months + 30*day, months + 30*day, 14 * day, 2, 0},
		{"one would be, but weighs", 31 * day, 30 * day, 14 * day, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := memstore.New()
			s := idleWorld(t, store, 1)
			now := start + c.after
			pass(t, s, now)
			g := &projector.Collection{Counters: now - c.counters, Models: now - c.models}
			for !s.Collect(g) {
			}
			cut(t, s, store)
			// Of the clock there are two more.
			if left, models := records(t, store, 'c')-2, records(t, store, 'm'); left != c.left || models != c.leftModels {
				t.Errorf("%d counters and %d of models are left, want %d and %d", left, models, c.left, c.leftModels)
			}
			if gone := 3 - c.left - c.leftModels; g.Dropped != gone {
				t.Errorf("%d were dropped, it says, want %d", g.Dropped, gone)
			}
		})
	}
}

// TestPlacesAreUsedAgain: memory follows those who are there, not those who were.
func TestPlacesAreUsedAgain(t *testing.T) {
	const keys = 5_000
	store := memstore.New()
	s := idleWorld(t, store, keys)
	full := s.Sizes()
	pass(t, s, start+91*day)
	if c := collect(s); c.Dropped != 2*keys+1 || c.Pairs != 2*keys {
		t.Errorf("%+v, want the counters of %d keys and of their total", c, keys)
	}
	empty := s.Sizes()
	if empty.Chunks > 6 || empty.Indexed != 3 {
		t.Errorf("%+v after the collection, %+v before", empty, full)
	}
	for i := range keys {
		seq, now := s.At()
		fold(t, s, []events.Message{usageOf(seq+1, now, fmt.Sprintf("other%d", i))}, 1)
	}
	if again := s.Sizes(); again.Places > full.Places+4 || again.Chunks > full.Chunks+3 {
		t.Errorf("%+v with as many others, %+v before", again, full)
	}
	if got := len(s.KeysOf("c")); got != keys {
		t.Errorf("%d keys on the connection, want %d", got, keys)
	}
}

// TestTheIndexGetsSmaller when more than half of it is gone, of the most that it had since
// it was made; before that it would be copied for nothing.
func TestTheIndexGetsSmaller(t *testing.T) {
	const keys = 1_000
	store := memstore.New()
	s := idleWorld(t, store, keys)
	now := int64(start)
	// later drops what is idle of all but so many keys, and returns what is left.
	later := func(used int) projector.Sizes {
		now += 91 * day
		for i := range used {
			seq, _ := s.At()
			fold(t, s, []events.Message{usageOf(seq+1, now, fmt.Sprintf("k%d", i))}, 1)
		}
		pass(t, s, now)
		cut(t, s, store)
		collect(s)
		if got := len(s.KeysOf("c")); got != used {
			t.Errorf("%d keys on the connection, want %d", got, used)
		}
		return s.Sizes()
	}
	all := s.Sizes().Indexed
	for _, c := range []struct{ used, room int }{{keys, all + 2}, {600, all + 2}, {100, 0}, {300, 0}, {160, -1}} {
		x := later(c.used)
		switch {
		case c.room > 0 && x.Room != c.room:
			t.Errorf("of %d keys: %+v, want room for %d", c.used, x, c.room)
		case c.room == 0 && x.Room != x.Indexed: // made anew, or grown since
			t.Errorf("of %d keys: %+v, want room for those", c.used, x)
		case c.room < 0 && x.Room <= x.Indexed:
			t.Errorf("of %d keys: %+v, want the room of more", c.used, x)
		}
	}
}

// TestAChainLosesItsMiddle: those before and behind it stay, whichever goes.
func TestAChainLosesItsMiddle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := memstore.New()
		s := load(t, store)
		want := map[string]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			seq, now := s.At()
			now = max(now, start)
			if rapid.IntRange(0, 5).Draw(t, "gap") == 0 {
				now += 91 * day
				pass(t, s, now)
				collect(s)
				clear(want)
				seq++
			}
			key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "key")
			ago := rapid.SampledFrom([]int64{0, 0, 100 * day}).Draw(t, "ago")
			m := usageOf(seq+1, now, key)
			m.Data = fmt.Appendf(nil, `{"apiKeyId":%q,"connectionId":"c","time":%d}`, key, now-ago)
			fold(t, s, []events.Message{m}, 1)
			cut(t, s, store)
			if ago == 0 {
				want[key] = true
			}
			collect(s)
			var keys []string
			for _, k := range []string{"a", "b", "c", "d", "e"} {
				if want[k] {
					keys = append(keys, k)
				}
			}
			if d := cmp.Diff(keys, s.KeysOf("c")); d != "" {
				t.Fatal(d)
			}
		}
	})
}

// TestNothingIsDroppedUnderAList: whoever goes along the keys finds them all.
func TestNothingIsDroppedUnderAList(t *testing.T) {
	s := idleWorld(t, memstore.New(), 3_000)
	pass(t, s, start+91*day)
	c := &projector.Collection{Counters: math.MaxInt64, Models: math.MaxInt64}
	l := s.BeginKeys()
	for range 10 {
		if s.Collect(c) {
			t.Fatal("it is done while somebody lists the keys")
		}
	}
	if c.Dropped != 0 {
		t.Errorf("%d dropped", c.Dropped)
	}
	if got := len(l.End()); got != 3_001 {
		t.Errorf("%d keys are listed, want 3001", got)
	}
	for !s.Collect(c) {
	}
	if got := s.Keys(); len(got) != 1 || got[0].ID != "clock" {
		t.Errorf("after it: %v", got)
	}
}

// tooOld reports whether a question about a time cannot be answered.
func tooOld(s *projector.State, at int64) bool {
	var a [1]projector.Asked
	s.Gather([]questions.Question{{APIKeyID: "k", ConnectionID: "c", At: at}}, 0, a[:])
	return a[0].HeldLater || a[0].Facts.Later(at)
}

// TestAQuestionAboutWhatIsGone cannot be answered, also after a restart; one about
// later can.
func TestAQuestionAboutWhatIsGone(t *testing.T) {
	store := memstore.New()
	s := load(t, store)
	fold(t, s, []events.Message{
		{Subject: "quota.config.pool.p", Seq: 1, Time: start, Header: map[string][]string{"Quota-Config": {"put"}}, Data: []byte(`{"id":"p","name":"P","provider":"kimi","connectionIds":["c"]}`)},
		usageOf(2, start, "k"),
	}, 1)
	cut(t, s, store)
	pass(t, s, start+91*day)
	gone := (start/quota.Monthly.Millis() + 2) * quota.Monthly.Millis()
	if tooOld(s, start) {
		t.Error("nothing is collected yet")
	}
	collect(s)
	for range 2 {
		if !tooOld(s, gone-1) || tooOld(s, gone) {
			t.Errorf("before %d it cannot be answered: %v, and then %v", gone, tooOld(s, gone-1), tooOld(s, gone))
		}
		cut(t, s, store)
		s = load(t, store)
	}
}

// TestCorrectionsThatCancel: a total of nothing goes, and what a key used on its
// connection still counts, also after a restart.
func TestCorrectionsThatCancel(t *testing.T) {
	store := memstore.New()
	s := load(t, store)
	use := func(subject, key string, tokens int) events.Message {
		seq, _ := s.At()
		return events.Message{Subject: subject, Seq: seq + 1, Time: start, Data: fmt.Appendf(nil,
			`{"apiKeyId":%q,"connectionId":"c","cost":{"requests":0,"tokens":%d},"reason":"r"}`, key, tokens)}
	}
	fold(t, s, []events.Message{use("quota.consumption", "a", 5)}, 1)
	fold(t, s, []events.Message{use("quota.adjustment", "b", -5)}, 1)
	for range 2 {
		cut(t, s, store)
		collect(s)
		if got := s.Counter("c", "a", "", quota.Tokens, quota.Daily).Curr; got != 5_000 {
			t.Errorf("a used %d", got)
		}
		if !s.HasTotal("c") {
			t.Error("nobody used the connection, it says")
		}
		cut(t, s, store)
		s = load(t, store)
	}
}

// TestLoopCollects: between its runs, and not once it has ended.
func TestLoopCollects(t *testing.T) {
	store := &slowStore{Store: memstore.New()}
	s := idleWorld(t, store, 1_000)
	pass(t, s, start+91*day)
	cut(t, s, store)
	must(t, looped(t, store, func(t *testing.T, l *projector.Loop, s *projector.State, _ script) {
		list := s.BeginKeys()
		time.AfterFunc(time.Second, func() { list.End() })
		dropped, pairs, err := l.Collect(t.Context(), start+1, start+1)
		if dropped != 2_001 || pairs != 2_000 || err != nil {
			t.Errorf("%d records, %d pairs, %v", dropped, pairs, err)
		}
	}))
	if n := records(t, store, 'c') + records(t, store, 'm'); n != 2 {
		t.Errorf("%d records are left, want those of the clock", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := projector.NewLoop(s, store, make(script))
	must(t, ended.Run(ctx))
	if _, _, err := ended.Collect(t.Context(), 0, 0); !errors.Is(err, projector.ErrEnded) {
		t.Errorf("of a loop that has ended: %v", err)
	}
}

// TestWhatIsNotOver: a counter of a bucket to come stays though it is 0, as it
// refuses what an empty one would take in.
func TestWhatIsNotOver(t *testing.T) {
	edge := start/3_600_000*3_600_000 + 3_570_000 // what is 60 s ahead is in the next hour
	use := func(subject string, at int64, tokens int) events.Message {
		return events.Message{Subject: subject, Seq: 1, Time: edge, Data: fmt.Appendf(nil,
			`{"apiKeyId":"a","connectionId":"c","time":%d,"cost":{"requests":0,"tokens":%d},"reason":"r"}`, at, tokens)}
	}
	log := []events.Message{use("quota.consumption", edge+60_000, 5), use("quota.adjustment", edge+60_000, -5)}
	store := memstore.New()
	s := load(t, store)
	fold(t, s, log, 1)
	cut(t, s, store)
	if c := collect(s); c.Dropped != 0 {
		t.Errorf("%d dropped", c.Dropped)
	}
}

// TestABucketThatIsOverRefusesNothing: five are more than a bucket can hold; where it
// weighs no more the fifth is only late, as if the four had been collected.
func TestABucketThatIsOverRefusesNothing(t *testing.T) {
	for _, c := range []struct {
		ago            int64
		late, rejected uint64
	}{{30 * day, 0, 1}, {60 * day, 1, 0}} {
		s := load(t, memstore.New())
		for seq := range 5 {
			fold(t, s, []events.Message{usageAt(uint64(seq+1), start+c.ago, fmt.Sprintf(`,"time":%d,"cost":{"percent":1e12}`, start))}, 1)
		}
		if got := s.Counts(); got.Late != c.late || got.Rejected != c.rejected {
			t.Errorf("%d days later: %d late, %d rejected", c.ago/day, got.Late, got.Rejected)
		}
	}
}

// TestOldHistoryIsDropped: of whole days, at the instant after their last.
func TestOldHistoryIsDropped(t *testing.T) {
	store := memstore.New()
	s := load(t, store)
	midnight := start / day * day
	for i := range 4 {
		fold(t, s, []events.Message{usageAt(uint64(i+1), midnight+int64(i+1)*day-1, "")}, 1)
	}
	cut(t, s, store)
	rows := func() int { return records(t, store, 'h') / 2 } // the key's and the total's
	for _, c := range []struct {
		before int64
		left   int
	}{{-1, 4}, {midnight + day - 1, 4}, {midnight + day, 3}, {midnight + 3*day, 1}} {
		s.DropHistory(c.before)
		cut(t, s, store)
		if got := rows(); got != c.left {
			t.Errorf("rows of %d days are left of those before %d, want %d", got, c.before, c.left)
		}
	}
	fold(t, s, []events.Message{usageAt(5, midnight+4*day, fmt.Sprintf(`,"time":%d`, midnight))}, 1)
	for range 2 {
		cut(t, s, store)
	}
	if got := rows(); got != 2 {
		t.Errorf("rows of %d days, with one that came late, want 2", got)
	}
	must(t, looped(t, &slowStore{Store: store}, func(t *testing.T, l *projector.Loop, _ *projector.State, _ script) {
		must(t, l.DropHistory(t.Context(), midnight+4*day))
		if got := rows(); got != 0 {
			t.Errorf("rows of %d days, when the loop has dropped all", got)
		}
	}))
}

// TestASilentProviderIsForgotten with what keys used of its window, at the first
// message of a day of log time; what it says then is the first again.
func TestASilentProviderIsForgotten(t *testing.T) {
	midnight := (start/day + 1) * day
	for _, c := range []struct {
		at        int64 // of the message that follows a reading at midnight
		forgotten bool
	}{
		{midnight + 61*day - 1, false}, // a millisecond younger
		{midnight + 61*day, true},
	} {
		store := memstore.New()
		s := load(t, store)
		fold(t, s, []events.Message{says5h(1, midnight, 7, 0), usageAt(2, midnight, "")}, 1)
		cut(t, s, store)
		if n := records(t, store, 'M') + records(t, store, 'K'); n != 2 {
			t.Fatalf("%d records of a meter with a row", n)
		}
		fold(t, s, []events.Message{usageAt(3, c.at, "")}, 1)
		cut(t, s, store)
		want := 2
		if c.forgotten {
			want = 0
		}
		if n := records(t, store, 'M') + records(t, store, 'K'); n != want || len(s.Meters()) != want/2 {
			t.Errorf("%d ms later there are %d records and %d meters", c.at-midnight, n, len(s.Meters()))
		}
		if s.HasMeters("c") == c.forgotten {
			t.Error("it is otherwise after a restart")
		}
		if got := len(s.Signals(0)); got != want/2 {
			t.Errorf("%d signals are shown", got)
		}
		fold(t, s, []events.Message{says5h(4, c.at, 9, 0), usageAt(5, c.at, "")}, 1)
		again := finish(t, s, store)
		if got := s.Counts().ByOutcome[saturation.First]; (got == 2) != c.forgotten {
			t.Errorf("%d readings were the first", got)
		}
		if d, err := load(t, store).Digest(); err != nil || d != again.Digest {
			t.Errorf("after a restart the digest is %x, %v, want %x", d, err, again.Digest)
		}
	}
	// In the middle of a day nothing is forgotten: a replay would have to know the instant.
	s := load(t, memstore.New())
	fold(t, s, []events.Message{says5h(1, midnight+1, 7, 0), usageAt(2, midnight+61*day, ""), usageAt(3, midnight+62*day-1, "")}, 1)
	if len(s.Meters()) != 1 {
		t.Error("it is forgotten in the middle of a day")
	}
}
