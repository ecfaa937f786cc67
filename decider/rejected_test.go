package decider

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
)

// What others put into the stream of rejected events hides none of them, and is
// said.
func TestStrayMessagesHideNoRejectedEvent(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir(), nil)
	for subject, body := range map[string]string{
		"quota.rejected.stray": "not a record", "quota.rejected.99.0": `{"stream":"QUOTA","seq":1}`,
	} {
		_, err := r.send(subject, []byte(body))
		r.must(err)
	}
	seq := r.publish("quota.consumption", "not an event")
	list := r.rejected(3)
	if len(list) != 1 || list[0].Seq != seq {
		t.Errorf("rejected: %+v, want event %d alone", list, seq)
	}
	if !strings.Contains(r.said.String(), "quota.rejected.stray") {
		t.Errorf("the log does not name the stray message: %s", r.said.String())
	}
}

// rejected waits until QUOTA_REJECTED has stored n messages and lists them.
// What a plain subscriber sees may not be stored yet, so a consumer counts.
func (r *running) rejected(n int) []events.Rejected {
	r.t.Helper()
	consumer, err := r.js.OrderedConsumer(r.within(), events.RejectedStream, jetstream.OrderedConsumerConfig{})
	r.must(err)
	messages, err := consumer.Messages()
	r.must(err)
	defer messages.Stop()
	for range n {
		_, err := messages.Next(jetstream.NextContext(r.within()))
		r.must(err)
	}
	page, err := r.Rejected(r.within(), &httpapi.RejectedQuery{Limit: 100})
	r.must(err)
	if page.Total != n {
		r.t.Fatalf("%d rejected, want %d: %+v", page.Total, n, page.List)
	}
	return page.List
}

// newestRejected asks for the newest first, and returns messages and the place of the next page.
func (r *running) newestRejected(q httpapi.RejectedQuery) (said string, next uint64) {
	r.t.Helper()
	q.Newest = true
	p, err := r.Rejected(r.within(), &q)
	r.must(err)
	for i := range p.List {
		said += p.List[i].Message + ","
	}
	return said, p.Next
}

// keep stores a rejected event as a fold does.
func (r *running) keep(seq int, reason events.Reason, message, sent string) {
	r.t.Helper()
	x := events.Rejected{Seq: uint64(seq), Subject: "quota.consumption", Reason: reason, Message: message, Time: 1_789_992_000_000, Data: []byte(sent)}
	_, err := r.js.PublishAsync(events.RejectedSubject(x.Seq, 0), x.AppendJSON(nil))
	r.must(err)
}

// The newest first, in pages that have no holes and nothing twice; a filter looks at
// all of them, and a page ends where it has read enough.
func TestRejectedEventsNewestFirst(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir(), nil)
	for i := range maxRejectedRead {
		r.keep(10+i, events.OverflowReason, "large", "")
	}
	r.keep(1, events.Invalid, "one", `{"apiKeyId":"Alice"}`)
	r.keep(2, events.Undecodable, "two", "")
	r.keep(3, events.Invalid, "three", "")
	<-r.js.PublishAsyncComplete()
	for _, c := range []struct {
		q    httpapi.RejectedQuery
		want string
		next uint64
	}{
		{httpapi.RejectedQuery{Limit: 2}, "three,two,", maxRejectedRead + 2},
		{httpapi.RejectedQuery{Limit: 2, Before: maxRejectedRead + 2}, "one,large,", maxRejectedRead},
		{httpapi.RejectedQuery{Limit: 2, Before: 2}, "large,", 0},
		{httpapi.RejectedQuery{Limit: 2, Reason: events.Invalid}, "three,one,", maxRejectedRead + 1},
		{httpapi.RejectedQuery{Limit: 9, Text: "aLICE"}, "one,", 4},
		{httpapi.RejectedQuery{Limit: 9, Text: "alice", Before: 4}, "", 0},
		{httpapi.RejectedQuery{Limit: 1, Text: "CONSUMPTION"}, "three,", maxRejectedRead + 3},
		{httpapi.RejectedQuery{Limit: 9, Text: "tHr"}, "three,", 4},
	} {
		if got, next := r.newestRejected(c.q); got != c.want || next != c.next {
			t.Errorf("%+v: %s and then %d, want %s and %d", c.q, got, next, c.want, c.next)
		}
	}
}

// What was sent may be large: a page of it ends early.
func TestAPageOfLargeRejectedEventsEndsEarly(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir(), nil)
	large := strings.Repeat("x", events.MaxRejectedData)
	for i := range 30 {
		r.keep(1+i, events.Invalid, "m", large)
	}
	<-r.js.PublishAsyncComplete()
	said, next := r.newestRejected(httpapi.RejectedQuery{Limit: 100})
	if n := strings.Count(said, "m"); n != 24 || next != 7 {
		t.Errorf("%d events on a page and then those before %d", n, next)
	}
}
