package jetsource

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/projector"
)

// infoOf is what the leader says of a log that ends there.
func infoOf(copies int, end uint64) *jetstream.StreamInfo {
	info := &jetstream.StreamInfo{State: jetstream.StreamState{LastSeq: end}, Cluster: &jetstream.ClusterInfo{}}
	for range copies - 1 {
		info.Cluster.Replicas = append(info.Cluster.Replicas, &jetstream.PeerInfo{})
	}
	return info
}

// TestAClusterIsNotBelievedAtOnce that its log is shorter than it was. A server that is
// alone is.
func TestAClusterIsNotBelievedAtOnce(t *testing.T) {
	for _, tt := range []struct {
		copies, end int
		since       time.Duration // it has said so
		fails, lost bool
	}{
		{copies: 1, end: 10},
		{copies: 1, end: 9, fails: true, lost: true},
		{copies: 3, end: 10},
		{copies: 3, end: 9, fails: true},
		{copies: 3, end: 9, since: believedAfter - time.Second, fails: true},
		{copies: 3, end: 9, since: believedAfter, fails: true, lost: true},
	} {
		r := replicas{}
		if tt.since > 0 {
			r.shorter = time.Now().Add(-tt.since)
		}
		err := r.begin(infoOf(tt.copies, uint64(tt.end)), 10)
		if (err != nil) != tt.fails || errors.Is(err, projector.ErrLogChanged) != tt.lost {
			t.Errorf("%+v: %v", tt, err)
		}
		if !tt.fails && !r.shorter.IsZero() {
			t.Errorf("%+v: it is still in doubt", tt)
		}
	}
	r := replicas{}
	_ = r.begin(infoOf(3, 9), 10)
	if r.shorter.IsZero() || r.begin(infoOf(3, 10), 10) != nil || !r.shorter.IsZero() {
		t.Error("a doubt is not kept, or stays when the log is whole")
	}
}

// TestAReplicaDoesNotSayWhereTheLogEnds: what the leader had at the connect is still to
// come, whatever the consumer counts.
func TestAReplicaDoesNotSayWhereTheLogEnds(t *testing.T) {
	for copies, want := range map[int]string{1: "0 3 0 0 0", 3: "1 3 1 0 0"} {
		r := replicas{}
		if err := r.begin(infoOf(copies, 10), 4); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(r.toCome(4, 0), r.toCome(5, 3), r.toCome(9, 0), r.toCome(10, 0), r.toCome(9, 0))
		if got != want {
			t.Errorf("%d copies: to come are %s, want %s", copies, got, want)
		}
	}
}

// copied is a source over a log of n messages, all read, as if there were copies of it.
func copied(t *testing.T, n int) *Source {
	t.Helper()
	b := brokertest.Start(t)
	nc := b.Connect()
	js := brokertest.Streams(t, nc)
	s, err := New(Options{Conn: nc, Stream: events.Stream})
	if err != nil {
		t.Fatal(err)
	}
	if s.stream, err = js.Stream(t.Context(), events.Stream); err != nil {
		t.Fatal(err)
	}
	for range n {
		if _, err := js.Publish(t.Context(), "quota.consumption", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	m, err := s.stream.GetMsg(t.Context(), uint64(n))
	if err != nil {
		t.Fatal(err)
	}
	last := events.Message{Subject: m.Subject, Header: m.Header, Data: m.Data}
	s.last = projector.Position{Seq: m.Sequence, Time: m.Time.UnixMilli(), Hash: projector.HashOf(&last)}
	s.replicas = replicas{replicated: true, end: uint64(n), looked: time.Now().Add(-lookEvery)}
	return s
}

// TestTheLeaderIsAskedWhatAReplicaLacks while nothing comes.
func TestTheLeaderIsAskedWhatAReplicaLacks(t *testing.T) {
	const n = 5
	for name, tt := range map[string]struct {
		last, end uint64
		looked    time.Duration // since
		deleted   bool          // the end of the log is
		want      error
		asked     bool
	}{
		"level":                  {last: n, end: n, looked: lookEvery, asked: true},
		"new since":              {last: n - 1, end: n - 1, looked: lookEvery, asked: true},
		"what was there lacks":   {last: n - 1, end: n, looked: lookEvery, want: errLags},
		"it was asked just now":  {last: n - 1, end: n},
		"it has less":            {last: n + 1, end: n + 1, looked: lookEvery, want: errShort},
		"what was there is gone": {last: n - 1, end: n, looked: lookEvery, deleted: true, asked: true},
	} {
		s := copied(t, n)
		if tt.deleted {
			if err := s.stream.DeleteMsg(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		s.end, s.goal, s.looked = tt.end, n, time.Now().Add(-tt.looked)
		err := s.look(t.Context(), s.stream, tt.last)
		if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		if asked := s.end == n && time.Since(s.looked) < lookEvery/2; tt.looked != 0 && asked != tt.asked {
			t.Errorf("%s: asked %t, it ends at %d", name, asked, s.end)
		}
		if tt.deleted && s.goal != 0 {
			t.Errorf("%s: it is still waited for", name)
		}
	}
}

// TestTheLeaderSaysWhetherALogWasReplaced, and not whoever is read from.
func TestTheLeaderSaysWhetherALogWasReplaced(t *testing.T) {
	suspected := fmt.Errorf("%w: by what a replica says", projector.ErrLogChanged)
	for name, tt := range map[string]struct {
		change func(*Source)
		err    error
		want   error
	}{
		"it has the message":                  {err: suspected, want: errLags},
		"it has the message, which is old":    {want: errLags},
		"it has another one":                  {change: func(s *Source) { s.last.Hash[0]++ }, want: projector.ErrLogChanged},
		"it has one of another time":          {change: func(s *Source) { s.last.Time++ }, err: suspected, want: projector.ErrLogChanged},
		"it has it not":                       {change: func(s *Source) { s.last.Seq++ }, err: suspected, want: projector.ErrLogChanged},
		"it has it not, and it has to be old": {change: func(s *Source) { s.last.Seq++ }},
	} {
		s := copied(t, 3)
		if tt.change != nil {
			tt.change(s)
		}
		err := s.confirm(t.Context(), tt.err)
		if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}
