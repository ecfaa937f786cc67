package projector_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// consume publishes a consumption of a request; more is what follows it.
func (s *scene) consume(key, connection, request, more string) {
	s.Helper()
	s.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":%q,"requestId":%q%s}`, key, connection, request, more))
}

// TestWhatSettlesNothing: a consumption that is not folded, and what is none.
func TestWhatSettlesNothing(t *testing.T) {
	s := newScene(t)
	s.consume("alice", "c", "r", `,"id":"1"`)
	s.now += projector.SettledFor
	if !s.hold("alice", "r", "c", 60_000, "").Held {
		t.Fatal("a request that was settled an hour ago is not held")
	}
	s.consume("alice", "c", "r", `,"id":"1"`) // sent again
	s.consume("bob", "c", "r", "")
	s.publish("quota.adjustment", `{"apiKeyId":"alice","connectionId":"c","requestId":"r","cost":{"tokens":-1},"reason":"refund"}`)
	for range 4 { // a fifth passes what a counter holds
		s.use("alice", "c", fmt.Sprintf(`"percent":%d`, int64(1e12)))
	}
	consume := func(connection string) {
		s.seq++
		fold(t, s.State, []events.Message{{Subject: "quota.consumption", Seq: s.seq, Time: s.now, Data: fmt.Appendf(nil,
			`{"apiKeyId":"alice","connectionId":%q,"requestId":"r","cost":{"percent":1000000000000}}`, connection)}}, 1)
	}
	consume("c")
	if c := s.Counts(); c.Rejected != 1 || c.Duplicates != 1 {
		t.Fatalf("%d rejected and %d duplicates, want one of each", c.Rejected, c.Duplicates)
	}
	if !s.HoldOpen("alice", "r") || s.Settled("alice", "r") {
		t.Errorf("open %t, settled %t", s.HoldOpen("alice", "r"), s.Settled("alice", "r"))
	}
	consume("elsewhere")
	if s.HoldOpen("alice", "r") || !s.Settled("alice", "r") {
		t.Errorf("after its consumption: open %t, settled %t", s.HoldOpen("alice", "r"), s.Settled("alice", "r"))
	}
}

// TestARequestIsSettledForAnHourFromTheFirstTime: however often it is settled, and
// whatever was committed meanwhile.
func TestARequestIsSettledForAnHourFromTheFirstTime(t *testing.T) {
	for _, commit := range []bool{false, true} {
		s := newScene(t)
		for _, minute := range []int64{0, 30, 59} {
			s.now = start + minute*60_000
			s.consume("alice", "c", "r", "")
			if commit {
				cut(t, s.State, s.store)
				s.State = load(t, s.store)
			}
		}
		s.now = start + projector.SettledFor - 1
		if s.hold("alice", "r", "c", 1, "").Held {
			t.Error("held within the hour")
		}
		s.now++
		if !s.hold("alice", "r", "c", 1, "").Held {
			t.Error("not held after the hour")
		}
	}
}

// TestAHoldIsACauseOfWhatTheProviderSays: the use of a request in flight shows at
// the provider before its consumption is told.
func TestAHoldIsACauseOfWhatTheProviderSays(t *testing.T) {
	for _, c := range []struct {
		connection string
		ended      bool
		want       quota.Amount
	}{{"c", false, 3_000_000}, {"c", true, 0}, {"d", false, 0}} {
		s := newScene(t)
		says := func(used int) {
			s.publish("quota.saturation", fmt.Sprintf(`{"connectionId":"c","readings":[{"window":"5h","usedPercent":%d}]}`, used))
		}
		says(10)
		s.hold("alice", "r", c.connection, 60_000, "")
		if c.ended {
			s.publish("quota.release", `{"apiKeyId":"alice","requestId":"r"}`)
		}
		s.now++
		says(13)
		if got := s.Meters()[projector.MeterName{Connection: "c", Window: quota.FiveHour}].Pot; got != c.want {
			t.Errorf("with a hold on %s, ended %t: %d of the rise is of keys, want %d", c.connection, c.ended, got, c.want)
		}
	}
}

// TestTheUnlistedOfSeveralPoolsHold: as TestTheUnlistedOfSeveralPools, of holds.
func TestTheUnlistedOfSeveralPoolsHold(t *testing.T) {
	s := newScene(t)
	for i, pool := range []string{"p", "q"} {
		listed := []string{`"alice"`, `"bob"`}[i]
		s.publish("quota.config.pool."+pool, fmt.Sprintf(
			`{"id":%q,"name":"P","provider":"kimi","connectionIds":["%[1]s1","%[1]s2"],"allocations":[{"apiKeyId":%s,"weight":1},{"apiKeyId":"*","weight":1}]}`, pool, listed))
	}
	for i, on := range []string{"alice p1", "bob p1", "carol p2", "alice q1", "bob q2", "carol q2"} {
		var key, connection string
		fmt.Sscan(on, &key, &connection)
		s.hold(key, "r"+connection, connection, 60_000, fmt.Sprintf(`"requests":%d`, 1<<i))
	}
	qs := []questions.Question{
		{APIKeyID: "x", ConnectionID: "p2"}, {APIKeyID: "x", ConnectionID: "q1"}, {APIKeyID: "x", Pool: "p"}, {APIKeyID: "carol", Pool: "q", Reserve: true, RequestID: "rq2"},
	}
	asked := make([]projector.Asked, len(qs))
	s.Gather(qs, s.now, asked)
	var got []string
	for i := range asked {
		d := asked[i].Facts.Explain(0, s.now, nil)[0]
		got = append(got, d.Held.Format(d.Unit)+" of "+d.HeldTotal.Format(d.Unit))
	}
	// In p alice has 1, bob 2 and carol 4; in q alice 8, bob 16 and carol 32.
	if d := cmp.Diff([]string{"6 of 7", "40 of 56", "6 of 7", "8 of 24"}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
