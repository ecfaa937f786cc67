package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
)

// Difference is a setting of a stream that is not what we would have set, or was not.
type Difference struct {
	Stream string
	Field  string
	Want   string
	Have   string // or had, when it is Upgraded
	Cost   string // what is lost by it, or why it stays, "" = nothing that we know
	// Upgraded: nobody else had changed the stream, so it has now what we want.
	Upgraded bool
}

// String says it in one line.
func (d Difference) String() string {
	line := fmt.Sprintf("stream %s: %s is %s, not %s", d.Stream, d.Field, d.Have, d.Want)
	if d.Upgraded {
		line = fmt.Sprintf("stream %s: %s was %s, and is %s", d.Stream, d.Field, d.Have, d.Want)
	}
	if d.Cost != "" {
		line += ": " + d.Cost
	}
	return line
}

// settingsMark is where a stream says which settings we gave it last, as a hash. While it
// has those, nobody else changed it, and we may.
const settingsMark = "quotashare.settings"

// EnsureStreams creates the streams that are missing, and brings those to what is wanted
// that have the settings of an earlier time or version of ours. One that somebody else
// has changed is left as it is and reported: whoever runs the broker may have had a
// reason, and two programs that both insist would change it back and forth for ever. Only
// the age limit that we gave QUOTA once is taken away all the same, and copies are added
// when more are wanted: more than that harm nobody, and are left.
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
	want.Metadata = map[string]string{settingsMark: fingerprint(want)}
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
	have := s.CachedInfo().Config
	if want.Name == events.Stream {
		// What could not be lifted is reported as one that was not to be.
		if left, err := LiftMaxAge(ctx, js); err == nil {
			have.MaxAge = left
		}
	}
	return upgrade(ctx, js, want, have)
}

// upgrade brings a stream to what is wanted, as far as it is ours to change.
func upgrade(ctx context.Context, js jetstream.JetStream, want, have jetstream.StreamConfig) ([]Difference, error) {
	diff := compare(want, have)
	mark := have.Metadata[settingsMark]
	next, ours := have, mark == fingerprint(have) || !strings.HasPrefix(mark, marked) && len(diff) == 0
	if ours {
		next = want
		next.Placement, next.Compression = have.Placement, have.Compression
		next.Metadata = maps.Clone(have.Metadata)
		if next.Metadata == nil {
			next.Metadata = map[string]string{}
		}
		next.Metadata[settingsMark] = want.Metadata[settingsMark]
	}
	next.Replicas = max(want.Replicas, have.Replicas)
	if next.Replicas == have.Replicas && (!ours || next.Metadata[settingsMark] == mark) {
		return diff, nil
	}
	_, err := js.UpdateStream(ctx, next)
	if next.Replicas != have.Replicas {
		diff = append(diff, Difference{Stream: want.Name, Field: "replicas", Want: fmt.Sprint(next.Replicas), Have: fmt.Sprint(have.Replicas)})
	}
	for i := range diff {
		switch d := &diff[i]; {
		case err != nil:
			d.Cost = fmt.Sprintf("it cannot be changed: %v", err)
		case ours || d.Field == "replicas":
			d.Upgraded, d.Cost = true, ""
		}
	}
	return diff, ctx.Err()
}

// setting is one on which the engine relies.
type setting struct{ field, value string }

// settings are those of a stream, as the broker stores them. Subjects are compared as
// sets; more of them than ours is a difference too, since what arrives there is rejected
// as unknown. Replicas, where they are and how they are packed is not among them: that is
// the business of whoever runs the cluster.
func settings(c *jetstream.StreamConfig) []setting {
	var all []setting
	add := func(field string, value any) { all = append(all, setting{field, fmt.Sprint(value)}) }
	add("subjects", slices.Sorted(slices.Values(c.Subjects)))
	add("retention", c.Retention)
	add("storage", c.Storage)
	add("discard", c.Discard)
	add("discard new per subject", c.DiscardNewPerSubject)
	add("max messages", unlimited(c.MaxMsgs))
	add("max messages per subject", unlimited(c.MaxMsgsPerSubject))
	add("max bytes", unlimited(c.MaxBytes))
	add("max age", c.MaxAge)
	add("allow message ttl", c.AllowMsgTTL)
	add("allow rollup", c.AllowRollup)
	add("no acknowledgements", c.NoAck)
	add("duplicate window", c.Duplicates)
	add("deny purge", c.DenyPurge)
	add("deny delete", c.DenyDelete)
	add("sealed", c.Sealed)
	add("max message size", unlimited(int64(c.MaxMsgSize)))
	add("max consumers", unlimited(int64(c.MaxConsumers)))
	add("consumer limits", c.ConsumerLimits)
	add("subject transform", said(c.SubjectTransform))
	add("republish", said(c.RePublish))
	add("mirror", c.Mirror != nil)
	add("sources", len(c.Sources))
	add("direct get", c.AllowDirect)
	add("mirror direct get", c.MirrorDirect)
	add("atomic publish", c.AllowAtomicPublish)
	add("batch publish", c.AllowBatchPublish)
	add("message counters", c.AllowMsgCounter)
	add("message schedules", c.AllowMsgSchedules)
	add("delete marker ttl", c.SubjectDeleteMarkerTTL)
	add("persist mode", c.PersistMode)
	return all
}

// said is what a pointer leads to, or that it leads nowhere.
func said[T any](p *T) any {
	if p == nil {
		return "none"
	}
	return *p
}

// marked is what begins every mark. One of other settings than these begins otherwise and
// says nothing any more: then what the stream has decides.
const marked = "2:"

// fingerprint is a short name of the settings.
func fingerprint(c jetstream.StreamConfig) string {
	h := sha256.New()
	for _, s := range settings(&c) {
		fmt.Fprintf(h, "%s=%s\n", s.field, s.value)
	}
	return marked + hex.EncodeToString(h.Sum(nil)[:16])
}

// costs are what other settings than ours cost the log.
var costs = map[string]string{
	"max age":    CostOfMaxAge,
	"direct get": "a copy that lags may be read, and looks like a log that was rolled back",
}

// compare names the settings that differ.
func compare(want, have jetstream.StreamConfig) []Difference {
	var all []Difference
	ours := settings(&want)
	for i, h := range settings(&have) {
		if h == ours[i] {
			continue
		}
		d := Difference{Stream: want.Name, Field: h.field, Want: ours[i].value, Have: h.value}
		if want.Name == events.Stream {
			d.Cost = costs[h.field]
		}
		all = append(all, d)
	}
	return all
}

// unlimited reads "not set" as the broker stores it.
func unlimited(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}
