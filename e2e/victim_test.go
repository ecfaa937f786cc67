package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// victim is a running engine that bad input is thrown at, and that has to go on
// as if nothing were.
type victim struct {
	*process
	nc       *nats.Conn
	js       jetstream.JetStream
	rejected *nats.Subscription // of quota.rejected.>
	good     []usage            // what was right, and counts
}

func newVictim(t *testing.T) *victim {
	t.Helper()
	v := &victim{process: up(t, t.TempDir())}
	v.nc = brokertest.Connect(t, v.nats)
	v.js = jetStream(t, v.nc)
	v.at(configure(t, v.js))
	var err error
	if v.rejected, err = v.nc.SubscribeSync("quota.rejected.>"); err != nil {
		t.Fatal(err)
	}
	return v
}

// mustGoOn publishes a right event and asks for the totals.
func (v *victim) mustGoOn(t *testing.T) {
	t.Helper()
	list := traffic(dice(t), fmt.Sprintf("good-%d-", len(v.good)), 1)
	v.at(publish(t, v.js, list))
	v.good = append(v.good, list...)
	mustCount(t, v.nc, v.good)
}

// rejection is a record of QUOTA_REJECTED.
type rejection struct {
	Seq       uint64
	Index     int
	Subject   string
	Reason    string
	Message   string
	Data      []byte
	Truncated bool
}

// awaitRejection returns the next record of what could not be folded.
func (v *victim) awaitRejection(t *testing.T) rejection {
	t.Helper()
	m, err := v.rejected.NextMsgWithContext(deadline(t))
	if err != nil {
		t.Fatalf("nothing comes to quota.rejected: %v", err)
	}
	var r rejection
	decode(t, string(m.Data), &r)
	if want := fmt.Sprintf("quota.rejected.%d.%d", r.Seq, r.Index); m.Subject != want {
		t.Errorf("the record of %d, %d came on %s", r.Seq, r.Index, m.Subject)
	}
	return r
}

// metric returns the value of one line of /metrics.
func (v *victim) metric(t *testing.T, line string) int {
	t.Helper()
	_, page := v.call("GET", "/metrics", "", "")
	for lines := bufio.NewScanner(strings.NewReader(page)); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), line+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
	}
	t.Fatalf("/metrics has no %s", line)
	return 0
}

// stat returns a counter of the NATS service's questions.
func (v *victim) stat(t *testing.T, name string) int {
	t.Helper()
	var doc struct {
		Endpoints []struct {
			Subject string
			Data    map[string]int
		}
	}
	decode(t, string(request(t, v.nc, "$SRV.STATS.quotashare", "")), &doc)
	for _, e := range doc.Endpoints {
		if n, ok := e.Data[name]; ok && e.Subject == "quota.decide" {
			return n
		}
	}
	t.Fatalf("the service has no counter %s of questions: %+v", name, doc.Endpoints)
	return 0
}

// pools returns the ids of all pools.
func (v *victim) pools(t *testing.T) string {
	t.Helper()
	var doc struct{ Pools []struct{ ID string } }
	decode(t, v.mustCall("GET", "/api/quota/pools", ""), &doc)
	text, err := json.Marshal(doc.Pools)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const onlyTeam = `[{"ID":"team"}]`
