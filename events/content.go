package events

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// hashBuffer is room on the stack for what is hashed of a common event; a longer
// one goes to the heap.
const hashBuffer = 768

// Identity returns what an event is known by: the first 16 bytes of SHA-256 over
// its kind, CloudEvent source and id, each with its length before it. ok is
// false when the event has no id; then it is not de-duplicated, and neither is
// configuration, whose order is all that counts.
//
// 16 bytes keep the entries small. By chance alone two of 10^12 ids would meet
// with a probability of 10^-15.
func (e *Event) Identity() (id [16]byte, ok bool) {
	if e.ID == "" || e.Kind.IsConfig() {
		return id, false
	}
	var room [hashBuffer]byte
	buf := appendString(room[:0], e.Kind.String())
	buf = appendString(buf, e.Source)
	buf = appendString(buf, e.ID)
	sum := sha256.Sum256(buf)
	copy(id[:], sum[:])
	return id, true
}

// Content returns SHA-256 over AppendCanonical. Two events with one identity are
// the same exactly if their contents are.
func (e *Event) Content() [32]byte {
	var room [hashBuffer]byte
	return sha256.Sum256(e.AppendCanonical(room[:0]))
}

// Tags of the canonical encoding. They are part of the format: never change or
// re-use one.
const (
	tagKind         = 1
	tagID           = 2
	tagSource       = 3
	tagTime         = 4
	tagAPIKeyID     = 5
	tagConnectionID = 6
	tagProvider     = 7
	tagModel        = 8
	tagRequestID    = 9
	tagReason       = 10
	tagPartial      = 11
	tagEstimated    = 12
	tagCost         = 16 // + unit
	tagReadings     = 32
	tagStatus       = 33
	tagHeaders      = 34
	tagPool         = 35
	tagCandidates   = 36
	tagLease        = 37
	tagMaxWait      = 38
	tagDecisionID   = 39
	tagConfigID     = 40
	tagDelete       = 41
	tagDocument     = 42
)

// AppendCanonical appends the known fields as published in the one form that
// docs/format/events.md describes: equal bytes exactly if equal fields, however
// they were encoded. What the publisher left out is left out: an absent time and
// the broker's are two contents, and so are no requests and one.
func (e *Event) AppendCanonical(dst []byte) []byte {
	c := canonical{dst}
	c.text(tagKind, e.Kind.String())
	c.text(tagID, e.ID)
	c.text(tagSource, e.Source)
	c.integer(tagTime, e.Time)
	c.text(tagAPIKeyID, e.APIKeyID)
	c.text(tagConnectionID, e.ConnectionID)
	c.text(tagProvider, e.Provider)
	c.text(tagModel, e.Model)
	c.text(tagRequestID, e.RequestID)
	c.text(tagReason, e.Reason)
	c.flag(tagPartial, e.Partial)
	c.flag(tagEstimated, e.Estimated)
	for u := range quota.Unit(quota.NumUnits) {
		if e.Given&(1<<u) != 0 {
			c.tag(tagCost + byte(u))
			c.varint(int64(e.Cost[u]))
		}
	}
	switch e.Kind {
	case Saturation:
		c.saturation(e)
	case Hold:
		c.hold(e)
	case ConfigPool, ConfigPlan, ConfigSettings:
		c.config(e)
	}
	return c.buf
}

// canonical builds the canonical encoding. Every field is a tag and a value that
// tells its own end, in ascending order of tags; an absent field is not there.
type canonical struct{ buf []byte }

func (c *canonical) tag(t byte) { c.buf = append(c.buf, t) }

func (c *canonical) varint(n int64) { c.buf = binary.AppendVarint(c.buf, n) }

func (c *canonical) length(n int) { c.buf = binary.AppendUvarint(c.buf, uint64(n)) }

func (c *canonical) string(s string) { c.buf = appendString(c.buf, s) }

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func (c *canonical) text(tag byte, s string) {
	if s != "" {
		c.tag(tag)
		c.string(s)
	}
}

func (c *canonical) integer(tag byte, n int64) {
	if n != 0 {
		c.tag(tag)
		c.varint(n)
	}
}

func (c *canonical) flag(tag byte, b bool) {
	if b {
		c.tag(tag)
	}
}

func (c *canonical) saturation(e *Event) {
	if e.Headers != nil {
		c.integer(tagStatus, int64(e.Status))
		c.headers(e.Headers)
		return
	}
	c.tag(tagReadings)
	c.length(len(e.Readings))
	for i := range e.Readings {
		r := &e.Readings[i]
		c.string(r.Window.String())
		c.string(r.Scope)
		c.varint(int64(r.UsedPercent))
		c.varint(r.ResetAt)
	}
}

func (c *canonical) headers(h map[string]string) {
	c.tag(tagHeaders)
	c.length(len(h))
	for _, name := range sortedNames(h) {
		c.string(name)
		c.string(h[name])
	}
}

func (c *canonical) hold(e *Event) {
	c.text(tagPool, e.Pool)
	if len(e.Candidates) > 0 {
		c.tag(tagCandidates)
		c.length(len(e.Candidates))
	}
	for i := range e.Candidates {
		candidate := &e.Candidates[i]
		c.string(candidate.ConnectionID)
		score := int64(-1) // none; a score is never negative
		if candidate.HasScore {
			score = int64(candidate.Score)
		}
		c.varint(score)
	}
	c.integer(tagLease, e.LeaseMs)
	c.integer(tagMaxWait, e.MaxWaitMs)
	c.text(tagDecisionID, e.DecisionID)
}

func (c *canonical) config(e *Event) {
	c.text(tagConfigID, e.ConfigID)
	c.flag(tagDelete, e.Delete)
	if !e.Delete {
		c.tag(tagDocument)
		c.string(string(wire.AppendValue(nil, wire.JSON, e.Document)))
	}
}

// sortedNames returns the keys of a map in byte order.
func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
