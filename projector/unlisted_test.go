package projector_test

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
)

// TestTheUnlistedOfSeveralPools: what is looked up for one question must not
// answer another about other connections, another pool, or a later state.
func TestTheUnlistedOfSeveralPools(t *testing.T) {
	s := projector.NewState(memstore.New())
	seq := uint64(0)
	publish := func(subject, body string) {
		seq++
		m := events.Message{Subject: subject, Seq: seq, Time: start, Data: []byte(body)}
		if subject != "quota.consumption" {
			m.Header = map[string][]string{"Quota-Config": {"put"}}
		}
		fold(t, s, []events.Message{m}, 1)
	}
	pool := func(id, conns, listed string) {
		publish("quota.config.pool."+id, fmt.Sprintf(
			`{"id":%q,"name":"P","provider":"kimi","connectionIds":[%s],"allocations":[{"apiKeyId":%q,"weight":1},{"apiKeyId":"*","weight":1}]}`, id, conns, listed))
	}
	pool("p", `"c1","c2","c3"`, "alice")
	pool("q", `"d1"`, "bob")
	for i, use := range []string{"alice c1", "alice c3", "bob c1", "carol c3", "alice d1", "bob d1", "carol d1"} {
		var key, conn string
		fmt.Sscan(use, &key, &conn)
		publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":%q,"cost":{"requests":%d}}`, key, conn, 1<<i))
	}
	qs := []questions.Question{
		{APIKeyID: "x", ConnectionID: "c2"}, {APIKeyID: "x", ConnectionID: "d1"}, {APIKeyID: "x", ConnectionID: "c1"},
	}
	asked := make([]projector.Asked, len(qs))
	check := func(when string, want ...string) {
		t.Helper()
		s.Gather(qs, start, asked)
		for i := range asked {
			d := asked[i].Facts.Explain(0, asked[i].Now, nil)[0]
			if got := d.Consumed.Format(d.Unit); got != want[i] {
				t.Errorf("%s, on %s: the others used %s, want %s", when, qs[i].ConnectionID, got, want[i])
			}
		}
	}
	// bob 4 on c1 and carol 8 on c3; alice 16 and carol 64 on d1.
	check("at first", "12", "80", "12")
	publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c2","cost":{"requests":1000}}`)
	publish("quota.consumption", `{"apiKeyId":"bob","connectionId":"d1","cost":{"requests":1000}}`)
	check("after the listed used more", "12", "80", "12")
}
