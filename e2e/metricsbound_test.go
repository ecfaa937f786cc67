package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// mostSeries is how many series docs/METRICS.md says there are at most, of a process
// whose pools have no connections.
const mostSeries = 2500

// stranger sends what no series may be made of. Whatever a client chooses has mark in it.
type stranger struct {
	operator
	nats *nats.Conn
	mark string
}

// publish publishes events about keys, connections and models that nobody has heard of,
// with readings, and what is no event.
func (s *stranger) publish(n int) {
	s.t.Helper()
	var list []object
	for i := range n {
		name := fmt.Sprint(s.mark, i)
		list = append(list,
			object{"type": "quota.consumption", "apiKeyId": name, "connectionId": name, "model": name, "provider": name, "cost": object{"tokens": 1}},
			object{"type": "quota.saturation", "connectionId": name, "readings": []object{{"window": "5h", "scope": name, "usedPercent": 4}, {"window": "5h", "usedPercent": 4}}},
			object{"type": "quota.saturation", "connectionId": name, "provider": name, "headers": object{"anthropic-ratelimit-unified-" + name + "-utilization": name}},
			object{"type": "quota." + name},
		)
	}
	for ; len(list) > 0; list = list[min(1000, len(list)):] {
		status, answer := s.call("POST", "/api/quota/events", "application/json", text(s.t, list[:min(1000, len(list))]))
		if status != 200 {
			s.t.Fatalf("%d %s", status, answer)
		}
	}
	js := jetStream(s.t, s.nats)
	for i := range n / 10 {
		if _, err := js.Publish(deadline(s.t), "quota.consumption", []byte(fmt.Sprintf(`{"apiKeyId":"%s%d","reason":7}`, s.mark, i))); err != nil {
			s.t.Fatal(err)
		}
	}
}

// ask asks about all of them, over NATS and over HTTP, and to be told at subjects that
// are not for answers.
func (s *stranger) ask(n int) {
	s.t.Helper()
	var list []object
	for i := range n {
		name := fmt.Sprint(s.mark, i)
		list = append(list, object{"apiKeyId": name, "connectionId": name, "model": name}, object{"apiKeyId": name, "pool": name, "requestId": name, "reserve": i%10 == 0})
	}
	for ; len(list) > 0; list = list[min(500, len(list)):] {
		part := text(s.t, list[:min(500, len(list))])
		request(s.t, s.nats, "quota.decide", part)
		s.call("POST", apiPath("decide"), "application/json", part)
		if err := s.nats.PublishRequest("quota.decide", "quota."+s.mark, []byte(part)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// knock tries paths, methods, names of hosts and tokens.
func (s *stranger) knock(n int) {
	s.t.Helper()
	door := &http.Client{Transport: &http.Transport{}}
	defer door.CloseIdleConnections()
	for i := range n {
		name := fmt.Sprint(s.mark, i)
		for _, try := range []struct{ method, path string }{
			{"GET", "/" + name},
			{name, "/api/quota/pools"},
			{"GET", "/api/quota/pools/" + name},
			{"GET", "/assets/" + name},
			{"PATCH", "/api/quota/pools/" + name},
			{"GET", "/api/quota/decisions?reason=" + name},
			{"GET", "/api/quota/pools/" + name + "/usage"},
		} {
			r, err := http.NewRequestWithContext(deadline(s.t), try.method, s.http+try.path, nil)
			if err != nil {
				s.t.Fatal(err)
			}
			r.Header.Set("User-Agent", name)
			r.Header.Set("X-Quota-Actor", name)
			r.Header.Set(name, name)
			switch i % 4 {
			case 0:
				r.Host = name
			case 1:
				r.Header.Set("Authorization", "Bearer "+name)
			case 2:
				r.Header.Set("Content-Type", name)
			}
			answer, err := door.Do(r)
			if err != nil {
				s.t.Fatal(err)
			}
			answer.Body.Close()
		}
	}
}

// No series is made of what a client chooses: after thousands of keys, connections,
// models, pools, paths, methods, headers and hosts that nobody has heard of there are no
// more than before, and none of them is on the page.
func TestNoClientMakesSeries(t *testing.T) {
	o := newOperator(t)
	s := &stranger{o, brokertest.Connect(t, o.nats), ""}
	var before *page
	for _, mark := range []string{"Zwiebel", "Quitte"} {
		s.mark = mark
		s.publish(1000)
		s.ask(1000)
		s.knock(150)
		var all state
		decode(t, o.mustCall("GET", "/api/quota/state", ""), &all)
		o.at(all.LastSeq)
		o.metrics() // which the next one counts
		got := o.metrics()
		if strings.Contains(strings.ToLower(got.text), strings.ToLower(mark)) {
			t.Errorf("what %s sent is on the page", mark)
		}
		if got.series > mostSeries {
			t.Errorf("there are %d series, %d are the most", got.series, mostSeries)
		}
		if before != nil && got.series != before.series {
			t.Errorf("there are %d series after %s, %d before", got.series, mark, before.series)
		}
		before = got
	}
	if !strings.Contains(before.text, "quotashare_signal_connections_left_out 2000\n") {
		t.Error("not all connections whose provider spoke are counted")
	}
	t.Logf("%d series, %d bytes", before.series, len(before.text))
}
