package natsapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

const good = `{"apiKeyId":"k","pool":"p","model":"m"}`

func pack(t *testing.T, v any) string {
	t.Helper()
	data, err := msgpack.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestAnswers asks in every form; want is how the answer goes on behind the
// fields that never change.
func TestAnswers(t *testing.T) {
	r := start(t, nil, Config{})
	const reply = `{"decisionId":"","decision":"allow","reason":"m","deprioritize":false,"scoreFactor":0,"httpStatus":200,"asOf":{"seq":0,"time":"2000-01-01T00:00:00.000Z","lagMs":0}}`
	const missing = `{"error":{"message":"connectionId is missing: name a connection, or a pool","type":"invalid_request_error","code":"invalid"}}`
	const past = `{"error":{"message":"at is before the state","type":"invalid_request_error","code":"at-too-old"}}`
	typed := nats.Header{"content-type": {"application/json; charset=utf-8"}}
	tests := []struct {
		name, ask   string
		header      nats.Header
		want        string
		code        string
		contentType string
	}{
		{"one", good, nil, reply, "", ""},
		{"with its type", good, typed, reply, "", "application/json"},
		{"an array", `[` + good + `,{"apiKeyId":"k"},` + good + `]`, nil, `[` + reply + `,` + missing + `,` + reply + `]`, "", ""},
		{"an array of bad ones", `[{"apiKeyId":"k"}]`, nil, `[` + missing + `]`, "", ""},
		{"an empty array", `[]`, nil, `[]`, "", ""},
		{"a bad one", `{"apiKeyId":"k"}`, nil, missing, "400", "application/json"},
		{"the decider's error", `{"apiKeyId":"k","pool":"p","at":1790000000000}`, nil, past, "400", "application/json"},
		{"an array with the decider's error", `[{"apiKeyId":"k","pool":"p","at":1790000000000}]`, nil, `[` + past + `]`, "", ""},
		{
			"not JSON", `{"apiKeyId":`, nil,
			`{"error":{"message":"the message is not well formed: unexpected EOF","type":"invalid_request_error","code":"undecodable"}}`, "400", "application/json",
		},
		{"nothing", ``, nil, `{"error":{"message":"the message is empty","type":"invalid_request_error","code":"undecodable"}}`, "400", "application/json"},
		{
			"an array of 100,000", `[` + strings.Repeat(`{},`, 99_999) + `{}]`, nil,
			`{"error":{"message":"the array has more than 1000 questions: split it","type":"invalid_request_error","code":"too-many"}}`, "413", "application/json",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := r.ask(tt.ask, tt.header)
			if diff := cmp.Diff(tt.want, string(m.Data)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if code := m.Header.Get("Nats-Service-Error-Code"); code != tt.code {
				t.Errorf("error code %q, want %q", code, tt.code)
			}
			if contentType := m.Header.Get("Content-Type"); contentType != tt.contentType {
				t.Errorf("content type %q, want %q", contentType, tt.contentType)
			}
			if message := m.Header.Get("Nats-Service-Error"); tt.code != "" && !strings.Contains(tt.want, message) || (message == "") != (tt.code == "") {
				t.Errorf("error header %q", message)
			}
		})
	}
}

func TestMsgpackIsAnsweredInMsgpack(t *testing.T) {
	r := start(t, nil, Config{})
	question := map[string]any{"apiKeyId": "k", "pool": "p", "model": "m"}
	bad := map[string]any{"apiKeyId": "k"}
	for _, tt := range []struct {
		name, ask string
		header    nats.Header
		replies   int
	}{
		{"told by its first byte", pack(t, question), nil, 1},
		{"told by its type", pack(t, []any{question, bad}), nats.Header{"Content-Type": {"application/msgpack"}}, 2},
		{"a bad one", pack(t, bad), nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := r.ask(tt.ask, tt.header)
			replies, err := questions.ParseReplies(m.Data, wire.Msgpack)
			if err != nil || len(replies) != tt.replies {
				t.Fatalf("%v: %q", err, m.Data)
			}
			for i, reply := range replies {
				if isBad := i == 1 || tt.ask == pack(t, bad); (reply.Err != nil) != isBad || (!isBad && reply.Reason != "m") {
					t.Errorf("reply %d is %+v", i, reply)
				}
			}
			if contentType := m.Header.Get("Content-Type"); tt.header != nil && contentType != "application/msgpack" {
				t.Errorf("content type %q", contentType)
			}
		})
	}
}

