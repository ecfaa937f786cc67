package projector_test

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/events"
)

// usageAt is one consumption message; extra are further fields of the event.
func usageAt(seq uint64, at int64, extra string) events.Message {
	return events.Message{
		Subject: "quota.consumption", Seq: seq, Time: at,
		Data: []byte(`{"apiKeyId":"alice","connectionId":"c"` + extra + `}`),
	}
}

const day = 86_400_000

// The digest is a format: other machines and later releases must compute the
// same. A change here is a change of the rules version.
func TestDigestIsGolden(t *testing.T) {
	log := []events.Message{
		{
			Subject: "quota.config.pool.p", Seq: 1, Time: start, Header: map[string][]string{"Quota-Config": {"put"}},
			Data: []byte(`{"id":"p","name":"P","provider":"kimi","connectionIds":["c"],"allocations":[{"apiKeyId":"alice","weight":60.5}]}`),
		},
		{
			Subject: "quota.config.plan.c", Seq: 2, Time: start, Header: map[string][]string{"Quota-Config": {"put"}},
			Data: []byte(`{"connectionId":"c","dimensions":[{"unit":"usd","window":"5h","limit":"12.5"}]}`),
		},
		usageAt(3, start, `,"id":"1","model":"m","provider":"kimi","cost":{"tokens":1200,"usd":0.000000001}`),
		usageAt(4, start+day, `,"id":"2","time":"2026-09-22T00:00:00Z"`),
	}
	const want = "8e74f0d4fd827cf63317b4db1be4ffd2f1ae162640cf6008ad69c1fb158edbd1"
	if got := fmt.Sprintf("%x", plain(t, log).Digest); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// Each of these pairs of logs gives two states that answer differently, now or
// later, and so two digests; or the same state, and one digest.
func TestWhatTheDigestSees(t *testing.T) {
	base := []events.Message{usageAt(1, start, `,"id":"1"`), usageAt(2, start+90*day, "")}
	// 30 s before the end of an hour: what is 60 s ahead is in the next bucket.
	edge := start/3_600_000*3_600_000 + 3_570_000
	ahead := fmt.Sprintf(`,"time":%d,"cost":{"requests":0,"tokens":5}`, edge+60_000)
	back := usageAt(2, edge, fmt.Sprintf(`,"time":%d,"cost":{"tokens":-5},"reason":"r"`, edge+60_000))
	back.Subject = "quota.adjustment"
	for _, c := range []struct {
		name string
		a, b []events.Message
		same bool
	}{
		{"a counter that reads 0 for ever", base, base[1:], true},
		{"an id past the horizon", base, base[1:], true},
		{"an id within it", []events.Message{usageAt(1, start, `,"id":"1"`)}, []events.Message{usageAt(1, start, "")}, false},
		{"the content of an id", []events.Message{usageAt(1, start, `,"id":"1","requestId":"x"`)}, []events.Message{usageAt(1, start, `,"id":"1","requestId":"y"`)}, false},
		{"log time", []events.Message{usageAt(1, start, `,"time":1790000000000`)}, []events.Message{usageAt(1, start+1, `,"time":1790000000000`)}, false},
		{"the provider", []events.Message{usageAt(1, start, `,"provider":"a"`)}, []events.Message{usageAt(1, start, `,"provider":"b"`)}, false},
		{"the model", []events.Message{usageAt(1, start, `,"model":"a"`)}, []events.Message{usageAt(1, start, `,"model":"b"`)}, false},
		{"the revision", []events.Message{settings(1), usageAt(2, start, "")}, []events.Message{settings(2), usageAt(3, start, "")}, false},
		{"zero in a bucket to come", []events.Message{usageAt(1, edge, ahead), back}, []events.Message{usageAt(1, edge, `,"cost":{"requests":0}`)}, false},
		{"the sequence of usage", []events.Message{usageAt(1, start, "")}, []events.Message{usageAt(9, start, "")}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := plain(t, c.a).Digest == plain(t, c.b).Digest; got != c.same {
				t.Errorf("same digest: %v, want %v", got, c.same)
			}
		})
	}
}

func settings(seq uint64) events.Message {
	return events.Message{
		Subject: "quota.config.settings", Seq: seq, Time: start, Header: map[string][]string{"Quota-Config": {"put"}},
		Data: []byte(`{"values":{"maxLagMs":{"value":1000,"source":"stored"}}}`),
	}
}
