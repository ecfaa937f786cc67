package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/wire"
)

// used is one token of alice.
func used(id string) Consumption {
	return Consumption{ID: id, APIKeyID: "alice", ConnectionID: "c", Cost: Amounts{Tokens: 1}}
}

// gated is the real way to the broker with a gate before it: every message of events
// that is to be stored is announced, and waits for what becomes of it.
type gated struct {
	transport

	messages chan message
	verdicts chan verdict
	bytes    atomic.Int64 // room, when it is not 0
}

type message struct {
	subject, id string
	body        []byte
}

// verdict says whether a message is stored, and what the client hears.
type verdict struct {
	store bool
	err   error
}

func (g *gated) store(ctx context.Context, subject, id string, body []byte) error {
	select {
	case g.messages <- message{subject, id, slices.Clone(body)}:
	case <-ctx.Done():
		return ctx.Err()
	}
	v := <-g.verdicts
	if v.store {
		if err := g.transport.store(ctx, subject, id, body); err != nil {
			return err
		}
	}
	return v.err
}

func (g *gated) room() int {
	if n := int(g.bytes.Load()); n != 0 {
		return n
	}
	return g.transport.room()
}

// gatedClient returns a client behind a gate, and the log it writes to.
func gatedClient(t *testing.T, change func(*Options)) (*Client, *gated, jetstream.Stream, *lines) {
	t.Helper()
	b := startBroker(t)
	nc := b.Connect()
	stream := b.log(nc)
	said := newLines()
	o := Options{Conn: nc, Logger: slog.New(slog.NewTextHandler(said, nil))}
	if change != nil {
		change(&o)
	}
	o, err := o.prepare()
	must(t, err)
	way, err := newOverNATS(&o)
	must(t, err)
	g := &gated{transport: way, messages: make(chan message), verdicts: make(chan verdict)}
	c := begin(o, g, nil)
	t.Cleanup(func() { _ = c.Close(within(t)) })
	return c, g, stream, said
}

// next lets a message pass, or says what becomes of it instead.
func (g *gated) next(t *testing.T, v verdict) message {
	t.Helper()
	m := g.wait(t)
	g.verdicts <- v
	return m
}

func (g *gated) wait(t *testing.T) message {
	t.Helper()
	select {
	case m := <-g.messages:
		return m
	case <-within(t).Done():
		t.Fatal("no message comes")
		return message{}
	}
}

var pass = verdict{store: true}

// events decodes a message as the engine does.
func (m message) events(t *testing.T) (list []events.Event) {
	t.Helper()
	for _, item := range events.Decode(&events.Message{Subject: m.subject, Data: m.body}, nil) {
		if item.Err != nil {
			t.Fatalf("the engine refuses %s: %v", item.Raw, item.Err)
		}
		list = append(list, item.Event)
	}
	return list
}

// TestWhatComesMeanwhileIsTheNextMessage: an event alone goes at once, the others
// together, in their order, with at most as many as a message may have.
func TestWhatComesMeanwhileIsTheNextMessage(t *testing.T) {
	c, g, _, _ := gatedClient(t, nil)
	for i := range 2501 {
		must(t, c.Publish(used(fmt.Sprint(i))))
		if i == 0 {
			g.wait(t) // it is under way
		}
	}
	g.verdicts <- pass
	at, seen := 1, map[string]bool{}
	for _, want := range []int{1000, 1000, 500} {
		m := g.next(t, pass)
		list := m.events(t)
		if len(list) != want || seen[m.id] {
			t.Errorf("a message of %d under %q, want %d under a new id", len(list), m.id, want)
		}
		seen[m.id] = true
		for _, e := range list {
			if e.ID != fmt.Sprint(at) {
				t.Fatalf("%s in the place of %d", e.ID, at)
			}
			at++
		}
	}
	must(t, c.Flush(within(t)))
	if s := c.Stats(); s.Published != 2501 || s.Stored != 2501 || s.Messages != 4 || s.Waiting != 0 || s.WaitingBytes != 0 || s.Retries != 0 {
		t.Errorf("counted %+v", s)
	}
}

