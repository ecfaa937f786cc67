package schemas_test

import (
	"encoding/json"
	"errors"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

// codec is who reads one kind of document.
type codec struct {
	message string // of the AsyncAPI document, whose payload it is
	read    func(doc []byte) error
	full    []string // valid, and together with every field there is
}

var codecs = []codec{
	{"consumption", event("quota.consumption"), []string{
		`{"id":"e","time":"2026-01-02T03:04:05Z","apiKeyId":"k","connectionId":"c","provider":"p","model":"m","requestId":"r","partial":true,"estimated":true,
			"cost":{"requests":1,"tokens":1,"usd":1,"percent":1}}`,
		`[{"apiKeyId":"k","connectionId":"c"}]`,
	}},
	{"adjustment", event("quota.adjustment"), []string{
		`{"id":"e","time":1767323045000,"apiKeyId":"k","connectionId":"c","provider":"p","model":"m","requestId":"r","cost":{"requests":-1,"tokens":1,"usd":-1,"percent":1},"reason":"r"}`,
	}},
	{"saturation", event("quota.saturation"), []string{
		`{"id":"e","time":"2026-01-02T03:04:05Z","connectionId":"c","provider":"p","readings":[{"window":"5h","scope":"s","usedPercent":1,"resetAt":"2026-01-02T03:04:05Z"}]}`,
		`{"connectionId":"c","status":429,"headers":{"a":"b","c":["d"],"e":1}}`,
	}},
	{"release", event("quota.release"), []string{`{"id":"e","time":"2026-01-02T03:04:05Z","apiKeyId":"k","requestId":"r","decisionId":"d"}`}},
	{"hold", event("quota.hold"), []string{
		`{"id":"e","time":"2026-01-02T03:04:05Z","apiKeyId":"k","requestId":"r","connectionId":"c","model":"m","estimate":{"requests":1,"tokens":1,"usd":1,"percent":1},
			"leaseMs":1,"maxWaitMs":1,"decisionId":"d"}`,
		`{"id":"e","apiKeyId":"k","requestId":"r","pool":"p","estimate":{},"leaseMs":1,"decisionId":"d"}`,
		`{"id":"e","apiKeyId":"k","requestId":"r","candidates":[{"connectionId":"a","score":1},{"connectionId":"b"}],"estimate":{},"leaseMs":1,"decisionId":"d"}`,
	}},
	{"due", event("quota.due"), []string{`{"id":"e","time":"2026-01-02T03:04:05Z"}`}},
	{"cloudEvent", cloudEvent, []string{
		`{"specversion":"1.0","type":"quota.release","source":"/g","id":"e","time":"2026-01-02T03:04:05Z","data":{"apiKeyId":"k","requestId":"r"}}`,
		`{"specversion":"1.0","type":"quota.saturation","source":"/g","id":"e","data":{"connectionId":"c","readings":[]}}`,
		`{"specversion":"1.0","type":"quota.consumption","source":"/g","id":"e","datacontenttype":"application/json","data_base64":"eyJhcGlLZXlJZCI6ImsiLCJjb25uZWN0aW9uSWQiOiJjIn0="}`,
	}},
	{"pool", pool, []string{
		`{"id":"a","name":"A","provider":"kimi","mode":"observe","rule":"guarantee","reserve":50,"onDegraded":"closed",
			"connections":[{"connectionId":"c","weight":2,"maxConcurrent":3}],"connectionIds":["c"],"connectionId":"c",
			"allocations":[{"apiKeyId":"k","weight":50,"policy":"soft","suspended":true,"caps":[{"unit":"tokens","window":"5h","value":1}],"capUnit":"tokens","capValue":5}],
			"modelCaps":[{"apiKeyId":"k","model":"m","capUnit":"requests","capValue":1}],"createdAt":"2026-01-02T03:04:05Z"}`,
		`{"id":"a","name":"A","provider":"kimi","connectionIds":["c"]}`,
		`{"id":"a","name":"A","provider":"kimi","connectionId":"c"}`,
	}},
	{"plan", plan, []string{`{"connectionId":"c","dimensions":[{"unit":"percent","window":"daily","limit":2.5}]}`}},
	{"settings", settings, []string{
		`{"values":{"saturationThreshold":{"value":0.5,"source":"stored"},"softDeprioritizeFactor":{"value":1,"source":"environment","from":"d"},
			"consumptionRetentionDays":{"value":1,"source":"stored"},"signalTtlMs":{"value":1,"source":"stored"},"holdTtlMs":{"value":1,"source":"stored"},
			"decisionSampleRate":{"value":0,"source":"stored"},"maxLagMs":{"value":1,"source":"stored"}}}`,
	}},
	{"question", question((*questions.Request).Decode), []string{
		`{"apiKeyId":"k","connectionId":"c","model":"m","estimate":{"requests":1,"tokens":1,"usd":1,"percent":1},"requestId":"r","reserve":false,"leaseMs":1,
			"at":"2026-01-02T03:04:05Z","minSeq":1,"maxWaitMs":1,"explain":true}`,
		`{"apiKeyId":"k","connectionId":"c","reserve":true}`,
		`{"apiKeyId":"k","pool":"p"}`,
		`{"specversion":"1.0","type":"quota.decide","source":"/g","id":"q","data":{"apiKeyId":"k","connectionId":"c"}}`,
	}},
	{"routeQuestion", question((*questions.Request).DecodeRoute), []string{
		`{"apiKeyId":"k","pool":"p","model":"m","estimate":{"requests":1},"requestId":"r","reserve":true,"leaseMs":1,"minSeq":1,"maxWaitMs":1,"explain":true}`,
		`{"apiKeyId":"k","route":"qtSd/p/kimi/m"}`,
		`{"apiKeyId":"k","candidates":[{"connectionId":"a","score":1},{"connectionId":"b"}]}`,
		`{"specversion":"1.0","type":"quota.route","source":"/g","id":"q","data":{"apiKeyId":"k","pool":"p"}}`,
	}},
}

// event reads what is published to a subject.
func event(subject string) func(doc []byte) error {
	return func(doc []byte) error {
		_, err := decode(&events.Message{Subject: subject, Data: doc})
		return err
	}
}

// decode returns the first event of a message, or what is wrong with any of them.
func decode(m *events.Message) (*events.Event, error) {
	items := events.Decode(m, nil)
	for _, it := range items {
		if it.Err != nil {
			return nil, it.Err
		}
	}
	return &items[0].Event, nil
}

// cloudEvent reads an envelope where its type says, which is where it was sent to.
func cloudEvent(doc []byte) error {
	var envelope struct{ Type any }
	_ = json.Unmarshal(doc, &envelope) // what is none has no type
	name, _ := envelope.Type.(string)
	k, ok := events.ParseKind(name)
	if !ok || k > events.Release {
		k = events.Consumption
	}
	_, err := decode(&events.Message{
		Subject: k.Subject(""), Data: doc, Header: map[string][]string{events.HeaderContentType: {"application/cloudevents+json"}},
	})
	return err
}

// document reads a document of configuration, under the id that it has.
func document(kind events.Kind, idField string, doc []byte) (*events.Event, error) {
	var fields map[string]any
	_ = json.Unmarshal(doc, &fields) // what is none has no id
	id, _ := fields[idField].(string)
	if id == "" {
		id = "x"
	}
	return decode(&events.Message{Subject: kind.Subject(id), Data: doc, Header: map[string][]string{events.HeaderConfig: {events.ConfigPut}}})
}

func pool(doc []byte) error {
	e, err := document(events.ConfigPool, "id", doc)
	if err != nil {
		return err
	}
	_, faults := plans.ParsePool(e.ConfigID, e.Document)
	return faults.Err()
}

func plan(doc []byte) error {
	e, err := document(events.ConfigPlan, "connectionId", doc)
	if err != nil {
		return err
	}
	_, faults := plans.ParsePlan(e.Document)
	return faults.Err()
}

func settings(doc []byte) error {
	e, err := document(events.ConfigSettings, "", doc)
	if err != nil {
		return err
	}
	_, faults := plans.ParseSettings(e.Document)
	return faults.Err()
}

func question(read func(*questions.Request, []byte, wire.Encoding) *questions.Error) func([]byte) error {
	return func(doc []byte) error {
		var r questions.Request
		if err := read(&r, doc, wire.JSON); err != nil {
			return err
		}
		if len(r.Bad) > 0 {
			return errors.New(r.Bad[0].Err.Message)
		}
		return nil
	}
}
