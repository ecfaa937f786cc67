package schemas_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/internal/enginetest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/schemas/schematest"
	"github.com/quotashare/quotashare/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, brokertest.LostChannel) }

// live is an engine, and which messages of the document were seen.
type live struct {
	*enginetest.Engine
	t    *testing.T
	ctx  context.Context
	conn *nats.Conn
	js   jetstream.JetStream
	seen map[string]bool
	odd  []uint64 // messages of the log that are none of the document
}

func start(t *testing.T) *live {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	conn, js := brokertest.Start(t).Log()
	told := plans.DefaultSettings()
	told[plans.MaxLagMs] = plans.SettingValue{N: 60_000, Origin: plans.Environment}
	l := &live{enginetest.Start(t, decider.Options{Conn: conn, Settings: told}), t, ctx, conn, js, map[string]bool{}, nil}
	_, err := l.PutPlan(ctx, "c", []plans.Dimension{{Unit: quota.Tokens, Window: quota.Hourly, Limit: 1000 * 1000}}, httpapi.Meta{Actor: "ops", Reason: "first"})
	l.must(err)
	p, faults := plans.ParsePool("", l.value(`{"id":"team:a","name":"A","provider":"kimi","connections":[{"connectionId":"c","maxConcurrent":1},{"connectionId":"d"}],
		"allocations":[{"apiKeyId":"alice","weight":50,"policy":"soft","caps":[{"unit":"usd","window":"5h","value":1}]},{"apiKeyId":"bob","weight":50}],
		"modelCaps":[{"apiKeyId":"bob","model":"m","capUnit":"requests","capValue":2.5}]}`))
	l.must(faults.Err())
	_, err = l.CreatePools(ctx, []*plans.Pool{p}, httpapi.Meta{})
	l.must(err)
	return l
}

func (l *live) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *live) value(text string) wire.Value {
	l.t.Helper()
	v, err := wire.ParseJSON([]byte(text))
	l.must(err)
	return v
}

// ask sends a question, in both encodings, and judges the answers.
func (l *live) ask(subject, question, want string) {
	l.t.Helper()
	for _, enc := range []wire.Encoding{wire.JSON, wire.Msgpack} {
		m := nats.NewMsg(subject)
		m.Header.Set(events.HeaderContentType, enc.ContentType())
		m.Data = wire.AppendValue(nil, enc, l.value(question))
		answer, err := l.conn.RequestMsgWithContext(l.ctx, m)
		l.must(err)
		v, err := wire.Parse(enc, answer.Data)
		l.must(err)
		l.judge(subject+" "+question, answer, wire.AppendValue(nil, wire.JSON, numbered(v)), want)
	}
}

// numbered makes numbers of the strings that msgpack has in their place.
func numbered(v wire.Value) wire.Value {
	for i, f := range v.Fields {
		v.Fields[i].Value = numbered(f.Value)
		if slices.Contains([]string{"limit", "consumed", "remaining", "fairShare", "deficit", "scoreFactor", "consumedTotal", "score"}, f.Name) && f.Value.Kind == wire.String {
			v.Fields[i].Value.Kind = wire.Number
		}
	}
	for i, item := range v.Items {
		v.Items[i] = numbered(item)
	}
	return v
}

// publish sends an event as a request and judges the acknowledgement.
func (l *live) publish(subject, event string) {
	l.t.Helper()
	answer, err := l.conn.RequestWithContext(l.ctx, subject, []byte(event))
	l.must(err)
	l.judge(subject, answer, answer.Data, "acknowledgement")
}

// judge holds a message against one of those of the document.
func (l *live) judge(what string, m *nats.Msg, doc []byte, name string) {
	l.t.Helper()
	if err := schematest.Payload(name, doc); err != nil {
		l.t.Errorf("%s is no %s: %s: %v", what, name, doc, err)
	}
	if err := schematest.Headers(name, m.Header); len(m.Header) > 0 && err != nil {
		l.t.Errorf("%s: %v", what, err)
	}
	l.seen[name] = true
}

// stored judges all that a stream has, each message by those of its channel. What
// anybody published may be none of them, what an engine writes may not.
func (l *live) stored(stream string, of map[string]channel) {
	l.t.Helper()
	s, err := l.js.Stream(l.ctx, stream)
	l.must(err)
	for seq := s.CachedInfo().State.FirstSeq; seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(l.ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		l.must(err)
		names := messagesOf(m.Subject, of)
		if slices.ContainsFunc(names, func(name string) bool {
			ok := (name == "deletion" || schematest.Payload(name, m.Data) == nil) && (len(m.Header) == 0 || schematest.Headers(name, m.Header) == nil)
			l.seen[name] = l.seen[name] || ok
			return ok
		}) {
			continue
		}
		if l.odd = append(l.odd, seq); strings.HasPrefix(m.Subject, "quota.consumption") || strings.HasPrefix(m.Subject, "quota.saturation") {
			continue
		}
		l.t.Errorf("%s, %v: %s is none of %v: %v", m.Subject, m.Header, m.Data, names, schematest.Payload(names[0], m.Data))
	}
}

// refused lists the messages of the log that have an invalid event.
func (l *live) refused() (list []uint64) {
	l.t.Helper()
	s, err := l.js.Stream(l.ctx, events.RejectedStream)
	l.must(err)
	for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(l.ctx, seq)
		l.must(err)
		r, err := events.ParseRejected(m.Data)
		l.must(err)
		if r.Reason == events.Invalid {
			list = append(list, r.Seq)
		}
	}
	return list
}

