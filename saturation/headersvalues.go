package saturation

import (
	"math/bits"
	"strings"
	"time"

	"github.com/quotashare/quotashare/quota"
)

// bare is what a reset without a unit means, where it is a bare number.
type bare uint8

const (
	unsaid       bare = iota // the source does not say, so it means nothing
	epochSeconds             // instant
	epochMillis              // instant
	waitSeconds              // from the observation on
)

// bareReset returns what a bare x-ratelimit-reset of the provider means. The
// name is common, the meaning is not: the next few bytes may be an instant in
// seconds or in milliseconds, or a wait. A provider that is not here sends
// waits with units, or nothing, or has not told the world what.
func bareReset(provider string) bare {
	switch strings.ToLower(provider) {
	case "openrouter":
		// github.com/hydropix/TranslateBooksWithLLMs,
		// src/core/llm/rate_limit_handler.py: "UTC ms timestamp"
		return epochMillis
	case "copilot", "github-copilot", "github", "github-models":
		// github.com/github/docs, content/rest/using-the-rest-api/
		// rate-limits-for-the-rest-api.md: "in UTC epoch seconds"
		return epochSeconds
	case "azure", "azure-openai":
		// github.com/openai/openai-dotnet/issues/838: "an int in seconds"
		return waitSeconds
	case "cerebras":
		// github.com/nathabonfim59/cerebras-code-monitor, README.md: "time (in
		// seconds) until"
		return waitSeconds
	case "mistral":
		// github.com/promptfoo/promptfoo/pull/10577: "relative reset seconds"
		return waitSeconds
	}
	return unsaid
}

// reset reads when a limit is free again; 0 when it is not there, says 0, or
// cannot be read.
func (p *parser) reset(f field, found bool, b bare) int64 {
	if !found {
		return 0
	}
	ms, ok := p.instant(f.value, b)
	if !ok {
		p.fault(f.name, BadReset)
	}
	return ms
}

// instant reads an instant, or a wait from the observation on. Forms that say
// what they are (RFC 3339, an HTTP date, a wait with its units) are read
// wherever they stand; only a bare number needs its source to mean something,
// and is 0 for "none" where it is an instant.
func (p *parser) instant(text string, b bare) (int64, bool) {
	if n, _, err := quota.ParseFixed(text, 3); err == nil {
		switch b {
		case epochSeconds:
			return instantOrNone(n)
		case epochMillis:
			return instantOrNone(n / 1000)
		case waitSeconds:
			return p.after(n)
		}
		return 0, false
	}
	if strings.IndexByte(text, 'T') > 0 && strings.IndexByte(text, ' ') < 0 {
		ms, err := quota.ParseInstant(text)
		return ms, err == nil
	}
	if wait, ok := parseWait(text); ok {
		return p.after(wait)
	}
	return parseDate(text)
}

// parseWait reads a wait with its units into milliseconds: 2m59.56s, 20ms, and
// 1d2h, whose days time.ParseDuration does not know.
func parseWait(text string) (int64, bool) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		d, err := time.ParseDuration(text)
		return d.Milliseconds(), err == nil
	}
	n, err := quota.ParseInt(days)
	if err != nil || n < 0 || n > 366 {
		return 0, false
	}
	if rest == "" {
		return n * day, true
	}
	d, err := time.ParseDuration(rest)
	return n*day + d.Milliseconds(), err == nil && d >= 0
}

func instantOrNone(ms int64) (int64, bool) {
	if ms == 0 {
		return 0, true
	}
	ms, err := quota.CheckInstant(ms)
	return ms, err == nil
}

// after returns the instant that many milliseconds after the observation. The
// longest wait is a year: longer ones are instants that were taken for waits.
func (p *parser) after(wait int64) (int64, bool) {
	const year = 366 * 24 * 3_600_000
	if wait < 0 || wait > year {
		return 0, false
	}
	return instantOrNone(p.at + wait)
}

// dates are the forms of a date that HTTP has (RFC 9110, section 5.6.7), and
// the day alone that VS Code would take from Copilot (new Date(rst)): at
// midnight UTC.
var dates = [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC, time.DateOnly}

func parseDate(text string) (int64, bool) {
	for _, layout := range dates {
		if t, err := time.Parse(layout, text); err == nil {
			ms, err := quota.CheckInstant(t.UnixMilli())
			return ms, err == nil
		}
	}
	return 0, false
}

// retryAfter reads when to come back: RFC 9110, section 10.2.3, seconds or a
// date; and retry-after-ms, which OpenAI's clients prefer where there is one
// (github.com/openai/openai-python/pull/1086).
func (p *parser) retryAfter() (int64, bool) {
	if f, ok := p.fields.find("retry-after-ms", "", ""); ok {
		if n, _, err := quota.ParseFixed(f.value, 0); err == nil {
			if ms, ok := p.after(n); ok {
				return ms, true
			}
		}
		p.fault(f.name, BadReset)
	}
	f, ok := p.fields.find("retry-after", "", "")
	if !ok {
		return 0, false
	}
	ms := p.reset(f, true, waitSeconds)
	return ms, ms != 0
}

// percent reads a percentage, or with scale 2 a fraction of one, into percent.
func (p *parser) percent(f field, scale int) (quota.Amount, bool) {
	n, _, err := quota.ParseFixed(f.value, quota.Percent.Digits()+scale)
	if used := quota.Amount(n); err == nil && used >= 0 && used <= quota.Percent.Max() {
		return used, true
	}
	p.fault(f.name, BadNumber)
	return 0, false
}

// count reads a number of something countable, in thousandths.
func (p *parser) count(f field, text string) (quota.Amount, bool) {
	n, err := quota.ParseAmount(text, quota.Tokens)
	if err != nil {
		p.fault(f.name, BadNumber)
	}
	return n, err == nil
}

// usedOf returns (limit − remaining) / limit in percent, rounded half away from
// zero; limit is above 0. More left than the limit is nothing used, less than
// nothing left is more than all used. False when that is beyond any percentage.
func usedOf(limit, remaining quota.Amount) (quota.Amount, bool) {
	used := limit - remaining
	if used <= 0 {
		return 0, true
	}
	hi, lo := bits.Mul64(uint64(used), uint64(allUsed))
	if hi >= uint64(limit) { // else Div64 panics
		return 0, false
	}
	q, r := bits.Div64(hi, lo, uint64(limit))
	if r >= uint64(limit)-r {
		q++
	}
	return quota.Amount(q), q <= uint64(quota.Percent.Max())
}

const day = 86_400_000

// windowOf returns the window of a length in milliseconds. Lengths are rounded
// by those who send them (Codex sends 299 minutes and 10,079), so one percent
// off is still that window; a month has 28 to 31 days. Any other length is
// short-term up to a day, and none of our windows beyond.
func windowOf(ms int64) (quota.Window, bool) {
	for w := range quota.Window(quota.NumWindows) {
		if d := ms - w.Millis(); max(d, -d) <= w.Millis()/100 {
			return w, true
		}
	}
	if ms >= 28*day && ms <= 31*day {
		return quota.Monthly, true
	}
	return quota.Rate, ms > 0 && ms <= day
}

// inWindow is windowOf for a length that stands in a header.
func inWindow(n, unit int64) (quota.Window, bool) {
	if n <= 0 || n > 366*day/unit {
		return 0, false
	}
	return windowOf(n * unit)
}
