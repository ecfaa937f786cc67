package ingest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// TestWhatAnAgeLimitCosts: while the broker runs configuration outlives it, which is
// what AllowMsgTTL is for, and when it starts again it does not. So QUOTA has none.
func TestWhatAnAgeLimitCosts(t *testing.T) {
	dir := t.TempDir()
	s := start(t, Options{Dir: dir})
	js, done := connect(t, s.ClientURL())
	ctx := deadline(t)
	limited := Configs(14, 1)
	limited[0].MaxAge, limited[0].Duplicates = 500*time.Millisecond, 100*time.Millisecond
	if _, err := EnsureStreams(ctx, js, limited); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*nats.Msg{
		{Subject: "quota.config.pool.a", Header: nats.Header{"Nats-TTL": {"never"}}, Data: []byte("{}")},
		{Subject: "quota.consumption", Data: []byte("{}")},
	} {
		if _, err := js.PublishMsg(ctx, m); err != nil {
			t.Fatalf("%s: %v", m.Subject, err)
		}
	}
	for state(t, js).Msgs == 2 { // until the usage has aged out
	}
	if n := state(t, js).Msgs; n != 1 {
		t.Errorf("while the broker runs %d messages are left, want the configuration", n)
	}
	done()
	stop(t, s)
	s = start(t, Options{Dir: dir})
	t.Cleanup(func() { stop(t, s) })
	js, done = connect(t, s.ClientURL())
	t.Cleanup(done)
	if n := state(t, js).Msgs; n != 0 {
		t.Errorf("the broker keeps %d messages when it starts: then an age limit costs nothing any more", n)
	}
}

// state is what the log has.
func state(t *testing.T, js jetstream.JetStream) jetstream.StreamState {
	t.Helper()
	stream, err := js.Stream(deadline(t), events.Stream)
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State
}

