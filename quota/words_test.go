package quota

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestUnitsAndWindows(t *testing.T) {
	for u := range Unit(NumUnits) {
		if got, ok := ParseUnit(u.String()); got != u || !ok || !u.Valid() {
			t.Errorf("unit %v read back as %v, %v", u, got, ok)
		}
		if !strings.Contains(UnitNames, u.String()) {
			t.Errorf("%v is not told to people", u)
		}
	}
	for w := range Window(NumWindows) {
		if got, ok := ParseWindow(w.String()); got != w || !ok {
			t.Errorf("window %v read back as %v, %v", w, got, ok)
		}
		if !strings.Contains(WindowNames, w.String()) {
			t.Errorf("%v is not told to people", w)
		}
	}
	want := [...]time.Duration{time.Hour, 5 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 24 * time.Hour}
	for w := range want {
		if got := Window(w).Millis(); got != want[w].Milliseconds() {
			t.Errorf("%v has %d ms", Window(w), got)
		}
	}
	for _, name := range []string{"", "token", "Tokens", "TOKENS", " tokens", "tokens "} {
		if _, ok := ParseUnit(name); ok {
			t.Errorf("unit %q is known", name)
		}
	}
	for _, name := range []string{"", "rate", "Daily", "24h"} {
		if _, ok := ParseWindow(name); ok {
			t.Errorf("window %q is known", name)
		}
	}
	if w, ok := ParseReadingWindow("rate"); w != Rate || !ok {
		t.Error("a reading has no rate")
	}
	if w, ok := ParseReadingWindow("5h"); w != FiveHour || !ok {
		t.Error("a reading has no 5h")
	}
	if Unit(NumUnits).Valid() {
		t.Error("a fifth unit is valid")
	}
}

func TestValidateID(t *testing.T) {
	for _, id := range []string{"a", "*", "a:b/c%d.e f", "ключ", "🔑", strings.Repeat("x", 256), strings.Repeat("é", 128), "\u00a0", "\u2028"} {
		if err := ValidateID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for id, want := range map[string]error{
		"":                                ErrIDEmpty,
		strings.Repeat("x", 257):          ErrIDLong,
		strings.Repeat("é", 128) + "x":    ErrIDLong,
		"a\x00":                           ErrIDControl,
		"a\x1f":                           ErrIDControl,
		"a\nb":                            ErrIDControl,
		"\x7f":                            ErrIDControl,
		"\u0080":                          ErrIDControl,
		"\u009f":                          ErrIDControl,
		"é\u0085":                         ErrIDControl,
		"\xff":                            ErrIDUTF8,
		"\xc0\x80":                        ErrIDUTF8, // overlong
		"\xed\xa0\x80":                    ErrIDUTF8, // half of a surrogate pair
		strings.Repeat("é", 127) + "\xc3": ErrIDUTF8, // cut in the middle
	} {
		if err := ValidateID(id); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", id, err, want)
		}
	}
}

func TestParseInstant(t *testing.T) {
	const noon = 1_785_585_600_000 // 2026-08-01T12:00:00Z
	for text, want := range map[string]int64{
		"1785585600000":                  noon,
		"2026-08-01T12:00:00Z":           noon,
		"2026-08-01T14:00:00+02:00":      noon,
		"2026-08-01T12:00:00.001Z":       noon + 1,
		"2026-08-01T12:00:00.0019999Z":   noon + 1, // cut, not rounded
		"2026-08-01T11:59:59.999999999Z": noon - 1,
		"2000-01-01T00:00:00Z":           MinInstant,
		"9999-12-31T23:59:59.999Z":       MaxInstant,
		"253402300799999":                MaxInstant,
		"1.785585600e12":                 noon,
		"2026-07-31T23:30:00-12:30":      noon,
	} {
		if got, err := ParseInstant(text); got != want || err != nil {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]error{
		"1785585600":                ErrInstantEarly, // seconds
		"0":                         ErrInstantEarly,
		"-1":                        ErrInstantEarly,
		"1999-12-31T23:59:59.999Z":  ErrInstantEarly,
		"1970-01-01T00:00:00Z":      ErrInstantEarly,
		"1785585600000000":          ErrInstantLate, // microseconds
		"253402300800000":           ErrInstantLate,
		"1785585600000.5":           ErrNotInstant,
		"":                          ErrNotInstant,
		"now":                       ErrNotInstant,
		"2026-08-01":                ErrNotInstant,
		"2026-08-01T12:00:00":       ErrNotInstant, // no zone
		"2026-08-01T12:00:00,5Z":    ErrNotInstant,
		"2026-08-01T1:00:00Z":       ErrNotInstant,
		"2026-08-01 12:00:00Z":      ErrNotInstant,
		"2026-13-01T12:00:00Z":      ErrNotInstant,
		"2026-08-01T12:00:00+99:00": ErrNotInstant,
	} {
		if got, err := ParseInstant(text); !errors.Is(err, want) {
			t.Errorf("%q: %d, %v; want %v", text, got, err, want)
		}
	}
}

func TestInstantRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(MinInstant, MaxInstant).Draw(t, "ms")
		text := FormatInstant(ms)
		if got, err := ParseInstant(text); got != ms || err != nil || len(text) != len("2026-08-01T12:00:00.000Z") {
			t.Fatalf("%d → %s → %d, %v", ms, text, got, err)
		}
	})
}
