package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
)

// DecisionsStream is where decisions go as they were answered. It belongs to
// nobody's fold; the two others are named where events are. After the prefix
// comes the connection, escaped as in the subjects of configuration, so that those
// of one are found without reading all.
const (
	DecisionsStream = "QUOTA_DECISIONS"
	DecisionsPrefix = "quota.decisions."
)

// The bounds of what is kept. Of the log retention purges earlier, and moves MaxAge
// with the setting; MaxAge is what holds when nobody runs the purge. What is rejected
// and what was decided has no other bound.
const (
	minKeptDays = 60                  // usage is kept at least this long
	purgeSlack  = 30 * 24 * time.Hour // so MaxAge never runs before the purge
	duplicates  = 2 * time.Minute     // Nats-Msg-Id of a retried array
	decisionAge = 14 * 24 * time.Hour // decisions can be derived again from the log
	decisionCap = int64(1) << 30      // 1 GiB, the oldest go first
)

// Difference is a setting of a stream that is not what we would have set.
type Difference struct {
	Stream string
	Field  string
	Want   string
	Have   string
}

// String says it in one line.
func (d Difference) String() string {
	return fmt.Sprintf("stream %s: %s is %s, not %s", d.Stream, d.Field, d.Have, d.Want)
}

// Configs returns the settings of the streams as we create them. retentionDays
// is how long usage is to be kept, replicas 1 for a single server.
//
// QUOTA drops nothing to make room: a full disk refuses the publisher, who can
// try again, where a dropped message would be usage that nobody ever sees.
// Reads go through its leader (no direct get), because a replica that lags
// would look like a log that was rolled back. QUOTA_REJECTED takes one message
// per subject and refuses the next, so that any number of programs that find
// the same bad event leave it there once.
func Configs(retentionDays, replicas int) []jetstream.StreamConfig {
	age := time.Duration(max(minKeptDays, retentionDays))*24*time.Hour + purgeSlack
	return []jetstream.StreamConfig{
		{
			Name:        events.Stream,
			Description: "quotashare: usage, provider signals, holds and configuration in one order",
			Subjects:    events.StreamSubjects(), // a plain "quota.>" would take in the questions too
			MaxAge:      age,
			Duplicates:  duplicates,
			AllowMsgTTL: true, // so that "Nats-TTL: never" keeps configuration for ever
			Replicas:    replicas,
		},
		{
			Name:                 events.RejectedStream,
			Description:          "quotashare: events that could not be folded, and why",
			Subjects:             []string{events.RejectedPrefix + ">"},
			MaxAge:               age,
			MaxMsgsPerSubject:    1,
			Discard:              jetstream.DiscardNew,
			DiscardNewPerSubject: true,
			Duplicates:           duplicates,
			Replicas:             replicas,
		},
		{
			Name:        DecisionsStream,
			Description: "quotashare: decisions as they were answered",
			Subjects:    []string{DecisionsPrefix + ">"},
			MaxAge:      decisionAge,
			MaxBytes:    decisionCap,
			Duplicates:  duplicates,
			Replicas:    replicas,
		},
	}
}

// EnsureStreams creates the streams that are missing. One that is there with
// other settings is left as it is and reported: somebody who runs the broker
// may have had a reason, and two programs that both insist would change it
// back and forth for ever.
func EnsureStreams(ctx context.Context, js jetstream.JetStream, want []jetstream.StreamConfig) ([]Difference, error) {
	var all []Difference
	for _, cfg := range want {
		found, err := ensureStream(ctx, js, cfg)
		if err != nil {
			return all, fmt.Errorf("stream %s: %w", cfg.Name, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// ensureStream looks before it creates. Creating first would do for a stream
// with equal settings, but a broker near its storage limit refuses to create
// even what exists.
func ensureStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) ([]Difference, error) {
	s, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // somebody was faster
			s, err = js.Stream(ctx, want.Name)
		}
	}
	if err != nil {
		return nil, err
	}
	return compare(want, s.CachedInfo().Config), nil
}

// compare names the settings on which the engine relies and which differ.
// Subjects are compared as sets; more of them than ours is a difference too,
// since what arrives there is rejected as unknown. Replicas are not: how many
// there are is the business of whoever runs the cluster.
func compare(want, have jetstream.StreamConfig) []Difference {
	var all []Difference
	check := func(field string, w, h any) {
		if ws, hs := fmt.Sprint(w), fmt.Sprint(h); ws != hs {
			all = append(all, Difference{Stream: want.Name, Field: field, Want: ws, Have: hs})
		}
	}
	check("subjects", slices.Sorted(slices.Values(want.Subjects)), slices.Sorted(slices.Values(have.Subjects)))
	check("retention", want.Retention, have.Retention)
	check("storage", want.Storage, have.Storage)
	check("discard", want.Discard, have.Discard)
	check("discard new per subject", want.DiscardNewPerSubject, have.DiscardNewPerSubject)
	check("max messages", unlimited(want.MaxMsgs), unlimited(have.MaxMsgs))
	check("max messages per subject", unlimited(want.MaxMsgsPerSubject), unlimited(have.MaxMsgsPerSubject))
	check("max bytes", unlimited(want.MaxBytes), unlimited(have.MaxBytes))
	// A longer one of the log is what a setting in it asks for: retention moves it.
	if want.Name != events.Stream || have.MaxAge < want.MaxAge {
		check("max age", want.MaxAge, have.MaxAge)
	}
	check("allow message ttl", want.AllowMsgTTL, have.AllowMsgTTL)
	check("allow rollup", want.AllowRollup, have.AllowRollup)
	check("no acknowledgements", want.NoAck, have.NoAck)
	check("duplicate window", want.Duplicates, have.Duplicates)
	check("deny purge", want.DenyPurge, have.DenyPurge)
	check("sealed", want.Sealed, have.Sealed)
	check("max message size", unlimited(int64(want.MaxMsgSize)), unlimited(int64(have.MaxMsgSize)))
	check("subject transform", want.SubjectTransform != nil, have.SubjectTransform != nil)
	check("mirror", want.Mirror != nil, have.Mirror != nil)
	check("sources", len(want.Sources), len(have.Sources))
	return all
}

// unlimited reads "not set" as the broker stores it.
func unlimited(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}