// TestKindsByTurnsShareMessages: and whose event is the oldest comes first.
func TestKindsByTurnsShareMessages(t *testing.T) {
	c, g, _, _ := gatedClient(t, nil)
	must(t, c.Publish(used("first")))
	g.wait(t)
	for range 3 {
		must(t, c.Release(Hold{APIKeyID: "alice", RequestID: "r"}))
		must(t, c.Publish(used("")))
		must(t, c.Publish(Saturation{ConnectionID: "c", Status: 429, Header: http.Header{"Retry-After": {"1", "2"}}}))
		must(t, c.Publish(Adjustment{APIKeyID: "alice", ConnectionID: "c", Reason: "refund", Cost: Amounts{Tokens: -1}}))
	}
	g.verdicts <- pass
	for _, want := range []events.Kind{events.Release, events.Consumption, events.Saturation, events.Adjustment} {
		m := g.next(t, pass)
		list := m.events(t)
		if m.subject != want.String() || len(list) != 3 {
			t.Errorf("%d of %s, want 3 of %s", len(list), m.subject, want)
		}
		if want == events.Saturation && (list[0].Headers["Retry-After"] != "1, 2" || list[0].Status != 429) {
			t.Errorf("the saturation is %+v", list[0])
		}
	}
}

// TestALostAcknowledgementStoresOnce: the same message again, under the same id, with
// the ids and times that its events had before.
func TestALostAcknowledgementStoresOnce(t *testing.T) {
	c, g, stream, said := gatedClient(t, nil)
	must(t, c.Publish(used("")))
	first := g.next(t, verdict{store: true, err: context.DeadlineExceeded})
	must(t, c.Publish(used("")))
	second := g.next(t, verdict{err: errDisconnected})
	third := g.next(t, pass)
	if string(first.body) != string(second.body) || string(first.body) != string(third.body) || first.id != third.id {
		t.Errorf("sent again it is other:\n%s %s\n%s %s", first.id, first.body, third.id, third.body)
	}
	e := first.events(t)[0]
	if e.ID == "" || time.Since(time.UnixMilli(e.Time)).Abs() > time.Minute {
		t.Errorf("the event is %+v, without id or time", e)
	}
	if next := g.next(t, pass); next.id == first.id || next.events(t)[0].ID == e.ID {
		t.Errorf("two events, one name: %s", next.body)
	}
	must(t, c.Flush(within(t)))
	if list := messages(t, stream); len(list) != 2 {
		t.Errorf("the log has %q, want two messages", list)
	}
	if s := c.Stats(); s.Retries != 2 || s.Stored != 2 || s.Messages != 2 {
		t.Errorf("counted %+v", s)
	}
	if said.count("the log takes no events") != 1 || said.count("the log takes events again") != 1 {
		text, _ := said.now()
		t.Errorf("said\n%s", text)
	}
}

// TestBeyondTheBoundTheNewestIsRefused: by number and by bytes, said once, until
// there is room.
func TestBeyondTheBoundTheNewestIsRefused(t *testing.T) {
	size := len(`{"id":"00","time":"2026-01-01T00:00:00.000Z","apiKeyId":"alice","connectionId":"c","cost":{"tokens":1}}`) + eachCosts
	for _, change := range []func(*Options){
		func(o *Options) { o.MaxEvents = 10 },
		func(o *Options) { o.MaxBytes = 10*size + size/2 },
	} {
		c, g, stream, said := gatedClient(t, change)
		must(t, c.Publish(used("00")))
		g.wait(t)
		for i := 1; i < 14; i++ {
			err := c.Publish(used(fmt.Sprintf("%02d", i)))
			if i < 10 && err != nil || i >= 10 && !errors.Is(err, ErrFull) {
				t.Errorf("event %d: %v", i, err)
			}
		}
		if s := c.Stats(); s.Full != 4 || s.Published != 10 || s.Waiting != 10 || said.count("refusing new ones") != 1 {
			t.Errorf("counted %+v", s)
		}
		g.verdicts <- pass
		g.next(t, pass)
		must(t, c.Flush(within(t)))
		must(t, c.Publish(used("20")))
		g.next(t, pass)
		must(t, c.Flush(within(t)))
		all := strings.Join(messages(t, stream), "")
		if said.count("has room again") != 1 || said.count("refused=4") != 1 || !strings.Contains(all, `"09"`) || strings.Contains(all, `"10"`) || !strings.Contains(all, `"20"`) {
			t.Errorf("stored %s", all)
		}
	}
}

