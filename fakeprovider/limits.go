package fakeprovider

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/quotashare/quotashare/dialect"
)

// Limits are those of the provider's account, which all its callers share. 0 is
// no limit, and none is told of. A metered request that finds one used up is
// answered 429 until its window ends; what is in progress runs over it, as it
// does at every provider.
type Limits struct {
	RequestsPerMinute int64
	TokensPerMinute   int64
	// Of a plan, told in percent: to callers of messages and of responses, as
	// Claude Code and Codex read them.
	TokensPer5h   int64
	TokensPerWeek int64
}

// meter counts in a window that begins with the first request after the last
// one ended.
type meter struct {
	limit  int64
	length time.Duration
	used   int64
	resets time.Time
}

// The meters of a provider.
const (
	minuteRequests = iota
	minuteTokens
	fiveHours
	week
)

func (l Limits) meters() [4]meter {
	return [4]meter{
		minuteRequests: {limit: l.RequestsPerMinute, length: time.Minute},
		minuteTokens:   {limit: l.TokensPerMinute, length: time.Minute},
		fiveHours:      {limit: l.TokensPer5h, length: 5 * time.Hour},
		week:           {limit: l.TokensPerWeek, length: 7 * 24 * time.Hour},
	}
}

// limit counts a request, or refuses it.
func (p *Provider) limit(c *call) fault {
	if !c.api.Metered() {
		return fault{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.opt.Now()
	for i := range p.meters {
		m := &p.meters[i]
		if !now.Before(m.resets) {
			m.used, m.resets = 0, now.Add(m.length)
		}
		if m.limit > 0 && m.used >= m.limit {
			c.how.RetryAfter = m.resets.Sub(now)
			return fault{429, fmt.Sprintf("Rate limit reached: %d used of %d. Please try again in %v.", m.used, m.limit, c.how.RetryAfter)}
		}
	}
	p.meters[minuteRequests].used++
	return fault{}
}

// spend counts tokens. The caller holds the lock.
func (p *Provider) spend(tokens int64) {
	for i := minuteTokens; i <= week; i++ {
		p.meters[i].used += tokens
	}
}

// head sets what every answer has in its header.
func (p *Provider) head(h http.Header, c *call) {
	p.mu.Lock()
	meters, now := p.meters, p.opt.Now()
	p.mu.Unlock()
	if c.anthropic {
		h.Set("Request-Id", c.id("req_011"))
		h.Set("Anthropic-Organization-Id", "3b2f8a54-7c11-4f0e-9d52-6f1f0f0a5e11")
	} else {
		h.Set("X-Request-Id", c.id("req_"))
		h.Set("Openai-Version", "2020-10-01")
		h.Set("Openai-Organization", "fake-provider")
	}
	switch {
	case !c.api.Metered():
	case c.anthropic:
		tellAnthropic(h, meters, now)
	default:
		tellOpenAI(h, meters, now)
		if c.api == dialect.Responses {
			tellCodex(h, meters, now)
		}
	}
}

// told reports whether there is something to tell: a limit, and a window that
// has begun.
func (m meter) told(now time.Time) bool { return m.limit > 0 && now.Before(m.resets) }

// rest is what remains.
func (m meter) rest() string { return number(max(m.limit-m.used, 0)) }

// tellAnthropic sets the headers of the API
// (platform.claude.com/docs/en/api/rate-limits) and those of a plan, which
// Claude Code reads.
func tellAnthropic(h http.Header, meters [4]meter, now time.Time) {
	for i, kind := range []string{minuteRequests: "Requests", minuteTokens: "Tokens"} {
		if m := meters[i]; m.told(now) {
			h.Set("Anthropic-Ratelimit-"+kind+"-Limit", number(m.limit))
			h.Set("Anthropic-Ratelimit-"+kind+"-Remaining", m.rest())
			h.Set("Anthropic-Ratelimit-"+kind+"-Reset", m.resets.UTC().Format(time.RFC3339))
		}
	}
	for i, window := range map[int]string{fiveHours: "5h", week: "7d"} {
		if m := meters[i]; m.told(now) {
			name := "Anthropic-Ratelimit-Unified-" + window
			h.Set(name+"-Status", m.status())
			h.Set(name+"-Utilization", strconv.FormatFloat(float64(m.used)/float64(m.limit), 'f', -1, 64))
			h.Set(name+"-Reset", number(m.resets.Unix()))
		}
	}
}

func (m meter) status() string {
	if m.used >= m.limit {
		return "rejected"
	}
	return "allowed"
}

// tellOpenAI sets the headers of the API
// (platform.openai.com/docs/guides/rate-limits); resets are waits, such as
// 6m0s.
func tellOpenAI(h http.Header, meters [4]meter, now time.Time) {
	for i, kind := range []string{minuteRequests: "Requests", minuteTokens: "Tokens"} {
		if m := meters[i]; m.told(now) {
			h.Set("X-Ratelimit-Limit-"+kind, number(m.limit))
			h.Set("X-Ratelimit-Remaining-"+kind, m.rest())
			h.Set("X-Ratelimit-Reset-"+kind, m.resets.Sub(now).Round(time.Millisecond).String())
		}
	}
}

// tellCodex sets the headers of a plan that Codex reads
// (github.com/openai/codex, codex-rs/codex-api/src/rate_limits.rs).
func tellCodex(h http.Header, meters [4]meter, now time.Time) {
	for i, place := range map[int]string{fiveHours: "Primary", week: "Secondary"} {
		if m := meters[i]; m.told(now) {
			name := "X-Codex-" + place
			h.Set(name+"-Used-Percent", strconv.FormatFloat(100*float64(m.used)/float64(m.limit), 'f', -1, 64))
			h.Set(name+"-Window-Minutes", number(int64(m.length/time.Minute)))
			h.Set(name+"-Reset-After-Seconds", number(int64(m.resets.Sub(now)/time.Second)))
			h.Set(name+"-Reset-At", number(m.resets.Unix()))
		}
	}
}
