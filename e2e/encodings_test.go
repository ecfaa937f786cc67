package e2e

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// way is one more way to bring a scenario to the engine.
type way interface {
	// publish brings an event to the log and returns its sequence.
	publish(event object) uint64
	ask(question object) answer
}

// play brings every scenario to an engine of its own and compares the answers.
func play(t *testing.T, connect func(p *process) way) {
	t.Helper()
	p := up(t, t.TempDir())
	w := connect(p)
	for _, s := range scenarios(t) {
		s.create(p)
		last := uint64(0)
		for _, e := range s.Events {
			last = max(last, w.publish(e))
		}
		var answers []answer
		for _, q := range s.Asks {
			q["minSeq"], q["maxWaitMs"] = last, patience.Milliseconds()
			answers = append(answers, w.ask(q))
		}
		s.check(t, answers)
	}
}

// rawWay is JSON over a socket.
type rawWay struct{ *rawClient }

func (w rawWay) publish(e object) uint64 {
	return sequence(w.t, w.request("quota.consumption", text(w.t, e)))
}

func (w rawWay) ask(q object) answer {
	return parseAnswer(w.t, []byte(w.request("quota.decide", text(w.t, q))))
}

func text(t *testing.T, doc any) string {
	t.Helper()
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// sequence reads the acknowledgement of the log.
func sequence(t *testing.T, ack string) uint64 {
	t.Helper()
	var doc struct {
		Stream string
		Seq    uint64
	}
	decode(t, ack, &doc)
	if doc.Stream != "QUOTA" || doc.Seq == 0 {
		t.Fatalf("no acknowledgement: %s", ack)
	}
	return doc.Seq
}

func TestScenariosOverASocket(t *testing.T) {
	play(t, func(p *process) way { return rawWay{dialRaw(t, p.nats)} })
}

// msgpackWay is msgpack both ways, told by its first byte alone.
type msgpackWay struct {
	t  *testing.T
	nc *nats.Conn
}

func (w msgpackWay) publish(e object) uint64 {
	return sequence(w.t, string(w.request("quota.consumption", e)))
}

func (w msgpackWay) ask(q object) answer {
	w.t.Helper()
	data := w.request("quota.decide", q)
	var doc object
	if err := msgpack.Unmarshal(data, &doc); err != nil {
		w.t.Fatalf("the answer is no msgpack: %v\n%q", err, data)
	}
	noFloats(w.t, doc)
	var a answer
	decode(w.t, text(w.t, doc), &a)
	return a
}

func (w msgpackWay) request(subject string, o object) []byte {
	w.t.Helper()
	data, err := msgpack.Marshal(binary(w.t, o))
	if err != nil {
		w.t.Fatal(err)
	}
	return request(w.t, w.nc, subject, string(data))
}

// binary gives every number the form that a msgpack library would: integers,
// and floats for what is a decimal string in the file, whose shortest decimal
// is that string.
func binary(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case object:
		out := object{}
		for name, field := range v {
			out[name] = binary(t, field)
		}
		return out
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			t.Fatal(err)
		}
		return n
	case string:
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			return f
		}
	}
	return v
}

// noFloats makes sure that no amount of an answer was rounded.
func noFloats(t *testing.T, v any) {
	t.Helper()
	switch v := v.(type) {
	case object:
		for _, field := range v {
			noFloats(t, field)
		}
	case []any:
		for _, item := range v {
			noFloats(t, item)
		}
	case float32, float64:
		t.Errorf("the answer has the float %v", v)
	}
}

func TestScenariosInMsgpack(t *testing.T) {
	play(t, func(p *process) way { return msgpackWay{t, brokertest.Connect(t, p.nats)} })
}