// TestTooLargeIsSplitAndThenReported: the log takes all but the one event that no
// message can have.
func TestTooLargeIsSplitAndThenReported(t *testing.T) {
	b := startBroker(t)
	nc := b.Connect()
	stream := b.log(nc)
	cfg := ingest.Configs(14, 1)[0]
	cfg.MaxMsgSize = 2000
	js, err := jetstream.New(nc)
	must(t, err)
	_, err = js.UpdateStream(within(t), cfg)
	must(t, err)
	c, said := b.client(nil)
	for i := range 100 {
		e := Adjustment{APIKeyID: "alice", ConnectionID: "c", Reason: "refund", ID: fmt.Sprint(i)}
		if i == 37 {
			e.Reason, e.RequestID = strings.Repeat("ü", 1000), strings.Repeat("r", 250)
		}
		must(t, c.Publish(e))
	}
	must(t, c.Flush(within(t)))
	var ids []string
	for _, body := range messages(t, stream) {
		for _, e := range (message{subject: events.Adjustment.String(), body: []byte(body)}).events(t) {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) != 99 || slices.Contains(ids, "37") || !slices.IsSortedFunc(ids, byLength) {
		t.Errorf("the log has %v, want all but 37, in order", ids)
	}
	if s := c.Stats(); s.TooLarge != 1 || s.Stored != 99 || said.count("too large for the log") != 1 {
		t.Errorf("counted %+v", s)
	}
}

// byLength orders decimal numbers.
func byLength(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// TestAMessageIsAsFullAsItCanBe: of events, and of questions.
func TestAMessageIsAsFullAsItCanBe(t *testing.T) {
	const each = 97
	q, b := make([]waiting, 20), make(batch, 20)
	for i := range q {
		q[i].body, b[i].body = make([]byte, each), make([]byte, each)
	}
	for room := range 2200 {
		want := min(max(1, (room-1)/(each+1)), len(q)) // n of them have n*each bytes, n-1 commas and two brackets
		if n, m := fitting(q, room), b.fit(room); n != want || m != want {
			t.Fatalf("%d events and %d questions in %d bytes, want %d", n, m, room, want)
		}
	}
}

// TestMessagesFitTheBroker: what is known to be too large is not tried.
func TestMessagesFitTheBroker(t *testing.T) {
	c, g, _, _ := gatedClient(t, nil)
	const room = 1000
	g.bytes.Store(room)
	must(t, c.Publish(used("00")))
	g.wait(t)
	for i := 1; i < 30; i++ {
		must(t, c.Publish(used(fmt.Sprintf("%02d", i))))
	}
	g.verdicts <- pass
	for n := 1; n < 30; {
		m := g.next(t, pass)
		got := len(m.events(t))
		if len(m.body) > room || n+got < 30 && len(m.body) < room-len(m.body)/got {
			t.Errorf("a message of %d events and %d bytes, of at most %d", got, len(m.body), room)
		}
		n += got
	}
}

func TestNoEventAtAllIsRefused(t *testing.T) {
	b := startBroker(t)
	c, _ := b.client(nil)
	if err := c.Publish(nil); err == nil || c.Stats().Malformed != 1 {
		t.Errorf("published nothing: %v", err)
	}
}

func TestWhatIsNoEventIsRefused(t *testing.T) {
	c, _, stream, _ := gatedClient(t, nil)
	for _, tt := range []struct {
		want string
		e    Event
	}{
		{"apiKeyId is missing", Consumption{ConnectionID: "c"}},
		{"connectionId is missing", Consumption{APIKeyID: "alice"}},
		{"apiKeyId is not valid UTF-8", Consumption{APIKeyID: "\xff", ConnectionID: "c"}},
		{"cost.tokens is negative", Consumption{APIKeyID: "alice", ConnectionID: "c", Cost: Amounts{Tokens: -1}}},
		{"cost.tokens is beyond", Consumption{APIKeyID: "alice", ConnectionID: "c", Cost: Amounts{Tokens: -1 << 63}}},
		{"cost.usd is beyond", Consumption{APIKeyID: "alice", ConnectionID: "c", Cost: Amounts{USD: 1_000_001 * Dollar}}},
		{"time is before 2000", Consumption{APIKeyID: "alice", ConnectionID: "c", Time: time.Unix(1, 0)}},
		{"reason is missing", Adjustment{APIKeyID: "alice", ConnectionID: "c"}},
		{"reason is not valid UTF-8", Adjustment{APIKeyID: "alice", ConnectionID: "c", Reason: "\xff"}},
		{"readings", Saturation{ConnectionID: "c"}},
		{"headers is there beside readings", Saturation{ConnectionID: "c", Header: http.Header{}, Readings: []Reading{}}},
		{"readings.window is not one of", Saturation{ConnectionID: "c", Readings: []Reading{{Window: "5 h"}}}},
		{"readings.scope has a control", Saturation{ConnectionID: "c", Readings: []Reading{{Window: "5h", Scope: "\n"}}}},
		{"readings[0].usedPercent is negative", Saturation{ConnectionID: "c", Readings: []Reading{{Window: "5h", UsedPercent: -1}}}},
		{"requestId is missing", release{apiKeyID: "alice"}},
	} {
		err := c.Publish(tt.e)
		var why *events.Rejection
		if !errors.As(err, &why) || !strings.HasPrefix(why.Message, tt.want) {
			t.Errorf("%+v: %v, want %q", tt.e, err, tt.want)
		}
	}
	if s := c.Stats(); s.Malformed != 15 || s.Published != 0 || len(messages(t, stream)) != 0 {
		t.Errorf("counted %+v", s)
	}
}

// TestWhatAnEventSays: each field in its place.
func TestWhatAnEventSays(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	for _, tt := range []struct {
		e    Event
		want string
	}{
		{
			Consumption{"i", at, "a", "c", "p", "m", "r", true, true, Amounts{Requests: 2, Tokens: 3, USD: 125 * Cent / 100, Percent: Point / 2}},
			`{"id":"i","time":"2026-01-02T03:04:05.678Z","apiKeyId":"a","connectionId":"c","provider":"p","model":"m","requestId":"r","partial":true,"estimated":true,"cost":{"requests":2,"tokens":3,"usd":0.0125,"percent":0.5}}`,
		},
		{
			Consumption{ID: "i", Time: at, APIKeyID: "a", ConnectionID: "c", Cost: Amounts{NoRequests: true, Priced: true}},
			`{"id":"i","time":"2026-01-02T03:04:05.678Z","apiKeyId":"a","connectionId":"c","cost":{"requests":0,"usd":0}}`,
		},
		{
			Adjustment{"i", at, "a", "c", "p", "m", "r", "why", Amounts{Tokens: -5}},
			`{"id":"i","time":"2026-01-02T03:04:05.678Z","apiKeyId":"a","connectionId":"c","provider":"p","model":"m","requestId":"r","reason":"why","cost":{"tokens":-5}}`,
		},
		{
			Saturation{ID: "i", Time: at, ConnectionID: "c", Provider: "p", Readings: []Reading{{"5h", "opus", 70 * Point, at}}},
			`{"id":"i","time":"2026-01-02T03:04:05.678Z","connectionId":"c","provider":"p","readings":[{"window":"5h","scope":"opus","usedPercent":70,"resetAt":"2026-01-02T03:04:05.678Z"}]}`,
		},
	} {
		e, err := tt.e.form()
		must(t, err)
		if got := string(events.Append(nil, wire.JSON, &e)); got != tt.want {
			t.Errorf("%s\nwant\n%s", got, tt.want)
		}
	}
}

// TestFlushWaitsForWhatThereIs: and not for what comes later.
func TestFlushWaitsForWhatThereIs(t *testing.T) {
	c, g, _, _ := gatedClient(t, nil)
	must(t, c.Flush(within(t)))
	must(t, c.Publish(used("")))
	g.wait(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Flush(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a flush without time: %v", err)
	}
	must(t, c.Release(Hold{APIKeyID: "alice", RequestID: "r"}))
	var flushed sync.WaitGroup
	flushed.Go(func() { mustToo(t, c.Flush(within(t))) })
	awaitFlush(t, c)
	must(t, c.Publish(used("")))
	g.verdicts <- pass
	g.next(t, pass) // the release; the second consumption stays under way
	g.wait(t)
	flushed.Wait()
	if s := c.Stats(); s.Stored != 2 || s.Waiting != 1 {
		t.Errorf("flushed at %+v", s)
	}
	g.verdicts <- pass
}

// awaitFlush waits until somebody waits in Flush.
func awaitFlush(t *testing.T, c *Client) {
	t.Helper()
	for ctx := within(t); ctx.Err() == nil; {
		c.buffer.mu.Lock()
		n := len(c.buffer.flushes)
		c.buffer.mu.Unlock()
		if n > 0 {
			return
		}
	}
	t.Fatal("nobody flushes")
}

func TestCloseDrains(t *testing.T) {
	b := startBroker(t)
	stream := b.log(b.Connect())
	c, _ := b.client(nil)
	for range 100 {
		must(t, c.Publish(used("")))
	}
	must(t, c.Close(within(t)))
	must(t, c.Close(within(t)))
	if s := c.Stats(); s.Stored != 100 || s.Lost != 0 || len(messages(t, stream)) != int(s.Messages) {
		t.Errorf("counted %+v", s)
	}
	if err := c.Publish(used("")); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if d := decide(t, c, about("", 1)); !d.Allow || d.Reason != ReasonFailOpen || !slices.Equal(d.Degraded, []string{string(Disconnected)}) {
		t.Errorf("after Close: %+v", d)
	}
}

// TestCloseSaysWhatIsLost: the broker never was there, and nothing runs afterwards.
func TestCloseSaysWhatIsLost(t *testing.T) {
	b := startBroker(t)
	b.Stop()
	c, said := b.client(nil)
	for range 3 {
		must(t, c.Publish(used("")))
	}
	must(t, c.Release(Hold{APIKeyID: "alice", RequestID: "r"}))
	said.await(t, "the log takes no events")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var flushed sync.WaitGroup
	flushed.Go(func() {
		if err := c.Flush(within(t)); !errors.Is(err, ErrClosed) {
			t.Errorf("who flushes hears %v", err)
		}
	})
	awaitFlush(t, c)
	for range 2 {
		var lost *LostError
		if err := c.Close(ctx); !errors.As(err, &lost) || lost.Consumptions != 3 || lost.Releases != 1 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed with %v", err)
		}
	}
	flushed.Wait()
	if s := c.Stats(); s.Lost != 4 || s.Waiting != 0 || s.WaitingBytes != 0 || s.Published != 4 || said.count("events are lost") != 1 {
		t.Errorf("counted %+v", s)
	}
}