// TestReplySubjects: an answer must not become an event, a configuration or a
// command to the broker. Questions are handled in order, so when the last is
// answered the others have been seen.
func TestReplySubjects(t *testing.T) {
	r := start(t, nil, Config{})
	var mu sync.Mutex
	var seen []string
	for _, subject := range []string{"quota.>", "quotashare.>", "$KV.>"} {
		_, err := r.client.Subscribe(subject, func(m *nats.Msg) {
			mu.Lock()
			defer mu.Unlock()
			if m.Subject != questions.Subject {
				seen = append(seen, m.Subject)
			}
		})
		r.must(err)
	}
	for _, data := range []string{good, "7"} {
		for _, to := range []string{"quota.config.pool.x", "quota.consumption", "quotashare.peer.hold", "$KV.b.k"} {
			r.must(r.client.PublishRequest(questions.Subject, to, []byte(data)))
		}
		r.must(r.client.Publish(questions.Subject, []byte(data)))
	}
	r.ask(good, nil)
	r.must(r.client.Flush())
	mu.Lock()
	defer mu.Unlock()
	counts := r.server.Counts()
	if len(seen) > 0 || counts.Refused.Load() != 8 || counts.NoReply.Load() != 2 || counts.Questions.Load() != 1 {
		t.Errorf("answers went to %v; refused %d, without reply %d, questions %d", seen, counts.Refused.Load(), counts.NoReply.Load(), counts.Questions.Load())
	}
	sub, err := r.client.SubscribeSync("quotas.are.fine")
	r.must(err)
	r.send(sub, good)
	r.next(sub)
}

