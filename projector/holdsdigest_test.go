package projector_test

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/events"
)

// Each of these pairs of logs has the same events in another order, or the same
// but for what an event says that leaves nothing else behind, and so differs in
// holds alone.
func TestWhatTheDigestSeesOfHolds(t *testing.T) {
	held := func(seq uint64, n int, rest string) events.Message {
		return events.Message{Subject: "quota.hold", Seq: seq, Time: start, Data: fmt.Appendf(nil,
			`{"id":"h%d","decisionId":"h","apiKeyId":"alice","requestId":"r",%s}`, n, rest)}
	}
	rest := func(conn, model string, lease, tokens int) string {
		return fmt.Sprintf(`"connectionId":%q,"model":%q,"leaseMs":%d,"estimate":{"tokens":%d}`, conn, model, lease, tokens)
	}
	released := events.Message{Subject: "quota.release", Seq: 2, Time: start, Data: []byte(`{"apiKeyId":"alice","requestId":"r"}`)}
	first, one := rest("c", "m", 1000, 5), held(1, 1, rest("c", "m", 1000, 5))
	swapped := func(other string) [2][]events.Message {
		return [2][]events.Message{{held(1, 1, first), held(2, 2, other)}, {held(1, 2, other), held(2, 1, first)}}
	}
	later := func(ms int64) [2][]events.Message {
		return [2][]events.Message{
			{usageAt(1, start, `,"requestId":"r"`), usageAt(2, start+ms, "")},
			{usageAt(1, start, ""), usageAt(2, start+ms, "")},
		}
	}
	for _, c := range []struct {
		name string
		logs [2][]events.Message
		same bool
	}{
		{"an open hold", [2][]events.Message{{released, one}, {one, released}}, false},
		{"the connection", swapped(rest("d", "m", 1000, 5)), false},
		{"the model", swapped(rest("c", "n", 1000, 5)), false},
		{"the lease", swapped(rest("c", "m", 1001, 5)), false},
		{"the amounts", swapped(rest("c", "m", 1000, 6)), false},
		{"the event that opened it", swapped(first), false},
		{"a request settled within the hour", later(3_599_999), false},
		{"one settled an hour ago", later(3_600_000), true},
		{
			"a hold whose lease is over",
			[2][]events.Message{{one, released, usageAt(3, start+1000, "")}, {released, one, usageAt(3, start+1000, "")}},
			true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := plain(t, c.logs[0]).Digest == plain(t, c.logs[1]).Digest; got != c.same {
				t.Errorf("same digest: %v, want %v", got, c.same)
			}
		})
	}
}

// TestDigestOfHoldsIsGolden: as TestDigestIsGolden, with open holds, one of
// which was lowered, two requests that wait, and a settled one.
func TestDigestOfHoldsIsGolden(t *testing.T) {
	const want = "0c7a6c6764cd484618f032d1183dec4a04a031b5c3633ef7028e59704ab312c7"
	if got := fmt.Sprintf("%x", plain(t, littleOfEverything()).Digest); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}
