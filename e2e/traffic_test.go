package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// month is where all traffic of these tests stands: the first instants of the
// monthly window that runs now. One bucket then holds all of it, so what the
// engine must answer is a plain sum; windows that slide are the matter of
// scenarios.json.
var month = time.Now().UnixMilli() / monthMillis * monthMillis

const (
	monthMillis = 30 * 24 * 3_600_000
	askAt       = 60_000 // ms into the month
)

// usage is one event as it is published.
type usage struct {
	ID           string `json:"id"`
	Time         int64  `json:"time"`
	APIKeyID     string `json:"apiKeyId"`
	ConnectionID string `json:"connectionId"`
	Model        string `json:"model,omitempty"`
	RequestID    string `json:"requestId,omitempty"`
	Cost         struct {
		Tokens int64  `json:"tokens"`
		USD    string `json:"usd"`
	} `json:"cost"`
}

const (
	numKeys        = 4
	numConnections = 3
)

func keyName(i int) string        { return fmt.Sprintf("key %d", i) }
func connectionName(i int) string { return fmt.Sprintf("conn:%d", i) }

// traffic makes n events whose ids begin with the prefix.
func traffic(d *rand.Rand, prefix string, n int) []usage {
	list := make([]usage, n)
	for i := range list {
		u := &list[i]
		u.ID = prefix + strconv.Itoa(i)
		u.Time = month + d.Int64N(1000)
		u.APIKeyID, u.ConnectionID = keyName(d.IntN(numKeys)), connectionName(d.IntN(numConnections))
		u.Model = []string{"", "large", "small"}[d.IntN(3)]
		u.Cost.Tokens = d.Int64N(5000)
		u.Cost.USD = fmt.Sprintf("0.%09d", d.IntN(1_000_000))
	}
	return list
}

// configure writes a pool of all connections, with a plan that limits nothing
// and shows everything, and returns the last sequence.
func configure(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	put(t, js, "quota.config.plan.conn%3A0", `{"connectionId":"conn:0","dimensions":[
		{"unit":"requests","window":"monthly","limit":0},{"unit":"tokens","window":"monthly","limit":0}]}`)
	return put(t, js, "quota.config.pool.team", `{"id":"team","name":"Team","provider":"custom",
		"connectionIds":["conn:0","conn:1","conn:2"],"allocations":[{"apiKeyId":"key 0","weight":50}]}`)
}

func put(t *testing.T, js jetstream.JetStream, subject, body string) uint64 {
	t.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(body)
	m.Header.Set("Quota-Config", "put")
	m.Header.Set("Nats-TTL", "never")
	ack, err := js.PublishMsg(deadline(t), m)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	return ack.Sequence
}

// publish sends the events, some alone and some in arrays, and returns the
// sequence of the last message once all are acknowledged.
func publish(t *testing.T, js jetstream.JetStream, list []usage) (last uint64) {
	t.Helper()
	var acks []jetstream.PubAckFuture
	for n := 1; len(list) > 0; n++ {
		batch := list[:min(n%40, len(list))]
		if n%40 == 0 {
			batch = list[:1]
		}
		list = list[len(batch):]
		f, err := js.PublishAsync("quota.consumption", encode(t, batch))
		if err != nil {
			t.Fatal(err)
		}
		acks = append(acks, f)
	}
	ctx := deadline(t)
	for _, f := range acks {
		select {
		case ack := <-f.Ok():
			last = max(last, ack.Sequence)
		case err := <-f.Err():
			t.Fatal(err)
		case <-ctx.Done():
			t.Fatal("no acknowledgement")
		}
	}
	return last
}

// encode gives one event as it is and several as an array.
func encode(t *testing.T, batch []usage) []byte {
	t.Helper()
	var doc any = batch
	if len(batch) == 1 {
		doc = batch[0]
	}
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// answer is what the tests read of a reply.
type answer struct {
	Decision     string
	Reason       string
	Deprioritize bool
	HTTPStatus   int
	RetryAfterMs *int64
	Binding      *binding
	Degraded     []string
	Dimensions   []dimension
	Error        *struct{ Message, Type, Code string }
}

type binding struct{ Unit, Window string }

// dimension has its amounts as the text they came in: they are exact.
type dimension struct {
	Unit, Window                              string
	Limit, FairShare, Consumed, ConsumedTotal json.Number
}

// quoted is an amount as a string, which is what msgpack has and JSON has not.
var quoted = regexp.MustCompile(`"(limit|fairShare|consumed|consumedTotal)":"`)

func parseAnswer(t *testing.T, data []byte) answer {
	t.Helper()
	if quoted.Match(data) {
		t.Errorf("an amount is a string: %s", data)
	}
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatalf("the answer is no JSON: %v\n%s", err, data)
	}
	return a
}

func request(t *testing.T, nc *nats.Conn, subject, body string) []byte {
	t.Helper()
	m, err := nc.RequestWithContext(deadline(t), subject, []byte(body))
	if err != nil {
		t.Fatalf("%s %s: %v", subject, body, err)
	}
	return m.Data
}

// mustCount asks the engine what every key consumed, and compares with the sums
// of the events.
func mustCount(t *testing.T, nc *nats.Conn, list []usage) {
	t.Helper()
	type sums struct{ requests, tokens int64 }
	var total sums
	byKey := map[string]sums{}
	for _, u := range list {
		s := byKey[u.APIKeyID]
		byKey[u.APIKeyID] = sums{s.requests + 1, s.tokens + u.Cost.Tokens}
		total.requests++
		total.tokens += u.Cost.Tokens
	}
	for i := range numKeys {
		key := keyName(i)
		a := parseAnswer(t, request(t, nc, "quota.decide", fmt.Sprintf(
			`{"apiKeyId":%q,"connectionId":"conn:0","at":%d,"explain":true}`, key, month+askAt)))
		if len(a.Dimensions) != 2 {
			t.Fatalf("the answer about %s has no two dimensions: %+v", key, a)
		}
		r, k := a.Dimensions[0], a.Dimensions[1]
		got := fmt.Sprint(r.Consumed, " requests, ", k.Consumed, " tokens; all: ", r.ConsumedTotal, ", ", k.ConsumedTotal)
		want := fmt.Sprint(byKey[key].requests, " requests, ", byKey[key].tokens, " tokens; all: ", total.requests, ", ", total.tokens)
		if got != want {
			t.Errorf("%s consumed %s; want %s", key, got, want)
		}
	}
}
