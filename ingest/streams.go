package ingest

import (
	"context"
	"fmt"
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

// The bounds of what is kept. Of the log retention purges what is old, and nothing
// else does. What is rejected and what was decided has no other bound than an age.
const (
	day         = 24 * time.Hour
	minKeptDays = 60              // usage is kept at least this long
	purgeSlack  = 30 * day        // a rejected event outlives what it is rejected from
	duplicates  = 2 * time.Minute // Nats-Msg-Id of a retried array
	decisionAge = 14 * day        // decisions can be derived again from the log
	decisionCap = int64(1) << 30  // 1 GiB, the oldest go first
)

// CostOfMaxAge is what an age limit on QUOTA costs, and how it is taken away. While a
// broker runs it heeds "Nats-TTL: never"; when it opens a stream it does not, and all
// that is older goes. A ttl for delete markers would stop that, but brings rollups,
// by which whoever may publish may purge.
const CostOfMaxAge = "when the broker starts again it deletes all that is older, pools, plans and settings too; take the limit away: nats stream edit " +
	events.Stream + " --max-age=0s"

// Configs returns the settings of the streams as we create them. retentionDays
// is how long usage is to be kept, replicas 1 for a single server.
//
// QUOTA drops nothing to make room: a full disk refuses the publisher, who can
// try again, where a dropped message would be usage that nobody ever sees. Nor has
// it an age limit beside the purge, for what that costs see CostOfMaxAge. Reads go through its leader (no direct get), because a replica that lags
// would look like a log that was rolled back. QUOTA_REJECTED takes one message
// per subject and refuses the next, so that any number of programs that find
// the same bad event leave it there once.
func Configs(retentionDays, replicas int) []jetstream.StreamConfig {
	age := ageFor(retentionDays)
	return []jetstream.StreamConfig{
		{
			Name:        events.Stream,
			Description: "quotashare: usage, provider signals, holds and configuration in one order",
			Subjects:    events.StreamSubjects(), // a plain "quota.>" would take in the questions too
			Duplicates:  duplicates,
			AllowMsgTTL: true, // "Nats-TTL: never" keeps configuration from a limit that others set, while they run
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

// ageFor is the age limit of what has one as long as usage is kept.
func ageFor(days int) time.Duration {
	return time.Duration(max(minKeptDays, days))*day + purgeSlack
}

// mostKeptDays is the longest that the setting can ask for.
const mostKeptDays = 3_650

// setEarlier reports whether an age limit is one that earlier versions gave QUOTA, by
// whatever the setting was then. One of the same length that somebody else chose is
// taken for it, and loses nothing: the purge keeps less than it did.
func setEarlier(limit time.Duration) bool {
	return limit%day == 0 && ageFor(0) <= limit && limit <= ageFor(mostKeptDays)
}

// LiftMaxAge takes away the age limit that earlier versions gave QUOTA, while the
// broker runs: at its next start it would be too late. It returns the limit that is
// left, 0 = none. That of somebody else stays, as in EnsureStreams.
func LiftMaxAge(ctx context.Context, js jetstream.JetStream) (left time.Duration, err error) {
	s, err := js.Stream(ctx, events.Stream)
	if err != nil {
		return 0, err
	}
	c := s.CachedInfo().Config
	if !setEarlier(c.MaxAge) {
		return c.MaxAge, nil
	}
	left, c.MaxAge = c.MaxAge, 0
	if _, err := js.UpdateStream(ctx, c); err != nil {
		return left, fmt.Errorf("stream %s: max age: %w", events.Stream, err)
	}
	return 0, nil
}

// DropsOldest says by which of its limits the log drops the oldest messages to make room
// for new ones, configuration too; "" = by none, as it should be. The limits are somebody's
// own, so they are left.
func DropsOldest(c jetstream.StreamConfig) string {
	if c.Discard != jetstream.DiscardOld {
		return "" // who publishes is refused, and knows
	}
	for _, limit := range [...]struct {
		name, flag string
		set        int64
	}{
		{"max bytes", "--max-bytes=-1", c.MaxBytes},
		{"max messages", "--max-msgs=-1", c.MaxMsgs},
		{"max messages per subject", "--max-msgs-per-subject=-1", c.MaxMsgsPerSubject},
	} {
		if limit.set > 0 {
			return fmt.Sprintf("%s: the log has a limit of %d, and drops its oldest messages to make room, pools, plans and settings too: take it away with nats stream edit %s %s",
				limit.name, limit.set, events.Stream, limit.flag)
		}
	}
	return ""
}
