package projector_test

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	view "github.com/quotashare/quotashare/usage"
)

// says publishes one reading of a window that ends in an hour.
func (s *scene) says(connectionID, window string, used int) {
	s.Helper()
	s.publish("quota.saturation", fmt.Sprintf(
		`{"connectionId":%q,"readings":[{"window":%q,"usedPercent":%d,"resetAt":%d}]}`, connectionID, window, used, s.now+3_600_000))
}

// Of too many keys those with the largest parts are shown, over all connections;
// the rest are one in the split.
func TestUsageShowsTheLargestParts(t *testing.T) {
	const keys = 2 * view.MaxUnlisted
	s := newScene(t)
	s.plan("c1", "percent", "5h", "100")
	s.pool(`"c1","c2"`, `,"allocations":[{"apiKeyId":"k0001","weight":10}]`)
	s.says("c1", "5h", 0)
	s.says("c2", "5h", 10)
	tokens := 0
	for i := range keys {
		s.use(fmt.Sprintf("k%04d", i), "c1", fmt.Sprintf(`"tokens":%d,"percent":%d`, i, keys-i))
		tokens += i
	}
	s.use("k0002", "c2", `"tokens":1`)
	s.says("c1", "5h", 77)
	s.says("c2", "5h", 12)
	s.firstAndLast("k0001 k0002 k0199 k0198 k0197", "k0101")
	u := s.usage()
	part := func(used int) int64 { return 77e6 * int64(used) / int64(tokens) }
	d := &u.Dimensions[0]
	for row, want := range map[int]int64{0: part(1), 1: part(2) + 2e6, 2: part(199), view.MaxUnlisted: part(101)} {
		if got := int64(d.Uses[row].Consumed); got != want {
			t.Errorf("%s has %d, want %d", u.Keys[row].ID, got, want)
		}
	}
	if got, want := int64(d.Unlisted), part(tokens-1)+2e6; got != want {
		t.Errorf("the unlisted have %d, want %d", got, want)
	}
	if c := d.Connections[0]; !c.HasSplit || c.Attributed+c.Unattributed != 77e6 || c.Unattributed > keys {
		t.Errorf("split %+v of all but what floors lose", c.Split)
	}
	s.now += 3_600_000 // the reset: what was counted is all there is, the other way round
	s.firstAndLast("k0001 k0000 k0002 k0003 k0004", "k0100")
}

// A document that is only regarded is as good as one in force: its connections
// have readings.
func TestRegardSeesReadings(t *testing.T) {
	s := newScene(t)
	s.says("g", "5h", 1)
	doc := func(connectionID string) *plans.Pool {
		return &plans.Pool{ID: "x", Provider: "glm", Connections: []plans.Connection{{ConnectionID: connectionID}}}
	}
	if !s.Regard(doc("g"), nil).Enforcing || s.Regard(doc("h"), nil).Enforcing {
		t.Error("a reading of its 5h window is what a glm pool enforces")
	}
}

// What a change of the signal's life-time would do can be tried: a reading would
// stand for longer, or no more.
func TestTryTheLifeTimeOfASignal(t *testing.T) {
	s := newScene(t)
	s.plan("c1", "percent", "5h", "100")
	s.pool(`"c1"`, `,"allocations":[]`)
	s.publish("quota.saturation", `{"connectionId":"c1","readings":[{"window":"5h","usedPercent":100}]}`)
	try := func(ttl int64, after int64) string {
		next := plans.DefaultSettings()
		next[plans.SignalTTLMs].N = ttl
		blocked, freed := s.Try(&projector.Draft{Settings: &next}, s.now+after)
		return fmt.Sprintf("%d blocked, %d freed", len(blocked), len(freed))
	}
	for _, c := range []struct {
		ttl, after int64
		want       string
	}{
		{30_000, 10_000, "0 blocked, 0 freed"},
		{10_000, 10_000, "0 blocked, 1 freed"},
		{30_001, 30_000, "1 blocked, 0 freed"},
	} {
		if got := try(c.ttl, c.after); got != c.want {
			t.Errorf("%d ms, after %d: %s, want %s", c.ttl, c.after, got, c.want)
		}
	}
}

// A key that nobody has seen used nothing, whatever all others did.
func TestTryAKeyNeverSeen(t *testing.T) {
	s := newScene(t)
	s.plan("c1", "percent", "5h", "100")
	s.says("c1", "5h", 0)
	s.use("x", "c1", `"tokens":9`)
	s.says("c1", "5h", 90)
	doc := func(key string) *plans.Pool {
		return &plans.Pool{
			ID: "p", Provider: "custom", Connections: []plans.Connection{{ConnectionID: "c1"}},
			Allocations: []plans.Allocation{{APIKeyID: key, Weight: quota.RatioOne}},
		}
	}
	for key, want := range map[string]int{"never seen": 0, "x": 1} {
		if blocked, _ := s.Try(&projector.Draft{PoolID: "p", Pool: doc(key)}, s.now); len(blocked) != want {
			t.Errorf("with an allocation for %q: %+v", key, blocked)
		}
	}
}

