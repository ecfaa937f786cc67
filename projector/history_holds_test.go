package projector_test

import (
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// requests are few, so that one is held again, settled, released and late.
var (
	requests  = rapid.SampledFrom([]string{"r1", "r1", "r2", "r3", "a:b", "*", "ü" + strings.Repeat("x", 254)})
	leases    = rapid.SampledFrom([]int64{1, 1_000, 60_000, 300_000, 3_600_000})
	estimates = rapid.SampledFrom([]quota.Amount{0, 1, 1_000, 1_000, 30_000, 5_000_000})
)

// fillHolds makes one hold, or an array of them.
func fillHolds(t *rapid.T, m *events.Message) {
	m.Subject = "quota.hold"
	list := make([]events.Event, rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "array"))
	for i := range list {
		list[i] = hold(t)
	}
	m.Data = events.AppendArray(nil, 0, list)
}

// hold is a hold of a key or on a connection that nobody saw before, now and then.
func hold(t *rapid.T) events.Event {
	e := events.Event{
		Kind: events.Hold, ID: strconv.Itoa(rapid.IntRange(0, 40).Draw(t, "id")), APIKeyID: keys.Draw(t, "key"), RequestID: requests.Draw(t, "request"),
		ConnectionID: conns.Draw(t, "conn"), Model: models.Draw(t, "model"), LeaseMs: leases.Draw(t, "lease"),
	}
	e.DecisionID = e.ID
	switch rapid.IntRange(0, 9).Draw(t, "odd") {
	case 0:
		e.APIKeyID = "never seen"
	case 1:
		e.ConnectionID = "never seen"
	case 2:
		e.ConnectionID, e.Pool = "", "p"
	case 3:
		e.ConnectionID, e.Candidates = "", []events.Candidate{{ConnectionID: e.ConnectionID}}
	}
	for u := range quota.Unit(quota.NumUnits) {
		if rapid.Bool().Draw(t, "given") {
			e.Given |= 1 << u
			e.Cost[u] = estimates.Draw(t, "estimate")
		}
	}
	return e
}

func fillRelease(t *rapid.T, m *events.Message) {
	m.Subject = "quota.release"
	e := release(t)
	m.Data = events.AppendJSON(nil, &e)
}

func release(t *rapid.T) events.Event {
	e := events.Event{Kind: events.Release, APIKeyID: keys.Draw(t, "key"), RequestID: requests.Draw(t, "request")}
	if id := rapid.IntRange(0, 12).Draw(t, "id"); id > 3 {
		e.ID = strconv.Itoa(id)
	}
	return e
}
