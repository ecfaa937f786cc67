package livelog_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/replay/livelog"
)

const answered = 1_700_000_000_000 // epoch ms

// recorded is a stream of recorded decisions, and what reads it.
type recorded struct {
	t    *testing.T
	js   jetstream.JetStream
	rows *livelog.Rows
	said bytes.Buffer
}

func newRecorded(t *testing.T) *recorded {
	t.Helper()
	nc, js := brokertest.Start(t).Log()
	r := &recorded{t: t, js: js}
	var err error
	r.rows, err = livelog.NATSRows(nc, slog.New(slog.NewTextHandler(&r.said, nil)))
	r.must(err)
	return r
}

func (r *recorded) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *recorded) publish(body string) {
	r.t.Helper()
	_, err := r.js.Publish(r.t.Context(), "quota.decisions.c", []byte(body))
	r.must(err)
}

// record stores decisions in one message.
func (r *recorded) record(ids ...string) {
	var list []string
	for _, id := range ids {
		row := questions.Record{
			Time: answered, Count: 1, Index: questions.FromView, Process: "p", Question: questions.Question{APIKeyID: "a", ConnectionID: "c"},
			Reply: questions.Reply{Allow: true, HTTPStatus: 200, Reason: "ok", DecisionID: id, AsOf: questions.AsOf{Seq: 1, Time: answered}},
		}
		list = append(list, string(row.AppendJSON(nil)))
	}
	r.publish("[" + strings.Join(list, ",") + "]")
}

func (r *recorded) each() (ids []string) {
	r.t.Helper()
	r.must(r.rows.Each(r.t.Context(), func(c *questions.Record) error {
		ids = append(ids, c.Reply.DecisionID)
		return nil
	}))
	return ids
}

func (r *recorded) stream() jetstream.Stream {
	r.t.Helper()
	s, err := r.js.Stream(r.t.Context(), ingest.DecisionsStream)
	r.must(err)
	return s
}

func (r *recorded) keptSince() int64 {
	r.t.Helper()
	since, err := r.rows.KeptSince(r.t.Context())
	r.must(err)
	return since
}

// TestAllRowsAreRead, of more messages than are fetched at once, and what is no row is
// told of and passed over.
func TestAllRowsAreRead(t *testing.T) {
	r := newRecorded(t)
	var want []string
	for i := range 75 {
		a, b := fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)
		r.record(a, b)
		want = append(want, a, b)
	}
	r.publish("no row")
	r.record("last")
	want = append(want, "last")
	if got := r.each(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("read %d: %v", len(got), got)
	}
	if n := strings.Count(r.said.String(), "none of them"); n != 1 {
		t.Errorf("told %d times: %.500s", n, r.said.String())
	}
}

// TestAnErrorEndsTheReading, in the middle of a message too.
func TestAnErrorEndsTheReading(t *testing.T) {
	r := newRecorded(t)
	r.record("a", "b", "c")
	r.record("d")
	n, enough := 0, fmt.Errorf("enough")
	err := r.rows.Each(t.Context(), func(*questions.Record) error {
		if n++; n == 2 {
			return enough
		}
		return nil
	})
	if n != 2 || err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("after %d rows: %v", n, err)
	}
}

// TestSinceWhenAllAreKept: since the stream was made, until something was dropped.
func TestSinceWhenAllAreKept(t *testing.T) {
	r := newRecorded(t)
	made := r.stream().CachedInfo().Created.UnixMilli()
	if got := r.keptSince(); got != made {
		t.Errorf("of an empty stream: %d, want %d", got, made)
	}
	for range 3 {
		r.record("a")
	}
	if got := r.keptSince(); got != made {
		t.Errorf("of all rows: %d, want %d", got, made)
	}
	s := r.stream()
	second, err := s.GetMsg(t.Context(), 2)
	r.must(err)
	last, err := s.GetMsg(t.Context(), 3)
	r.must(err)
	r.must(s.Purge(t.Context(), jetstream.WithPurgeSequence(2)))
	if got := r.keptSince(); got != second.Time.UnixMilli() {
		t.Errorf("without the first: %d, want %d", got, second.Time.UnixMilli())
	}
	r.must(s.Purge(t.Context()))
	if got := r.keptSince(); got != last.Time.UnixMilli()+1 {
		t.Errorf("without any: %d, want one more than %d", got, last.Time.UnixMilli())
	}
	if got := r.each(); got != nil {
		t.Errorf("read %v", got)
	}
}

// TestNothingIsRecordedYet, where nobody made the stream.
func TestNothingIsRecordedYet(t *testing.T) {
	r := newRecorded(t)
	r.must(r.js.DeleteStream(t.Context(), ingest.DecisionsStream))
	if got := r.each(); got != nil {
		t.Errorf("read %v", got)
	}
	before := time.Now().UnixMilli()
	if got := r.keptSince(); got < before || got > time.Now().UnixMilli() {
		t.Errorf("kept since %d, want now", got)
	}
}
