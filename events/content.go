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
// docs/format/events.md describes: a tag and a value for each field that is
// there, in ascending order of tags, every value telling its own end. So the
// bytes are equal exactly if the fields are, however they were encoded. What the publisher left out is left out: an absent time and
// the broker's are two contents, and so are no requests and one.
func (e *Event) AppendCanonical(dst []byte) []byte {
	dst = canonText(dst, tagKind, e.Kind.String())
	dst = canonText(dst, tagID, e.ID)
	dst = canonText(dst, tagSource, e.Source)
	dst = canonInt(dst, tagTime, e.Time)
	dst = canonText(dst, tagAPIKeyID, e.APIKeyID)
	dst = canonText(dst, tagConnectionID, e.ConnectionID)
	dst = canonText(dst, tagProvider, e.Provider)
	dst = canonText(dst, tagModel, e.Model)
	dst = canonText(dst, tagRequestID, e.RequestID)
	dst = canonText(dst, tagReason, e.Reason)
	dst = canonFlag(dst, tagPartial, e.Partial)
	dst = canonFlag(dst, tagEstimated, e.Estimated)
	for u := range quota.Unit(quota.NumUnits) {
		if e.Given&(1<<u) != 0 {
			dst = binary.AppendVarint(append(dst, tagCost+byte(u)), int64(e.Cost[u]))
		}
	}
	switch e.Kind {
	case Saturation:
		return e.canonSaturation(dst)
	case Release:
		return canonText(dst, tagDecisionID, e.DecisionID)
	case Hold:
		return e.canonHold(dst)
	case ConfigPool, ConfigPlan, ConfigSettings:
		return e.canonConfig(dst)
	}
	return dst
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendCount appends a tag and the number of what follows it.
func appendCount(dst []byte, tag byte, n int) []byte {
	return binary.AppendUvarint(append(dst, tag), uint64(n))
}

func canonText(dst []byte, tag byte, s string) []byte {
	if s == "" {
		return dst
	}
	return appendString(append(dst, tag), s)
}

func canonInt(dst []byte, tag byte, n int64) []byte {
	if n == 0 {
		return dst
	}
	return binary.AppendVarint(append(dst, tag), n)
}

func canonFlag(dst []byte, tag byte, b bool) []byte {
	if !b {
		return dst
	}
	return append(dst, tag)
}

func (e *Event) canonSaturation(dst []byte) []byte {
	if e.Headers != nil {
		dst = canonInt(dst, tagStatus, int64(e.Status))
		dst = appendCount(dst, tagHeaders, len(e.Headers))
		for _, name := range sortedNames(e.Headers) {
			dst = appendString(dst, name)
			dst = appendString(dst, e.Headers[name])
		}
		return dst
	}
	dst = appendCount(dst, tagReadings, len(e.Readings))
	for i := range e.Readings {
		r := &e.Readings[i]
		dst = appendString(dst, r.Window.String())
		dst = appendString(dst, r.Scope)
		dst = binary.AppendVarint(dst, int64(r.UsedPercent))
		dst = binary.AppendVarint(dst, r.ResetAt)
	}
	return dst
}

func (e *Event) canonHold(dst []byte) []byte {
	dst = canonText(dst, tagPool, e.Pool)
	if len(e.Candidates) > 0 {
		dst = appendCount(dst, tagCandidates, len(e.Candidates))
	}
	for i := range e.Candidates {
		c := &e.Candidates[i]
		dst = appendString(dst, c.ConnectionID)
		score := int64(-1) // none; a score is never negative
		if c.HasScore {
			score = int64(c.Score)
		}
		dst = binary.AppendVarint(dst, score)
	}
	dst = canonInt(dst, tagLease, e.LeaseMs)
	dst = canonInt(dst, tagMaxWait, e.MaxWaitMs)
	return canonText(dst, tagDecisionID, e.DecisionID)
}

func (e *Event) canonConfig(dst []byte) []byte {
	dst = canonText(dst, tagConfigID, e.ConfigID)
	if e.Delete {
		return append(dst, tagDelete)
	}
	document := wire.AppendValue(nil, wire.JSON, e.Document)
	dst = binary.AppendUvarint(append(dst, tagDocument), uint64(len(document)))
	return append(dst, document...)
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
