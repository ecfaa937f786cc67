package e2e

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
)

// logged reads the configuration events that a log consists of.
func logged(t *testing.T, js jetstream.JetStream, last uint64) []entry {
	t.Helper()
	stream, err := js.Stream(deadline(t), events.Stream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.State.LastSeq != last {
		t.Errorf("the log has %d events, want %d", info.State.LastSeq, last)
	}
	var list []entry
	for seq := uint64(1); seq <= info.State.LastSeq; seq++ {
		m, err := stream.GetMsg(deadline(t), seq)
		if err != nil {
			t.Fatal(err)
		}
		e := entry{
			Seq: seq, Kind: "pool", Change: m.Header.Get("Quota-Config"),
			Actor: m.Header.Get("Quota-Actor"), Reason: m.Header.Get("Quota-Reason"),
		}
		decode(t, string(m.Data), &e.Document)
		e.ID = e.Document["id"].(string)
		if want := events.ConfigPool.Subject(e.ID); m.Subject != want {
			t.Errorf("event %d of pool %q is on %s, want %s", seq, e.ID, m.Subject, want)
		}
		list = append(list, e)
	}
	return list
}

// mustHave compares what a replica shows with the history of the log.
func (r *replica) mustHave(t *testing.T, entries []entry, pools []string) {
	t.Helper()
	if diff := cmp.Diff(entries, r.changes(t)); diff != "" {
		t.Errorf("the changes that %s shows (- log, + shown):\n%s", r.url, diff)
	}
	last := map[string]entry{}
	for _, e := range entries {
		last[e.ID] = e
	}
	for _, id := range pools {
		status, body := call(t, "GET", r.url+apiPath("pools", id), "", "")
		var doc struct{ Pool object }
		decode(t, body, &doc)
		e := last[id]
		if diff := cmp.Diff(own(e.Document), own(doc.Pool)); status != 200 || diff != "" {
			t.Errorf("pool %s: %d (- log, + shown):\n%s", id, status, diff)
		}
		got := fmt.Sprint(doc.Pool["revision"], doc.Pool["actor"], doc.Pool["reason"])
		if want := fmt.Sprint(e.Seq, e.Actor, e.Reason); got != want {
			t.Errorf("pool %s is %s, want %s", id, got, want)
		}
	}
}

// changes reads the configuration history in pages.
func (r *replica) changes(t *testing.T) (list []entry) {
	t.Helper()
	after := uint64(0)
	for {
		query := url.Values{"after": {fmt.Sprint(after)}, "limit": {"40"}}
		status, body := call(t, "GET", r.url+"/api/quota/changes?"+query.Encode(), "", "")
		var page struct {
			Changes []entry
			Next    *uint64
		}
		decode(t, body, &page)
		if status != 200 || len(page.Changes) > 40 {
			t.Fatalf("after %d: %d %s", after, status, body)
		}
		list = append(list, page.Changes...)
		if page.Next == nil {
			return list
		}
		if *page.Next <= after {
			t.Fatalf("after %d comes %d", after, *page.Next)
		}
		after = *page.Next
	}
}