// TestWaitingIsBeside: a question that waits holds up no other.
func TestWaitingIsBeside(t *testing.T) {
	r := start(t, nil, Config{})
	r.decider.applied.Store(5)
	waiter := r.inbox()
	r.send(waiter, `{"apiKeyId":"k","pool":"p","minSeq":6,"maxWaitMs":3600000}`)
	r.send(waiter, `[{"apiKeyId":"k","pool":"p"},{"apiKeyId":"k","connectionId":"c","reserve":true}]`)
	<-r.decider.waiting
	<-r.decider.waiting
	if m := r.ask(`{"apiKeyId":"k","pool":"p","minSeq":5}`, nil); !strings.Contains(string(m.Data), `"seq":5`) {
		t.Errorf("got %s", m.Data)
	}
	if counts := r.server.Counts(); counts.Waiting.Load() != 2 || counts.Waits.Load() != 2 {
		t.Errorf("%d wait, %d waited, want 2", counts.Waiting.Load(), counts.Waits.Load())
	}
	r.decider.advance(6)
	for range 2 {
		if data := r.next(waiter); !strings.Contains(data, `"seq":6`) || strings.Contains(data, "degraded") {
			t.Errorf("got %s", data)
		}
	}
	r.ask(good, nil) // which does not wait, with the memory of one that did
	r.must(r.server.Stop(t.Context()))
	registry := prometheus.NewRegistry()
	for _, one := range r.server.Latencies() {
		r.must(registry.Register(one))
	}
	families, err := registry.Gather()
	r.must(err)
	took := map[string]uint64{}
	for _, m := range families[0].GetMetric() {
		took[m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
	}
	if took["no"] != 2 || took["yes"] != 2 {
		t.Errorf("latencies by whether it waited: %v", took)
	}
}

// TestBegunAndAnsweredAtOnce takes no room from those that wait.
func TestBegunAndAnsweredAtOnce(t *testing.T) {
	r := start(t, nil, Config{MaxWaiting: 1})
	for range 3 {
		if m := r.ask(`{"apiKeyId":"k","connectionId":"c","model":"now","reserve":true}`, nil); !strings.Contains(string(m.Data), `"reason":"now"`) {
			t.Errorf("got %s", m.Data)
		}
	}
	r.must(r.server.Stop(t.Context()))
	if counts := r.server.Counts(); counts.Waits.Load() != 3 || counts.Waiting.Load() != 0 || counts.Hurried.Load() != 0 {
		t.Errorf("%d waited, %d wait, %d hurried", counts.Waits.Load(), counts.Waiting.Load(), counts.Hurried.Load())
	}
}

// TestWaitingIsBounded: beyond the bound a question is answered at once, and
// says what it lacks.
func TestWaitingIsBounded(t *testing.T) {
	r := start(t, nil, Config{MaxBehind: 1})
	waiter := r.inbox()
	const waits = `{"apiKeyId":"k","pool":"p","minSeq":6,"maxWaitMs":3600000}`
	r.send(waiter, waits)
	<-r.decider.waiting
	if m := r.ask(waits, nil); !strings.Contains(string(m.Data), `"degraded":["min-seq"]`) {
		t.Errorf("got %s", m.Data)
	}
	r.decider.advance(6)
	r.next(waiter)
	r.decider.applied.Store(0) // so that the next waits again, for a moment
	if m := r.ask(waits, nil); strings.Contains(string(m.Data), `degraded`) {
		t.Errorf("after the first went: %s", m.Data)
	}
	if n := r.server.Counts().Hurried.Load(); n != 1 {
		t.Errorf("%d hurried, want 1", n)
	}
}

// TestEitherWaitHasItsBound: those that wait for a sequence keep nobody from a
// verdict, nor the other way round. One that waits for both and finds no room for the
// sequence waits for the verdict.
func TestEitherWaitHasItsBound(t *testing.T) {
	r := start(t, nil, Config{MaxBehind: 1, MaxWaiting: 2})
	const (
		sequence = `{"apiKeyId":"k","pool":"p","minSeq":6,"maxWaitMs":3600000}`
		verdict  = `{"apiKeyId":"k","connectionId":"c","reserve":true}`
		both     = `{"apiKeyId":"k","connectionId":"c","reserve":true,"minSeq":6}`
	)
	for i, step := range []struct {
		question     string
		waits        bool
		hurriedSoFar uint64
	}{
		{sequence, true, 0},
		{verdict, true, 0},
		{sequence, false, 1},
		{both, true, 2},
		{verdict, false, 3},
		{both, false, 4},
	} {
		if step.waits {
			r.send(r.inbox(), step.question)
			<-r.decider.waiting
		} else if m := r.ask(step.question, nil); !strings.Contains(string(m.Data), `"degraded":["min-seq"]`) {
			t.Errorf("step %d: %s", i, m.Data)
		}
		if n := r.server.Counts().Hurried.Load(); n != step.hurriedSoFar {
			t.Errorf("step %d: %d hurried, want %d", i, n, step.hurriedSoFar)
		}
	}
	if n := r.server.Counts().Waiting.Load(); n != 3 {
		t.Errorf("%d wait, want 3", n)
	}
}

func TestPanicEndsNothing(t *testing.T) {
	var log bytes.Buffer
	r := start(t, nil, Config{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	for _, data := range []string{
		`{"apiKeyId":"panic","pool":"p"}`,
		`{"apiKeyId":"panic","connectionId":"c","reserve":true}`,
		`[{"apiKeyId":"k","pool":"p"},{"apiKeyId":"panic","pool":"p"}]`,
	} {
		m := r.ask(data, nil)
		if m.Header.Get("Nats-Service-Error-Code") != "500" || !strings.Contains(string(m.Data), `"type":"server_error","code":"internal"`) {
			t.Errorf("got %v %s", m.Header, m.Data)
		}
		r.ask(good, nil)
	}
	r.must(r.server.Stop(t.Context()))
	if counts := r.server.Counts(); counts.Panics.Load() != 3 || counts.Errors.Load() != 3 || counts.Waiting.Load() != 0 {
		t.Errorf("%d panics, %d errors, %d wait", counts.Panics.Load(), counts.Errors.Load(), counts.Waiting.Load())
	}
	var line struct{ Panic, Stack string }
	if err := json.NewDecoder(&log).Decode(&line); err != nil || line.Panic != "on demand" || !strings.Contains(line.Stack, "echoing") {
		t.Errorf("%v: logged %+v", err, line)
	}
}

func TestAnswerBeyondMaxPayload(t *testing.T) {
	r := start(t, func(o *server.Options) { o.MaxPayload = 2048 }, Config{})
	m := r.ask(`[`+strings.TrimSuffix(strings.Repeat(`{"apiKeyId":"k","pool":"p"},`, 50), ",")+`]`, nil)
	replies, err := questions.ParseReplies(m.Data, wire.JSON)
	r.must(err)
	want := &questions.Error{Code: "too-large", Message: "the answer has 8201 bytes and the broker takes 2048: ask fewer questions at once, or without explain"}
	if diff := cmp.Diff(want, replies[0].Err); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if code := m.Header.Get("Nats-Service-Error-Code"); code != "413" {
		t.Errorf("error code %q", code)
	}
	r.ask(good, nil)
}

// TestWhatIsHeldIsTold: an answer with holds is sent without dimensions when it does
// not fit with them. If it does not fit either, nobody knows of the holds, and they end.
func TestWhatIsHeldIsTold(t *testing.T) {
	r := start(t, func(o *server.Options) { o.MaxPayload = 2048 }, Config{})
	const asked = `{"apiKeyId":"k","connectionId":"c","model":"now","reserve":%v,"explain":true,"requestId":"%d"},`
	ask := func(reserving, plain int) (*nats.Msg, []questions.Reply) {
		all := "["
		for i := range reserving + plain {
			all += fmt.Sprintf(asked, i < reserving, i)
		}
		m := r.ask(strings.TrimSuffix(all, ",")+"]", nil)
		replies, err := questions.ParseReplies(m.Data, wire.JSON)
		r.must(err)
		return m, replies
	}
	_, replies := ask(1, 1)
	for i, reply := range replies {
		if reply.Err != nil || reply.RequestID != fmt.Sprint(i) || reply.Explained || !strings.HasPrefix(reply.Detail, "without dimensions: with them the answer has 2") || !strings.HasSuffix(reply.Detail, "and the broker takes 2048") {
			t.Errorf("reply %d is %+v", i, reply)
		}
	}
	if len(replies) != 2 || len(r.decider.released) > 0 || r.server.Counts().Errors.Load() > 0 {
		t.Errorf("%d replies, released are %q", len(replies), r.decider.released)
	}
	if _, replies := ask(0, 2); len(replies) != 1 || replies[0].Err == nil || !strings.HasSuffix(replies[0].Err.Message, "or without explain") {
		t.Errorf("nothing is held: %+v", replies)
	}
	m, replies := ask(2, 9)
	if len(replies) != 1 || replies[0].Err == nil || !strings.HasSuffix(replies[0].Err.Message, "or without explain; the holds that it opened are released") {
		t.Errorf("got %s", m.Data)
	}
	if got := strings.Join(r.decider.released, " "); got != "0 1" || m.Header.Get("Nats-Service-Error-Code") != "413" {
		t.Errorf("released are %q, error code %q", got, m.Header.Get("Nats-Service-Error-Code"))
	}
}

// TestQuestionBeyondMaxPayload: the broker takes no message of 2 MB. A client
// library refuses it itself; one that sends it all the same is told and cut off.
func TestQuestionBeyondMaxPayload(t *testing.T) {
	r := start(t, nil, Config{})
	large := make([]byte, 2<<20)
	if _, err := r.client.Request(questions.Subject, large, patience); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("the library says %v", err)
	}
	conn, err := net.Dial("tcp", r.ns.Addr().String())
	r.must(err)
	defer conn.Close()
	r.must(conn.SetDeadline(time.Now().Add(patience)))
	_, err = fmt.Fprintf(conn, "CONNECT {\"verbose\":false}\r\nPUB %s inbox %d\r\n", questions.Subject, len(large))
	r.must(err)
	var got bytes.Buffer
	_, _ = got.ReadFrom(conn) // until the broker closes, with or without a reset
	if !strings.Contains(got.String(), "-ERR 'Maximum Payload Violation'") {
		t.Errorf("the broker says %q", got.String())
	}
	r.ask(good, nil)
	if n := r.server.Counts().Messages.Load(); n != 1 {
		t.Errorf("%d messages came in, want the good one alone", n)
	}
}

// TestAnswersAtOnce asks from many goroutines at once, some of whom wait.
func TestAnswersAtOnce(t *testing.T) {
	r := start(t, nil, Config{})
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			for j := range 20 {
				id := fmt.Sprintf("%d-%d", i, j)
				reserve := (i+j)%3 == 0
				data := fmt.Sprintf(`{"apiKeyId":"k","connectionId":"c","requestId":%q,"reserve":%v}`, id, reserve)
				m, err := r.client.Request(questions.Subject, []byte(data), patience)
				if err != nil || !strings.Contains(string(m.Data), `"requestId":"`+id+`"`) {
					t.Errorf("%s: %v", id, err)
				}
			}
		})
	}
	r.decider.advance(1)
	group.Wait()
}