// A snapshot is of the state that it was taken from, though more is folded before
// it is made.
func TestUsageIsNotOfWhatFollows(t *testing.T) {
	s := newScene(t)
	s.plan("c1", "percent", "5h", "100")
	s.pool(`"c1"`, `,"allocations":[{"apiKeyId":"a","weight":10}]`)
	s.says("c1", "5h", 0)
	s.use("a", "c1", `"tokens":9`)
	s.says("c1", "5h", 8)
	u := s.UsageBefore("p", s.now, func() {
		s.use("x", "c1", `"tokens":9`)
		s.says("c1", "5h", 20)
	})
	if got, g := u.Dimensions[0].Uses[0].Consumed, u.Signals[0]; got != 8e6 || g.Used != 8e6 || g.Attributed != 8e6 {
		t.Errorf("a has %d of %+v", got, g)
	}
}

// Readers see a meter between two messages, never within one, while the fold and
// the cuts go on.
func TestReadingsAreOfOneStateWhileMoreIsFolded(t *testing.T) {
	s := newScene(t)
	s.plan("c1", "percent", "5h", "100")
	s.pool(`"c1"`, `,"allocations":[{"apiKeyId":"a","weight":10},{"apiKeyId":"b","weight":10},{"apiKeyId":"*","weight":10}]`)
	s.says("c1", "5h", 0)
	folded, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for over := false; !over; {
			select {
			case <-folded:
				over = true // after one more
			default:
			}
			s.splits()
		}
	}()
	for i := range 300 {
		s.use("abc"[i%3:i%3+1], "c1", `"tokens":9`)
		if i%3 == 2 {
			s.says("c1", "5h", i/3)
		}
		if i%50 == 0 {
			cut(t, s.State, s.store)
		}
	}
	close(folded)
	<-done
}

// splits checks that every point of the only connection is somebody's, to what
// floors lose, in the snapshot, in the list of all and in decisions.
func (s *scene) splits() {
	u, _ := s.Usage("p", start)
	d := &u.Dimensions[0]
	sum := d.Uses[0].Consumed + d.Uses[1].Consumed + d.Uses[2].Consumed
	if g := u.Signals[0]; sum != g.Attributed || g.Attributed+g.Unattributed != g.Used || g.Unattributed > 2 {
		s.Errorf("the rows sum to %d, the split is %+v", sum, g)
	}
	if g := s.Signals(start)[0]; g.Unattributed != 0 || g.Attributed != g.Used {
		s.Errorf("among all %+v", g)
	}
	asked := make([]projector.Asked, 3)
	s.Gather([]questions.Question{
		{APIKeyID: "a", ConnectionID: "c1"}, {APIKeyID: "b", ConnectionID: "c1"}, {APIKeyID: "c", ConnectionID: "c1"},
	}, start, asked)
	sum = 0
	var total int64
	for i := range asked {
		x := asked[i].Facts.Explain(0, start, nil)[0]
		sum, total = sum+x.Consumed, int64(x.ConsumedTotal)
	}
	if rest := total - int64(sum); rest < 0 || rest > 2 {
		s.Errorf("decisions see %d of %d", sum, total)
	}
}

// What all others have of one meter must not answer a question about another
// connection, another pool, or a later state.
func TestThePointsOfTheUnlistedOfSeveralPools(t *testing.T) {
	s := newScene(t)
	for _, c := range [][2]string{{"p", `"c1","c2"`}, {"q", `"d1"`}} {
		s.publish("quota.config.pool."+c[0], fmt.Sprintf(
			`{"id":%q,"name":"P","provider":"codex","connectionIds":[%s],"allocations":[{"apiKeyId":"a","weight":1},{"apiKeyId":"*","weight":1}]}`, c[0], c[1]))
	}
	for i, conn := range []string{"c1", "c2", "d1"} {
		s.says(conn, "5h", 0)
		s.use("a", conn, `"tokens":50`)
		s.use("x", conn, `"tokens":50`)
		s.says(conn, "5h", 2<<i)
	}
	qs := []questions.Question{{APIKeyID: "x", ConnectionID: "c1"}, {APIKeyID: "x", ConnectionID: "d1"}, {APIKeyID: "y", ConnectionID: "c2"}}
	asked := make([]projector.Asked, len(qs))
	check := func(when string, want ...string) {
		t.Helper()
		s.Gather(qs, start, asked)
		for i := range asked {
			d := asked[i].Facts.Explain(0, asked[i].Now, nil)[0]
			if got := d.Consumed.Format(d.Unit); got != want[i] {
				t.Errorf("%s, on %s: the others have %s points, want %s", when, qs[i].ConnectionID, got, want[i])
			}
		}
	}
	check("at first", "3", "4", "3")
	s.use("a", "c2", `"tokens":100`)
	s.use("y", "d1", `"tokens":100`)
	check("after more was used", "2", "6", "2")
}
