package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"
)

// claudeCode tries again as Claude Code does (code.claude.com/docs/en/llm-gateway-protocol):
// a 429 up to ten times, after the Retry-After or with a growing pause; not when it would
// have to wait for more than a minute, and not when it is told so. Its clock is a list.
type claudeCode struct {
	s             *site
	deaf, patient bool // it knows no X-Should-Retry; no Retry-After is too long for it
	attempts      int
	waited        []time.Duration
	lastStatus    int
}

const mostRetries = 10

// ask makes a call, and returns when it is answered or given up.
func (c *claudeCode) ask() {
	for pause := 500 * time.Millisecond; ; pause = min(2*pause, 32*time.Second) {
		resp := c.s.do(c.s.request("POST", "/v1/messages", `{"model":"claude-sonnet-4-5","max_tokens":5}`))
		_ = text(c.s.t, resp)
		c.attempts++
		c.lastStatus = resp.StatusCode
		wait, again := c.retry(resp.Header, pause)
		if resp.StatusCode != http.StatusTooManyRequests || c.attempts > mostRetries || !again {
			return
		}
		c.waited = append(c.waited, wait)
	}
}

func (c *claudeCode) retry(h http.Header, pause time.Duration) (time.Duration, bool) {
	if h.Get("X-Should-Retry") == "false" && !c.deaf {
		return 0, false
	}
	if s, err := strconv.Atoi(h.Get("Retry-After")); err == nil {
		pause = time.Duration(s) * time.Second
		return pause, pause <= time.Minute || c.patient
	}
	return pause, true
}

// TestClaudeCodeDoesNotRunAgainstAWall: a block for hours is one attempt, whichever of
// the two headers it obeys; one of half a minute is waited for. What it would do with a
// bare 429, here a provider's own, is what the headers are for.
func TestClaudeCodeDoesNotRunAgainstAWall(t *testing.T) {
	bare := upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	hours := start(t, scripted(t, blocked("5 hours", "2 h", 7_200_000)), everything(bare))
	soon := start(t, scripted(t, blocked("hour", "30 s", 29_750)), everything(bare))
	free := start(t, nowhere, everything(bare))
	growing := []time.Duration{500e6, 1e9, 2e9, 4e9, 8e9, 16e9, 32e9, 32e9, 32e9, 32e9}
	for name, tt := range map[string]struct {
		c        claudeCode
		attempts int
		waited   []time.Duration
	}{
		"two hours":                          {claudeCode{s: hours}, 1, nil},
		"two hours, Retry-After alone":       {claudeCode{s: hours, deaf: true}, 1, nil},
		"two hours, X-Should-Retry alone":    {claudeCode{s: hours, patient: true}, 1, nil},
		"two hours, neither is known":        {claudeCode{s: hours, deaf: true, patient: true}, 11, slices.Repeat([]time.Duration{2 * time.Hour}, 10)},
		"half a minute":                      {claudeCode{s: soon}, 11, slices.Repeat([]time.Duration{30 * time.Second}, 10)},
		"a bare 429 that the provider gives": {claudeCode{s: free}, 11, growing},
	} {
		tt.c.ask()
		if tt.c.attempts != tt.attempts || tt.c.lastStatus != 429 || !slices.Equal(tt.c.waited, tt.waited) {
			t.Errorf("%s: %d attempts, waited %v, then %d", name, tt.c.attempts, tt.c.waited, tt.c.lastStatus)
		}
	}
}