func TestWhatDropsTheOldest(t *testing.T) {
	for want, change := range map[string]func(*jetstream.StreamConfig){
		"":              func(*jetstream.StreamConfig) {},
		"max bytes: ":   func(c *jetstream.StreamConfig) { c.MaxBytes, c.MaxMsgs = 9, -1 },
		"max messages:": func(c *jetstream.StreamConfig) { c.MaxBytes, c.MaxMsgs = -1, 9 },
		"max messages per subject: the log has a limit of 9, and drops its oldest messages to make room, pools, plans and settings too: take it away with nats stream edit QUOTA --max-msgs-per-subject=-1": func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 9 },
	} {
		c := Configs(14, 1)[0]
		change(&c)
		if got := DropsOldest(c); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q, want %q", got, want)
		}
		if c.Discard = jetstream.DiscardNew; DropsOldest(c) != "" {
			t.Errorf("one that refuses publishers drops: %s", DropsOldest(c))
		}
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
	for i, want := range []string{
		1: "stream QUOTA: max bytes is 1048576, not -1",
		2: "stream QUOTA: max age is 1h0m0s, not 0s: when the broker starts again it deletes all that is older, pools, plans and settings too; " +
			"take the limit away: nats stream edit QUOTA --max-age=0s",
	} {
		if want != "" && (len(diff) <= i || diff[i].String() != want) {
			t.Errorf("said as %q, want %q", diff, want)
		}
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

// TestAges: the log has no limit; what is rejected goes 30 days after the last moment
// at which usage is wanted, and never below 90.
func TestAges(t *testing.T) {
	for _, tt := range []struct{ days, want int }{{14, 90}, {60, 90}, {61, 91}, {400, 430}} {
		got := Configs(tt.days, 1)
		if want := time.Duration(tt.want) * day; got[0].MaxAge != 0 || got[1].MaxAge != want || got[2].MaxAge != 14*day {
			t.Errorf("retention of %d days: the log %s, rejected %s, want %s, decisions %s", tt.days, got[0].MaxAge, got[1].MaxAge, want, got[2].MaxAge)
		}
	}
}

// TestTheLimitThatWeSetIsLifted: any that a version before this one can have set, and
// no other; and of other streams none.
func TestTheLimitThatWeSetIsLifted(t *testing.T) {
	js := serverWithStreams(t)
	ctx := deadline(t)
	for _, tt := range []struct{ have, left time.Duration }{
		{0, 0},
		{89 * day, 89 * day},
		{90 * day, 0},
		{90*day + time.Hour, 90*day + time.Hour},
		{430 * day, 0},
		{3_680 * day, 0},
		{3_681 * day, 3_681 * day},
	} {
		limited := Configs(14, 1)[0]
		limited.MaxAge, limited.MaxBytes = tt.have, 1<<30
		if _, err := js.UpdateStream(ctx, limited); err != nil {
			t.Fatal(err)
		}
		diff, err := EnsureStreams(ctx, js, Configs(14, 1))
		if reported := len(diff) == 2 && diff[1].Field == "max age"; err != nil || reported != (tt.left != 0) {
			t.Errorf("%s: reported %v, %v", tt.have, diff, err)
		}
		stream, err := js.Stream(ctx, events.Stream)
		if err != nil {
			t.Fatal(err)
		}
		if c := stream.CachedInfo().Config; c.MaxAge != tt.left || c.MaxBytes != 1<<30 {
			t.Errorf("%s: it is %s, want %s, and all else as it was: %+v", tt.have, c.MaxAge, tt.left, c)
		}
	}
}

// upgrades is a broker whose stream of what is rejected is changed by us and by others.
type upgrades struct {
	*testing.T
	js jetstream.JetStream
}

func newUpgrades(t *testing.T) *upgrades {
	s := start(t, Options{Dir: t.TempDir()})
	t.Cleanup(func() { stop(t, s) })
	js, done := connect(t, s.ClientURL())
	t.Cleanup(done)
	return &upgrades{t, js}
}

func (u *upgrades) rejected() jetstream.StreamConfig {
	u.Helper()
	stream, err := u.js.Stream(u.Context(), events.RejectedStream)
	if err != nil {
		u.Fatal(err)
	}
	return stream.CachedInfo().Config
}

func (u *upgrades) update(c jetstream.StreamConfig) {
	u.Helper()
	if _, err := u.js.UpdateStream(u.Context(), c); err != nil {
		u.Fatal(err)
	}
}

// ensured is what is said of the streams for so many days.
func (u *upgrades) ensured(days int, want ...Difference) {
	u.Helper()
	for range 2 { // the second time there is nothing left to do
		got, err := EnsureStreams(u.Context(), u.js, Configs(days, 1))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			u.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		if len(want) > 0 && want[0].Upgraded {
			want = nil
		}
	}
}

// The age limits of 14 and 400 days, as they are said.
const (
	after14  = "2160h0m0s"
	after400 = "10320h0m0s"
)

func upgraded(want, have string) Difference {
	return Difference{Stream: events.RejectedStream, Field: "max age", Want: want, Have: have, Upgraded: true}
}

// TestWhatWeSetIsUpgraded: by another setting of ours or a later version, as long as
// nobody else has changed the stream.
func TestWhatWeSetIsUpgraded(t *testing.T) {
	u := newUpgrades(t)
	u.ensured(14)
	u.ensured(400, upgraded(after400, after14))
	if got := u.rejected().MaxAge; got != 430*day {
		t.Fatalf("it is %s", got)
	}

	changed := u.rejected()
	changed.MaxAge = time.Hour // by somebody else
	u.update(changed)
	theirs := Difference{Stream: events.RejectedStream, Field: "max age", Want: after14, Have: "1h0m0s"}
	u.ensured(14, theirs)
	changed.MaxAge = 430 * day // who takes it back
	changed.Metadata["owner"] = "us"
	u.update(changed)
	u.ensured(14, upgraded(after14, after400))
	if got := u.rejected(); got.Metadata["owner"] != "us" {
		t.Errorf("what others say of it is gone: %v", got.Metadata)
	}

	placed := u.rejected() // where it is and how it is packed is whose who runs the broker
	placed.Compression = jetstream.S2Compression
	u.update(placed)
	u.ensured(400, upgraded(after400, after14))
	u.ensured(14, upgraded(after14, after400))
	if u.rejected().Compression != jetstream.S2Compression {
		t.Error("it is unpacked")
	}

	unmarked := u.rejected() // as the first versions made it
	delete(unmarked.Metadata, settingsMark)
	u.update(unmarked)
	u.ensured(14)
	if u.rejected().Metadata[settingsMark] == "" {
		t.Error("one that has our settings is not known as ours")
	}
	unmarked.MaxAge = time.Hour
	u.update(unmarked)
	u.ensured(14, theirs)
}

// TestEveryChangeOfOthersIsSeen, and then nothing of the stream is ours to change.
func TestEveryChangeOfOthersIsSeen(t *testing.T) {
	u := newUpgrades(t)
	u.ensured(14)
	for field, change := range map[string]func(c *jetstream.StreamConfig){
		"direct get":     func(c *jetstream.StreamConfig) { c.AllowDirect = true },
		"atomic publish": func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = true },
		"republish": func(c *jetstream.StreamConfig) {
			c.RePublish = &jetstream.RePublish{Source: ">", Destination: "copy.>"}
		},
		"consumer limits": func(c *jetstream.StreamConfig) { c.ConsumerLimits.MaxAckPending = 9 },
	} {
		ours := u.rejected()
		theirs := ours
		change(&theirs)
		u.update(theirs)
		got, err := EnsureStreams(t.Context(), u.js, Configs(400, 1))
		if err != nil || len(got) != 2 || got[1].Field != field && got[0].Field != field || got[0].Upgraded || got[1].Upgraded {
			t.Errorf("%s by somebody else: %v, %v", field, got, err)
		}
		u.update(ours)
	}
}

// TestWhatCannotBeUpgradedIsSaid: copies, of a server that is alone.
func TestWhatCannotBeUpgradedIsSaid(t *testing.T) {
	js := serverWithStreams(t)
	diff, err := EnsureStreams(deadline(t), js, Configs(14, 3))
	if err != nil || len(diff) != 3 {
		t.Fatalf("%v, %v", diff, err)
	}
	if d := diff[0]; d.Upgraded || d.Field != "replicas" || !strings.HasPrefix(d.String(), "stream QUOTA: replicas is 1, not 3: it cannot be changed: ") {
		t.Errorf("it says %q", d)
	}
}