// messagesOf are those of the channel with that subject.
func messagesOf(subject string, of map[string]channel) []string {
	for _, c := range of {
		if c.Address == nil {
			continue
		}
		want, have := strings.Split(c.pattern(), "."), strings.Split(subject, ".")
		if len(want) == len(have) && slices.EqualFunc(want, have, func(w, h string) bool { return w == "*" || w == h }) {
			return slices.Sorted(maps.Keys(c.Messages))
		}
	}
	return []string{"nothing"}
}

// TestWhatAnEngineSays and writes: its answers of every kind, and all that the streams
// have, is as the document says.
func TestWhatAnEngineSays(t *testing.T) {
	l := start(t)
	told := make(chan *nats.Msg, 16)
	sub, err := l.conn.ChanSubscribe("quotashare.peer.hold", told)
	l.must(err)
	l.publish("quota.consumption", `{"id":"1","apiKeyId":"alice","connectionId":"c","cost":{"tokens":700.5,"usd":0.001}}`)
	l.publish("quota.consumption", `{"id":"1","apiKeyId":"alice","connectionId":"c"}`)
	l.publish("quota.consumption", `{"cost":{"token":1}}`)
	l.publish("quota.saturation", `{"connectionId":"c","readings":[{"window":"5h","usedPercent":41.5,"resetAt":"2199-08-14T12:00:00Z"}]}`)
	l.publish("quota.saturation", `[{"connectionId":"c","readings":[{"window":"5h","usedPercent":1}]},{}]`)
	l.publish("quota.adjustment", `{"apiKeyId":"alice","connectionId":"c","cost":{"tokens":-1},"reason":"refund"}`)
	l.publish("quota.release", `{"apiKeyId":"alice","requestId":"x"}`)
	l.ask("quota.decide", `{"apiKeyId":"alice","connectionId":"c","explain":true,"minSeq":10,"maxWaitMs":60000}`, "reply")
	l.ask("quota.decide", `{"apiKeyId":"bob","pool":"team:a","estimate":{"tokens":5000},"model":"m","explain":true}`, "reply")
	l.ask("quota.decide", `[{"apiKeyId":"carol","connectionId":"e"},{"apiKeyId":"","pool":"x"}]`, "replies")
	l.ask("quota.decide", `{"apiKeyId":"bob","connectionId":"c","minSeq":1000000}`, "reply")
	l.ask("quota.decide", `{"connectionId":"c"}`, "questionError")
	l.ask("quota.decide", `{"apiKeyId":"bob","connectionId":"d","requestId":"p","reserve":true,"maxWaitMs":0}`, "reply")
	l.ask("quota.route", `{"apiKeyId":"bob","candidates":[{"connectionId":"c","score":0.5},{"connectionId":"z"}],"requestId":"q","leaseMs":300,"explain":true,"maxWaitMs":60000}`, "reply")
	l.ask("quota.route", `{"apiKeyId":"bob","candidates":[{"connectionId":"c"}],"requestId":"r","leaseMs":300,"maxWaitMs":60000}`, "reply")
	l.ask("quota.route", `{"apiKeyId":"alice","candidates":[{"connectionId":"c"}],"requestId":"s","maxWaitMs":60000,"explain":true}`, "reply")
	l.ask("quota.route", `{"apiKeyId":"alice","pool":"team:a","requestId":"s","at":1}`, "questionError")
	l.judge("what deciders are told", <-told, (<-told).Data, "peerHold")
	l.must(sub.Unsubscribe())
	l.must(l.DeletePool(l.ctx, "team:a", httpapi.Meta{}))
	l.Stop() // what was decided is then in its stream
	for _, stream := range []string{events.Stream, events.RejectedStream, ingest.DecisionsStream} {
		l.stored(stream, channels(t))
	}
	if diff := cmp.Diff(l.refused(), l.odd); diff != "" {
		t.Errorf("messages that were refused (-) and that are no valid ones (+):\n%s", diff)
	}
	want := strings.Fields("acknowledgement adjustment consumption decisions deletion due hold peerHold plan pool questionError rejected release replies reply saturation settings")
	maps.DeleteFunc(l.seen, func(_ string, seen bool) bool { return !seen })
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(l.seen))); diff != "" {
		t.Errorf("messages to be seen (-) and seen (+):\n%s", diff)
	}
}

// TestTheServiceHasTheChannels: the endpoints of the micro service are those that the
// document says are asked, in its queue group.
func TestTheServiceHasTheChannels(t *testing.T) {
	l := start(t)
	answer, err := l.conn.RequestWithContext(l.ctx, "$SRV.INFO.quotashare", nil)
	l.must(err)
	var info struct {
		Endpoints []struct {
			Subject string
			Queue   string `json:"queue_group"`
		}
	}
	l.must(json.Unmarshal(answer.Data, &info))
	have := map[string]string{}
	for _, e := range info.Endpoints {
		have[e.Subject] = e.Queue
	}
	want := map[string]string{}
	doc := asyncAPI(t)
	operations, _ := doc["operations"].(object)
	for _, o := range operations {
		if queue, ok := at(o, "bindings", "nats", "queue").(string); ok {
			ref, _ := at(o, "channel", "$ref").(string)
			want[at(doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(object)["address"].(string)] = queue
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("operations (-) and endpoints (+):\n%s", diff)
	}
}
