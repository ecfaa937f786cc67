package ingest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
)

func serverWithStreams(t *testing.T) jetstream.JetStream {
	t.Helper()
	s := start(t, Options{Dir: t.TempDir()})
	t.Cleanup(func() { stop(t, s) })
	js, done := connect(t, s.ClientURL())
	t.Cleanup(done)
	ensure(t, js)
	return js
}

func TestTheLogTakesExactlyItsSubjects(t *testing.T) {
	js := serverWithStreams(t)
	ctx := deadline(t)
	tests := []struct {
		subject string
		stream  string // "" = nobody
	}{
		{"quota.consumption", events.Stream},
		{"quota.consumption.gateway-7.eu", events.Stream},
		{"quota.saturation", events.Stream},
		{"quota.saturation.x", events.Stream},
		{"quota.adjustment", events.Stream},
		{"quota.adjustment.x", events.Stream},
		{"quota.release", events.Stream},
		{"quota.release.x", events.Stream},
		{"quota.hold", events.Stream},
		{"quota.hold.x", ""},
		{"quota.due", events.Stream},
		{"quota.due.x", ""},
		{"quota.config.pool.a", events.Stream},
		{"quota.config.settings", events.Stream},
		{"quota.config", ""},
		{"quota.decide", ""},
		{"quota.route", ""},
		{"quota.anything", ""},
		{"quota.rejected.1.0", events.RejectedStream},
		{"quota.decisions.c1", DecisionsStream},
	}
	for _, tt := range tests {
		ack, err := js.Publish(ctx, tt.subject, []byte("{}"), jetstream.WithRetryAttempts(0))
		switch {
		case tt.stream == "" && !errors.Is(err, jetstream.ErrNoStreamResponse):
			t.Errorf("%s: error is %v, want nobody to take it", tt.subject, err)
		case tt.stream != "" && err != nil:
			t.Errorf("%s: %v", tt.subject, err)
		case tt.stream != "" && ack.Stream != tt.stream:
			t.Errorf("%s went to %s, want %s", tt.subject, ack.Stream, tt.stream)
		}
	}
}

// What several deciders and rebuilds find is there once, the first time.
func TestARejectedEventIsKeptOnce(t *testing.T) {
	js := serverWithStreams(t)
	ctx := deadline(t)
	if _, err := js.Publish(ctx, "quota.rejected.7.0", []byte("first")); err != nil {
		t.Fatal(err)
	}
	_, err := js.Publish(ctx, "quota.rejected.7.0", []byte("second"))
	var api *jetstream.APIError
	if !errors.As(err, &api) || api.Description != "maximum messages per subject exceeded" {
		t.Errorf("a second copy: %v, want it refused", err)
	}
	if _, err := js.Publish(ctx, "quota.rejected.7.1", []byte("other")); err != nil {
		t.Errorf("another place: %v", err)
	}
}

// Without AllowMsgTTL the broker refuses the header that keeps configuration.
func TestConfigurationOutlivesTheAgeLimit(t *testing.T) {
	s := start(t, Options{Dir: t.TempDir()})
	t.Cleanup(func() { stop(t, s) })
	js, done := connect(t, s.ClientURL())
	t.Cleanup(done)
	ctx := deadline(t)
	cfgs := Configs(14, 1)
	cfgs[0].MaxAge, cfgs[0].Duplicates = 500*time.Millisecond, 100*time.Millisecond
	if _, err := EnsureStreams(ctx, js, cfgs); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(ctx, events.Stream)
	if err != nil {
		t.Fatal(err)
	}
	publish := func(subject string, header nats.Header) {
		msg := &nats.Msg{Subject: subject, Header: header, Data: []byte("{}")}
		if _, err := js.PublishMsg(ctx, msg); err != nil {
			t.Fatalf("%s: %v", subject, err)
		}
	}
	publish("quota.config.pool.a", nats.Header{"Nats-TTL": {"never"}})
	publish("quota.consumption", nil)
	for { // until the usage has aged out
		info, err := stream.Info(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if info.State.Msgs < 2 {
			break
		}
	}
	if _, err := stream.GetLastMsgForSubject(ctx, "quota.config.pool.a"); err != nil {
		t.Errorf("the configuration has aged out: %v", err)
	}
}

func TestChangedStreamIsReportedAndLeftAlone(t *testing.T) {
	js := serverWithStreams(t)
	ctx := deadline(t)
	changed := Configs(14, 1)[0]
	changed.MaxAge = time.Hour
	changed.MaxBytes = 1 << 20
	changed.Subjects = append(changed.Subjects, "quota.more")
	if _, err := js.UpdateStream(ctx, changed); err != nil {
		t.Fatal(err)
	}
	diff, err := EnsureStreams(ctx, js, Configs(14, 1))
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, d := range diff {
		fields = append(fields, d.Field)
	}
	if want := []string{"subjects", "max bytes", "max age"}; !slices.Equal(fields, want) {
		t.Errorf("reported %v, want %v", fields, want)
	}
	if len(diff) == 3 && diff[2].String() != "stream QUOTA: max age is 1h0m0s, not 2160h0m0s" {
		t.Errorf("said as %q", diff[2])
	}
	stream, err := js.Stream(ctx, events.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().Config; got.MaxAge != time.Hour || len(got.Subjects) != len(changed.Subjects) {
		t.Errorf("somebody changed it back: %+v", got)
	}
}

func TestForeignStreamOnOurSubjectsIsAnError(t *testing.T) {
	s := start(t, Options{Dir: t.TempDir()})
	t.Cleanup(func() { stop(t, s) })
	js, done := connect(t, s.ClientURL())
	t.Cleanup(done)
	ctx := deadline(t)
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"quota.>"}}); err != nil {
		t.Fatal(err)
	}
	_, err := EnsureStreams(ctx, js, Configs(14, 1))
	if err == nil || !strings.Contains(err.Error(), "stream QUOTA: ") {
		t.Errorf("error is %v, want one that names the stream", err)
	}
}

// MaxAge is the bound for when no purge runs: 30 days after the last moment at
// which usage is wanted, and never below 90.
func TestAgeFollowsRetention(t *testing.T) {
	for _, tt := range []struct{ days, want int }{{14, 90}, {60, 90}, {61, 91}, {400, 430}} {
		got := Configs(tt.days, 1)[0].MaxAge
		if want := time.Duration(tt.want) * 24 * time.Hour; got != want {
			t.Errorf("retention of %d days: max age %s, want %s", tt.days, got, want)
		}
	}
}

// TestALongerBoundOfTheLogIsNoDifference: a setting in the log asks for it, which is
// not known here. Of other streams none does.
func TestALongerBoundOfTheLogIsNoDifference(t *testing.T) {
	js := serverWithStreams(t)
	ctx := deadline(t)
	longer := Configs(200, 1)
	if _, err := js.UpdateStream(ctx, longer[0]); err != nil {
		t.Fatal(err)
	}
	if diff, err := EnsureStreams(ctx, js, Configs(14, 1)); len(diff) > 0 || err != nil {
		t.Errorf("a bound that a setting in the log asked for: %v, %v", diff, err)
	}
	if _, err := js.UpdateStream(ctx, longer[1]); err != nil {
		t.Fatal(err)
	}
	if diff, err := EnsureStreams(ctx, js, Configs(14, 1)); len(diff) != 1 || err != nil {
		t.Errorf("one that no setting asks for: %v, %v", diff, err)
	}
}
