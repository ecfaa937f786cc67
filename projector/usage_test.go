package projector_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	view "github.com/quotashare/quotashare/usage"
)

// scene is a state that is told events one by one, all at the same instant.
type scene struct {
	testing.TB
	*projector.State
	store projector.Store
	seq   uint64
	now   int64
}

func newScene(t testing.TB) *scene {
	store := memstore.New()
	return &scene{TB: t, State: projector.NewState(store), store: store, now: start}
}

func (s *scene) publish(subject, body string) {
	s.Helper()
	s.seq++
	m := events.Message{Subject: subject, Seq: s.seq, Time: s.now, Data: []byte(body)}
	if strings.HasPrefix(subject, "quota.config.") {
		m.Header = map[string][]string{"Quota-Config": {"put"}}
	}
	if body == "" {
		m.Header = map[string][]string{"Quota-Config": {"delete"}}
	}
	var r projector.Run
	r.Add(m)
	if err := s.Apply(&r); err != nil {
		s.Fatal(err)
	}
	if n := s.Counts().Rejected; n > 0 {
		s.Fatalf("%s is rejected: %.200s", subject, body)
	}
}

// pool puts pool p; rest is what follows its connections.
func (s *scene) pool(connectionIDs, rest string) {
	s.Helper()
	s.publish("quota.config.pool.p", fmt.Sprintf(`{"id":"p","name":"P","provider":"custom","connectionIds":[%s]%s}`, connectionIDs, rest))
}

// plan puts the plan of a connection with one dimension.
func (s *scene) plan(connectionID, unit, window, limit string) {
	s.Helper()
	s.publish("quota.config.plan."+connectionID, fmt.Sprintf(
		`{"connectionId":%q,"dimensions":[{"unit":%q,"window":%q,"limit":%s}]}`, connectionID, unit, window, limit))
}

func (s *scene) use(key, connectionID, cost string) {
	s.Helper()
	s.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":%q,"cost":{%s}}`, key, connectionID, cost))
}

func (s *scene) usage() *view.Snapshot {
	s.Helper()
	u, ok := s.Usage("p", s.now)
	if !ok {
		s.Fatal("there is no pool p")
	}
	return u
}

// describe tells the pool's only dimension and its rows in short.
func describe(u *view.Snapshot) (lines []string) {
	d := &u.Dimensions[0]
	used, _ := d.UsedPercent()
	lines = append(lines, fmt.Sprintf("limit %s, total %s, %s %%, %s, unlisted %s",
		d.Limit.Format(d.Unit), d.ConsumedTotal.Format(d.Unit), used.Format(3), d.Mode, d.Unlisted.Format(d.Unit)))
	for i, k := range u.Keys {
		x := d.Uses[i]
		line := fmt.Sprintf("%s as %q: used %s", k.ID, k.Allocation, x.Consumed.Format(d.Unit))
		if x.HasFairShare {
			line += fmt.Sprintf(", share %s, deficit %s, borrowing %v", x.FairShare.Format(d.Unit), x.Deficit.Format(d.Unit), x.Borrowing)
		}
		if x.HasRemaining {
			line += ", remaining " + x.Remaining.Format(d.Unit)
		}
		lines = append(lines, line+", "+k.Reason)
	}
	return lines
}

func (s *scene) shows(want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, describe(s.usage())); diff != "" {
		s.Errorf("-want +got:\n%s", diff)
	}
}

