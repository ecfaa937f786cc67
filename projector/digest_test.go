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

// elsewhere is usage on a connection whose id is before that of usageAt.
func elsewhere(seq uint64) events.Message {
	return events.Message{Subject: "quota.consumption", Seq: seq, Time: start, Data: []byte(`{"apiKeyId":"alice","connectionId":"a"}`)}
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
		says5h(4, start, 7, 60_000),
		usageAt(5, start, `,"cost":{"tokens":3,"usd":1}`),
		usageAt(6, start, fmt.Sprintf(`,"time":%d`, start+60_000)),
		says5h(7, start, 9, 60_000),
		usageAt(8, start+day, `,"id":"2","time":"2026-09-22T00:00:00Z"`),
	}
	const want = "f33d84da6d1a797e59ec64fb37aa92c7da0971d62f18f42c9681fc4737f9e9ce"
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
		{"a reading", []events.Message{says5h(1, start, 7, 0)}, []events.Message{says5h(1, start, 8, 0)}, false},
		{"a reset", []events.Message{says5h(1, start, 7, 0)}, []events.Message{says5h(1, start, 7, 60_000)}, false},
		{
			"who used since a reading",
			[]events.Message{says5h(1, start, 7, 0), usageAt(2, start, ""), usageAt(3, start, ""), another(4)},
			[]events.Message{usageAt(1, start, ""), says5h(2, start, 7, 0), usageAt(3, start, ""), another(4)},
			false,
		},
		{"the order of connections", []events.Message{usageAt(1, start, ""), elsewhere(2)}, []events.Message{elsewhere(1), usageAt(2, start, "")}, true},
		{
			"the order of models",
			[]events.Message{usageAt(1, start, `,"model":"a"`), usageAt(2, start, `,"model":"b"`)},
			[]events.Message{usageAt(1, start, `,"model":"b"`), usageAt(2, start, `,"model":"a"`)},
			true,
		},
		{
			"the order of keys",
			[]events.Message{says5h(1, start, 7, 0), usageAt(2, start, ""), another(3)},
			[]events.Message{says5h(1, start, 7, 0), another(2), usageAt(3, start, "")},
			true,
		},
		{
			"usage of the next cycle",
			[]events.Message{says5h(1, start, 7, 60_000), usageAt(2, start, fmt.Sprintf(`,"time":%d`, start+59_999))},
			[]events.Message{says5h(1, start, 7, 60_000), usageAt(2, start, fmt.Sprintf(`,"time":%d`, start+60_000))},
			false,
		},
		{
			"the number of a cycle",
			[]events.Message{says5h(1, start, 7, 60_000), says5h(2, start+60_000, 9, 7_200_000)},
			[]events.Message{says5h(1, start+60_000, 9, 7_200_000)},
			true,
		},
		{"the sequence of usage", []events.Message{usageAt(1, start, "")}, []events.Message{usageAt(9, start, "")}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := plain(t, c.a).Digest == plain(t, c.b).Digest; got != c.same {
				t.Errorf("same digest: %v, want %v", got, c.same)
			}
		})
	}
}

// says5h is what a provider says at an instant, its reset given as a wait.
func says5h(seq uint64, at int64, used int, reset int64) events.Message {
	r := fmt.Sprintf(`{"window":"5h","usedPercent":%d`, used)
	if reset != 0 {
		r += fmt.Sprintf(`,"resetAt":%d`, at+reset)
	}
	return events.Message{Subject: "quota.saturation", Seq: seq, Time: at, Data: []byte(`{"connectionId":"c","readings":[` + r + `}]}`)}
}

// another is a consumption of another key than usageAt's.
func another(seq uint64) events.Message {
	return events.Message{Subject: "quota.consumption", Seq: seq, Time: start, Data: []byte(`{"apiKeyId":"bob","connectionId":"c"}`)}
}

func settings(seq uint64) events.Message {
	return events.Message{
		Subject: "quota.config.settings", Seq: seq, Time: start, Header: map[string][]string{"Quota-Config": {"put"}},
		Data: []byte(`{"values":{"maxLagMs":{"value":1000,"source":"stored"}}}`),
	}
}
