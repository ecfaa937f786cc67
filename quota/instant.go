package quota

import (
	"errors"
	"strings"
	"time"
)

// Instants are int64 epoch milliseconds. The two bounds are those of what we
// take in: before 2000 somebody sent seconds, and after 9999 RFC 3339 ends.
const (
	MinInstant int64 = 946_684_800_000     // 2000-01-01T00:00:00Z
	MaxInstant int64 = 253_402_300_799_999 // 9999-12-31T23:59:59.999Z
)

// Errors of ParseInstant and CheckInstant.
var (
	ErrNotInstant   = errors.New("is not a time: use RFC 3339 with zone, or integer epoch milliseconds")
	ErrInstantEarly = errors.New("is before 2000: use milliseconds, not seconds")
	ErrInstantLate  = errors.New("is after 9999: use milliseconds, not microseconds")
)

// ParseInstant reads RFC 3339 with zone, or integer epoch milliseconds written
// as text. Digits beyond milliseconds are cut, so an instant never moves into
// a later bucket.
func ParseInstant(text string) (int64, error) {
	if ms, err := ParseInt(text); err == nil {
		return CheckInstant(ms)
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || text[len("2026-08-01T12")] != ':' || strings.Contains(text, ",") {
		return 0, ErrNotInstant // time.Parse also takes one-digit hours and commas
	}
	return CheckInstant(t.UnixMilli())
}

// CheckInstant returns ms if it lies within MinInstant..MaxInstant.
func CheckInstant(ms int64) (int64, error) {
	switch {
	case ms < MinInstant:
		return 0, ErrInstantEarly
	case ms > MaxInstant:
		return 0, ErrInstantLate
	}
	return ms, nil
}

// AppendInstant appends ms as RFC 3339 UTC with milliseconds.
func AppendInstant(dst []byte, ms int64) []byte {
	return time.UnixMilli(ms).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}

// FormatInstant returns what AppendInstant appends.
func FormatInstant(ms int64) string { return string(AppendInstant(nil, ms)) }