func TestUsageOfManyConnections(t *testing.T) {
	s, list := newScene(t), ""
	for i := range 27 {
		id := fmt.Sprintf("c%02d", i)
		list += fmt.Sprintf("%q,", id)
		s.plan(id, "usd", "daily", "66.67")
	}
	s.pool(list[:len(list)-1], `,"allocations":[{"apiKeyId":"a","weight":100}]`)
	s.use("a", "c00", `"usd":50`)
	s.use("a", "c26", `"usd":4.09`)
	s.shows(
		"limit 1800.09, total 54.09, 3.004849 %, generous, unlisted 0",
		`a as "a": used 54.09, share 1800.09, deficit -1746, borrowing false, remaining 1746, ok`)
	var got []string
	for _, c := range s.usage().Dimensions[0].Connections {
		if c.ConsumedTotal > 0 {
			got = append(got, fmt.Sprintf("%s %s of %s", c.ID, c.ConsumedTotal.Format(2), c.Limit.Format(2)))
		}
	}
	if diff := cmp.Diff([]string{"c00 50 of 66.67", "c26 4.09 of 66.67"}, got); diff != "" {
		t.Errorf("connections: -want +got:\n%s", diff)
	}
}

func TestUsageSplitsZeroWeights(t *testing.T) {
	s := newScene(t)
	s.plan("c1", "requests", "daily", "1000")
	s.pool(`"c1"`, `,"allocations":[{"apiKeyId":"a","weight":0},{"apiKeyId":"b","weight":0}]`)
	s.use("a", "c1", `"requests":100`)
	s.shows(
		"limit 1000, total 100, 10 %, generous, unlisted 0",
		`a as "a": used 100, share 500, deficit -400, borrowing false, remaining 900, ok`,
		`b as "b": used 0, share 500, deficit -500, borrowing false, remaining 900, ok`)
}

// A plan on the first connection is the pool's; what is served by another counts.
func TestUsageServedByAConnectionWithoutPlan(t *testing.T) {
	s := newScene(t)
	s.plan("c1", "tokens", "hourly", "1000")
	s.pool(`"c1","c2"`, `,"allocations":[{"apiKeyId":"a","weight":50}]`)
	s.use("a", "c2", `"tokens":1100`)
	s.shows(
		"limit 2000, total 1100, 55 %, strict, unlisted 0",
		`a as "a": used 1100, share 1000, deficit 100, borrowing true, remaining 0, fair-share`)
	if k := s.usage().Keys[0]; k.Allow || k.RetryAt <= 0 {
		t.Errorf("the block has no retry: %+v", k)
	}
}

func TestUsageFloorsShares(t *testing.T) {
	s := newScene(t)
	s.plan("c1", "percent", "5h", "100")
	s.pool(`"c1"`, `,"allocations":[{"apiKeyId":"a","weight":60},{"apiKeyId":"b","weight":80}]`)
	s.shows(
		"limit 100, total 0, 0 %, generous, unlisted 0",
		`a as "a": used 0, share 42.857142, deficit -42.857142, borrowing false, remaining 100, ok`,
		`b as "b": used 0, share 57.142857, deficit -57.142857, borrowing false, remaining 100, ok`)
	uses := s.usage().Dimensions[0].Uses
	if sum := uses[0].FairShare + uses[1].FairShare; sum > 100e6 {
		t.Errorf("the shares sum to %d", sum)
	}
}

// A pool that is put later, changed or without any allocation sees what was used,
// and nothing that is changed resets it.
func TestUsageStaysWhateverChanges(t *testing.T) {
	s := newScene(t)
	s.use("a", "c1", `"tokens":160`)
	s.plan("c1", "tokens", "hourly", "1000")
	s.pool(`"c1"`, "")
	const row = `a as "": used 160`
	s.shows("limit 1000, total 160, 16 %, generous, unlisted 160", row+", remaining 840, no-allocation")
	s.plan("c1", "tokens", "hourly", "100")
	s.shows("limit 100, total 160, 160 %, strict, unlisted 160", row+", remaining 0, global-saturated")
	s.plan("c1", "tokens", "hourly", "0")
	s.shows("limit 0, total 160, 0 %, generous, unlisted 160", row+", no-allocation")
	s.pool(`"c1"`, `,"allocations":[{"apiKeyId":"a","weight":10,"policy":"burst"}]`)
	s.shows("limit 0, total 160, 0 %, generous, unlisted 0", `a as "a": used 160, ok`)
}

