package schemas_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/schemas"
	"github.com/quotashare/quotashare/schemas/schematest"
)

// asyncAPI is the document as it is served.
func asyncAPI(t *testing.T) object {
	t.Helper()
	data, err := schemas.AsyncAPI("1.2.3-\"x\"")
	if err != nil {
		t.Fatal(err)
	}
	doc := parsed(t, string(data)).(object)
	if v := at(doc, "info", "version"); v != "1.2.3-\"x\"" {
		t.Errorf("version is %v", v)
	}
	return doc
}

// at is what is under the names, nil when there is nothing.
func at(v any, names ...string) any {
	for _, name := range names {
		o, _ := v.(object)
		v = o[name]
	}
	return v
}

// channel is one of the document.
type channel struct {
	Address  *string
	Stream   string `json:"x-stream"`
	Messages map[string]struct {
		Ref string `json:"$ref"`
	}
	Parameters map[string]any
}

func channels(t *testing.T) map[string]channel {
	t.Helper()
	text, err := json.Marshal(asyncAPI(t)["channels"])
	if err != nil {
		t.Fatal(err)
	}
	var list map[string]channel
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// pattern is the subject that a broker would know the channel by: a tail is any number
// of tokens, another parameter one.
func (c channel) pattern() string {
	address := *c.Address
	for name := range c.Parameters {
		token := "*"
		if name == "tail" {
			token = ">"
		}
		address = strings.ReplaceAll(address, "{"+name+"}", token)
	}
	return address
}

// TestEveryReferenceLeadsSomewhere within the document itself.
func TestEveryReferenceLeadsSomewhere(t *testing.T) {
	doc := asyncAPI(t)
	found := 0
	each(doc, func(name string, v any) bool {
		ref, isText := v.(string)
		if name != "$ref" || !isText {
			return false
		}
		found++
		path, inside := strings.CutPrefix(ref, "#/")
		if !inside || at(doc, strings.Split(path, "/")...) == nil {
			t.Errorf("$ref %s leads nowhere", ref)
		}
		return false
	})
	if found < 300 {
		t.Errorf("%d references", found)
	}
}

// TestEverySubjectHasAChannel, with the stream that keeps it, and there is no other.
func TestEverySubjectHasAChannel(t *testing.T) {
	want := map[string]string{questions.Subject: "", questions.RouteSubject: "", "quotashare.peer.hold": ""}
	for _, s := range events.StreamSubjects() {
		want[s] = events.Stream
	}
	delete(want, events.ConfigPrefix+">") // three of our channels
	want[events.ConfigPool.String()+".*"], want[events.ConfigPlan.String()+".*"], want[events.SettingsSubject] = events.Stream, events.Stream, events.Stream
	want[events.RejectedPrefix+"*.*"], want[ingest.DecisionsPrefix+"*"] = events.RejectedStream, ingest.DecisionsStream
	have := map[string]string{}
	for name, c := range channels(t) {
		if c.Address == nil {
			continue
		}
		if _, twice := have[c.pattern()]; twice {
			t.Errorf("%s has the subject of another channel", name)
		}
		have[c.pattern()] = c.Stream
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("subjects with their streams (-) and channels (+):\n%s", diff)
	}
	var streams []string
	for _, s := range ingest.Configs(14, 1) {
		streams = append(streams, s.Name)
	}
	for _, stream := range slices.Compact(slices.Sorted(maps.Values(have))) {
		if stream != "" && !slices.Contains(streams, stream) {
			t.Errorf("there is no stream %s", stream)
		}
	}
}

// TestEveryEventIsOnItsChannel: what is published to the subject of a kind is a message
// of the channel with that subject.
func TestEveryEventIsOnItsChannel(t *testing.T) {
	of := map[string]channel{}
	for _, c := range channels(t) {
		if c.Address != nil {
			of[c.pattern()] = c
		}
	}
	for _, c := range codecs {
		var subject string
		for k := events.Consumption; k <= events.ConfigSettings; k++ {
			if strings.HasSuffix(k.String(), "."+c.message) {
				subject = k.Subject("*")
			}
		}
		if subject == "" {
			continue // of questions and envelopes
		}
		subject = strings.Replace(subject, "%2A", "*", 1)
		if want := "#/components/messages/" + c.message; of[subject].Messages[c.message].Ref != want {
			t.Errorf("%s has no message %s: %v", subject, c.message, of[subject].Messages)
		}
	}
}

// TestEverythingOfTheDocumentIsUsed: messages by channels, and channels by operations.
func TestEverythingOfTheDocumentIsUsed(t *testing.T) {
	doc := asyncAPI(t)
	used := map[string]bool{}
	note := func(name string, v any) bool {
		if ref, ok := v.(string); ok && name == "$ref" {
			used[ref] = true
		}
		return false
	}
	each(doc["channels"], note)
	each(doc["operations"], note)
	each(doc["servers"], note)
	each(at(doc, "components", "messages"), note)
	each(at(doc, "components", "schemas"), note)
	for _, list := range [][]string{{"channels"}, {"components", "messages"}, {"components", "schemas"}, {"components", "securitySchemes"}} {
		all, _ := at(doc, list...).(object)
		for name := range all {
			if ref := "#/" + strings.Join(list, "/") + "/" + name; !used[ref] {
				t.Errorf("%s is used by nobody", ref)
			}
		}
	}
}

// TestMessagesHaveWhatTheyNeed: a title and a summary, and examples that are valid, the
// headers too.
func TestMessagesHaveWhatTheyNeed(t *testing.T) {
	messages, _ := at(asyncAPI(t), "components", "messages").(object)
	for name, m := range messages {
		if at(m, "name") != name || at(m, "title") == nil || at(m, "summary") == nil || at(m, "payload") == nil && name != "deletion" {
			t.Errorf("message %s has no name, title, summary or payload", name)
		}
		examples, _ := at(m, "examples").([]any)
		for _, e := range examples {
			if payload := at(e, "payload"); payload != nil {
				if err := schematest.Payload(name, marshal(t, payload)); err != nil {
					t.Errorf("message %s, example %v: %v", name, at(e, "name"), err)
				}
			}
			headers, _ := at(e, "headers").(object)
			if err := schematest.Headers(name, sent(headers)); headers != nil && err != nil {
				t.Errorf("message %s, example %v: %v", name, at(e, "name"), err)
			}
		}
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// sent are headers as NATS has them.
func sent(headers object) map[string][]string {
	list := map[string][]string{}
	for name, v := range headers {
		list[name] = []string{fmt.Sprint(v)}
	}
	return list
}

// sample is an example of a message, as it is sent to one of its channels.
type sample struct {
	name    string
	message *events.Message
}

// samples are those of all messages of the log, on each of their channels.
func samples(t *testing.T) (list []sample) {
	doc := asyncAPI(t)
	for name, c := range channels(t) {
		if c.Stream != events.Stream {
			continue
		}
		subject := strings.NewReplacer("{tail}", "eu.1", "{poolId}", "team-a", "{connectionId}", "kimi-1").Replace(*c.Address)
		for message := range c.Messages {
			m := at(doc, "components", "messages", message)
			examples, _ := at(m, "examples").([]any)
			for _, e := range examples {
				headers, _ := at(e, "headers").(object)
				sample := sample{name + ", " + message, &events.Message{Subject: subject, Header: sent(headers), Data: marshal(t, at(e, "payload"))}}
				if media, ok := at(m, "contentType").(string); ok {
					sample.message.Header[events.HeaderContentType] = []string{media}
				}
				list = append(list, sample)
			}
		}
	}
	return list
}

// TestExamplesAreRead with the headers that they have, and without one of those that
// are required, and of no other, they are not. Without ce-specversion a message is no CloudEvent, and may
// be an event all the same.
func TestExamplesAreRead(t *testing.T) {
	read := 0
	for _, s := range samples(t) {
		if kind := inEnvelope(s.message.Data); kind != "" && !strings.HasPrefix(s.message.Subject, kind) {
			continue
		}
		read++
		if _, err := decode(s.message); err != nil {
			t.Errorf("channel %s: %v", s.name, err)
		}
		for name := range s.message.Header {
			without := *s.message
			without.Header = maps.Clone(s.message.Header)
			delete(without.Header, name)
			_, err := decode(&without)
			_, message, _ := strings.Cut(s.name, ", ")
			if said := schematest.Headers(message, without.Header); (said == nil) != (err == nil) && name != "ce-specversion" {
				t.Errorf("channel %s, without the header %s: the decoder says %v, and the document %v", s.name, name, err, said)
			}
		}
	}
	if read != 34 {
		t.Errorf("%d examples were read", read)
	}
}

// inEnvelope is the type of a CloudEvent, or of the first of an array.
func inEnvelope(data []byte) string {
	var one struct{ Type string }
	var list []struct{ Type string }
	if json.Unmarshal(data, &list) == nil && len(list) > 0 {
		one = list[0]
	}
	_ = json.Unmarshal(data, &one) // what is no envelope has no type
	return one.Type
}

// TestHeadersOfTheCodeAreDescribed, under the names that the code has.
func TestHeadersOfTheCodeAreDescribed(t *testing.T) {
	var have []string
	list, _ := at(asyncAPI(t), "components", "schemas").(object)
	for name, s := range list {
		if strings.HasSuffix(name, "Headers") {
			properties, _ := at(s, "properties").(object)
			have = append(have, slices.Collect(maps.Keys(properties))...)
		}
	}
	for _, name := range []string{events.HeaderConfig, events.HeaderActor, events.HeaderReason, events.HeaderTTL, events.HeaderContentType, events.HeaderMsgID} {
		if !slices.Contains(have, name) {
			t.Errorf("no header is %s", name)
		}
	}
}