func TestUnlistedKeysShareOneShare(t *testing.T) {
	s := newScene(t)
	s.plan("c1", "requests", "hourly", "200")
	s.pool(`"c1","c2"`, `,"allocations":[{"apiKeyId":"*","weight":10},{"apiKeyId":"a","weight":90}]`)
	s.use("a", "c1", `"requests":160`)
	s.use("x", "c1", `"requests":10`)
	s.use("x", "c2", `"requests":10`)
	s.use("z", "c1", `"requests":15`)
	s.use("y", "c2", `"requests":15`)
	s.shows(
		"limit 400, total 210, 52.5 %, strict, unlisted 50",
		`* as "*": used 50, share 40, deficit 10, borrowing true, remaining 0, fair-share`,
		`a as "a": used 160, share 360, deficit -200, borrowing false, remaining 190, ok`,
		`x as "*": used 20, remaining 0, fair-share`,
		`y as "*": used 15, remaining 0, fair-share`,
		`z as "*": used 15, remaining 0, fair-share`)
}

// An event may name a key as the allocation for all others is named. It is one of
// them, and the row of all of them is no other one's.
func TestAKeyNamedAsAllOthers(t *testing.T) {
	s := newScene(t)
	s.plan("c1", "requests", "hourly", "0")
	s.pool(`"c1"`, "")
	s.use("*", "c1", `"requests":3`)
	s.use("x", "c1", `"requests":1`)
	const others = `x as "*": used 1, ok`
	s.shows("limit 0, total 4, 0 %, generous, unlisted 4", `* as "": used 3, no-allocation`, `x as "": used 1, no-allocation`)
	s.pool(`"c1"`, `,"allocations":[{"apiKeyId":"*","weight":10}]`)
	s.shows("limit 0, total 4, 0 %, generous, unlisted 4", `* as "*": used 4, ok`, others)
	if n := s.usage().Unlisted; n != 2 {
		t.Errorf("%d keys share the row, want 2", n)
	}
	if got := describe(s.UsageChosen("p", s.now, "*", "x")); len(got) != 3 || got[2] != others {
		t.Errorf("chosen before there was that allocation: %q", got)
	}
	var list []byte
	for i := range view.MaxUnlisted {
		list = fmt.Appendf(list, `,{"apiKeyId":"y%d","connectionId":"c1"}`, i)
	}
	s.publish("quota.consumption", "["+string(list[1:])+"]")
	if n := len(s.usage().Keys); n != 1+view.MaxUnlisted {
		t.Errorf("%d rows, want that of all others and %d", n, view.MaxUnlisted)
	}
}

// More unlisted keys than are shown: the most used are, and all are counted. The
// keys of one connection alone are more than are looked at under one lock.
func TestUsageShowsTheMostUsedUnlisted(t *testing.T) {
	const keys = 5000
	s := newScene(t)
	s.pool(`"c1","c2"`, `,"allocations":[{"apiKeyId":"k0001","weight":10}]`)
	var body []byte
	for i := keys - 1; i >= 0; i-- {
		body = fmt.Appendf(body, `,{"apiKeyId":"k%04d","connectionId":"c1","cost":{"requests":%d,"tokens":%d}}`, i, 1+i%2, i%7)
		if i%1000 == 0 {
			s.publish("quota.consumption", "["+string(body[1:])+"]")
			body = body[:0]
		}
	}
	s.use("k4444", "c2", `"requests":2,"tokens":7`)
	s.firstAndLast("k0001 k4444 k0003 k0005 k0007", "k0199") // no plan: by requests
	s.plan("c1", "tokens", "daily", "0")
	s.firstAndLast("k0001 k4444 k0006 k0013 k0020", "k0692")
	if u := s.usage(); u.Unlisted != keys-1 {
		t.Errorf("%d unlisted, want %d", u.Unlisted, keys-1)
	}
}

// firstAndLast checks rows of a pool that has one allocation and too many keys.
func (s *scene) firstAndLast(first, last string) {
	s.Helper()
	rows := s.usage().Keys
	if len(rows) != 1+view.MaxUnlisted {
		s.Fatalf("%d rows", len(rows))
	}
	var got []string
	for _, k := range rows[:5] {
		got = append(got, k.ID)
	}
	if text := strings.Join(got, " "); text != first || rows[view.MaxUnlisted].ID != last {
		s.Errorf("the first rows are %s, the last is %s; want %s and %s", text, rows[view.MaxUnlisted].ID, first, last)
	}
}

// What is shown is of one state, and the keys were chosen of one before it: since
// then one has got an allocation and another has used more.
func TestUsageOfKeysChosenBefore(t *testing.T) {
	s := newScene(t)
	s.plan("c1", "requests", "hourly", "0")
	s.pool(`"c1"`, `,"allocations":[{"apiKeyId":"a","weight":10}]`)
	s.use("a", "c1", `"requests":9`)
	s.use("x", "c1", `"requests":1`)
	s.use("y", "c1", `"requests":2`)
	s.use("z", "c1", `"requests":2`)
	got := describe(s.UsageChosen("p", s.now, "z", "x", "a", "y"))[1:]
	want := []string{
		`a as "a": used 9, ok`, `y as "": used 2, no-allocation`, `z as "": used 2, no-allocation`, `x as "": used 1, no-allocation`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUsageShowsWhoIsDeprioritized(t *testing.T) {
	s := newScene(t)
	s.plan("c1", "requests", "hourly", "10")
	s.pool(`"c1"`, `,"allocations":[{"apiKeyId":"a","weight":10,"policy":"soft"},{"apiKeyId":"b","weight":90,"policy":"soft"}]`)
	s.use("a", "c1", `"requests":6`)
	if k := s.usage().Keys; !k[0].Deprioritize || k[1].Deprioritize || !k[0].Allow {
		t.Errorf("got %+v", k)
	}
}

// Whatever is folded meanwhile, the rows of a snapshot sum to its total.
func TestUsageIsOfOneStateWhileMoreIsFolded(t *testing.T) {
	s := newScene(t)
	s.plan("c1", "requests", "daily", "1")
	s.pool(`"c1","c2"`, `,"allocations":[{"apiKeyId":"a","weight":10},{"apiKeyId":"b","weight":10}]`)
	folded, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for over := false; !over; {
			select {
			case <-folded:
				over = true // after one more
			default:
			}
			u, _ := s.Usage("p", start)
			d := &u.Dimensions[0]
			if sum := d.Uses[0].Consumed + d.Uses[1].Consumed; sum != d.ConsumedTotal {
				t.Errorf("the rows sum to %d, the total is %d", sum, d.ConsumedTotal)
			}
		}
	}()
	for i := range 500 {
		s.use("ab"[i%2:i%2+1], "c"+"12"[i/2%2:i/2%2+1], `"requests":1`)
	}
	close(folded)
	<-done
}

func TestUsageOfNoPool(t *testing.T) {
	if u, ok := newScene(t).Usage("p", start); ok || u != nil {
		t.Errorf("got %+v", u)
	}
}

func TestUsageSaysWhatItIsOf(t *testing.T) {
	s := newScene(t)
	s.pool(`"c1"`, `,"mode":"observe"`)
	s.publish("quota.config.settings", `{"values":{"saturationThreshold":{"value":0.8,"source":"stored"}}}`)
	for clock, now := range map[int64]int64{start - 5: start, start + 5: start + 5} {
		u, _ := s.Usage("p", clock)
		got := fmt.Sprintf("%s %s %v %s %d %d %d", u.PoolID, u.Mode, u.Enforcing, u.Threshold, u.AsOf.Seq, u.AsOf.Time-start, u.GeneratedAt-start)
		if want := fmt.Sprintf("p observe false 0.8 2 %d %d", now-start, clock-start); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
