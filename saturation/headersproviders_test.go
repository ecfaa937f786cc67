package saturation

import (
	"testing"

	"github.com/quotashare/quotashare/quota"
)

// anthropicCases, as those of the other sources, are made up in the forms that
// the sources have; reportCases are responses that there were.
var anthropicCases = []headerCase{
	{"a window of a model keeps its scope", "claude", 200, `
		anthropic-ratelimit-unified-7d-utilization: 0.40
		anthropic-ratelimit-unified-7d-reset: 1788998400
		anthropic-ratelimit-unified-7d_opus-utilization: 0.85
		anthropic-ratelimit-unified-7d_opus-reset: 1789002000
		anthropic-ratelimit-unified-7d_sonnet-utilization: 0.05`, `
		weekly 40 2026-09-10T00:00:00.000Z
		weekly/opus 85 2026-09-10T01:00:00.000Z
		weekly/sonnet 5 -`},
	{"oi is Fable", "anthropic", 429, `
		anthropic-ratelimit-unified-5h-reset: 1788586800
		anthropic-ratelimit-unified-5h-status: allowed
		anthropic-ratelimit-unified-5h-utilization: 0.0
		anthropic-ratelimit-unified-7d-reset: 1788998400
		anthropic-ratelimit-unified-7d-status: allowed_warning
		anthropic-ratelimit-unified-7d-surpassed-threshold: 0.75
		anthropic-ratelimit-unified-7d-utilization: 0.94
		anthropic-ratelimit-unified-7d_oi-reset: 1788998400
		anthropic-ratelimit-unified-7d_oi-status: rejected
		anthropic-ratelimit-unified-7d_oi-utilization: 0.99
		anthropic-ratelimit-unified-overage-status: rejected
		anthropic-ratelimit-unified-overage-utilization: 0.7
		anthropic-ratelimit-unified-representative-claim: seven_day_overage_included
		anthropic-ratelimit-unified-reset: 1788998400
		anthropic-ratelimit-unified-status: rejected
		retry-after: 51811`, `
		5h 0 2026-09-05T05:40:00.000Z
		weekly 94 2026-09-10T00:00:00.000Z
		weekly/fable 100 2026-09-10T00:00:00.000Z`},
	{"a rejected window with its own reset beside another claim", "anthropic", 429, `
		anthropic-ratelimit-unified-status: rejected
		anthropic-ratelimit-unified-representative-claim: seven_day
		anthropic-ratelimit-unified-reset: 1789000000
		anthropic-ratelimit-unified-5h-status: rejected
		anthropic-ratelimit-unified-5h-utilization: 0.97
		anthropic-ratelimit-unified-5h-reset: 1788586800
		anthropic-ratelimit-unified-7d-utilization: 0.6
		anthropic-ratelimit-unified-7d-reset: 1789000000`, `
		5h 100 2026-09-05T05:40:00.000Z
		weekly 60 2026-09-10T00:26:40.000Z`},
	{"rejected without a window", "anthropic", 429, `
		anthropic-ratelimit-unified-reset: 1788586800
		anthropic-ratelimit-unified-status: rejected`, `
		rate 100 2026-09-05T05:40:00.000Z`},
	{"rejected without a window, with a wait", "anthropic", 429, `
		anthropic-ratelimit-unified-reset: 1788586800
		anthropic-ratelimit-unified-status: rejected
		retry-after: 1152`, `
		rate 100 2026-09-05T04:05:52.000Z`},
	{"rejected without a window, but answered", "anthropic", 200, `
		anthropic-ratelimit-unified-reset: 1788586800
		anthropic-ratelimit-unified-status: rejected`, ``},
	{"rejected without a window, and another limit", "anthropic", 429, `
		anthropic-ratelimit-requests-limit: 100
		anthropic-ratelimit-requests-remaining: 40
		anthropic-ratelimit-unified-reset: 1788586800
		anthropic-ratelimit-unified-status: rejected`, `
		rate 60 -`},
	{"rejected without a window or a reset", "anthropic", 429, `
		anthropic-ratelimit-unified-status: rejected`, ``},
	{"rejected without a window, until never", "anthropic", 429, `
		anthropic-ratelimit-unified-reset: soon
		anthropic-ratelimit-unified-status: rejected`, `
		fault anthropic-ratelimit-unified-reset reset`},
	{"refused without a window, but allowed", "anthropic", 429, `
		anthropic-ratelimit-unified-reset: 1788586800
		anthropic-ratelimit-unified-status: allowed_warning`, ``},
	{"rejected and over 100", "anthropic", 429, `
		anthropic-ratelimit-unified-5h-status: rejected
		anthropic-ratelimit-unified-5h-utilization: 1.04
		anthropic-ratelimit-unified-5h-reset: 1788586800`, `
		5h 104 2026-09-05T05:40:00.000Z`},
	{"rejected without a number", "anthropic", 429, `
		anthropic-ratelimit-unified-7d_opus-status: rejected
		anthropic-ratelimit-unified-7d_opus-reset: 1789000000`, `
		weekly/opus 100 2026-09-10T00:26:40.000Z`},
	{"rejected, and the number is none", "anthropic", 429, `
		anthropic-ratelimit-unified-5h-status: rejected
		anthropic-ratelimit-unified-5h-utilization: Infinity`, `
		5h 100 -
		fault anthropic-ratelimit-unified-5h-utilization number`},
	{"the claim alone", "anthropic", 429, `
		anthropic-ratelimit-unified-status: rejected
		anthropic-ratelimit-unified-representative-claim: five_hour
		anthropic-ratelimit-unified-reset: 1788586800
		retry-after: 60`, `
		5h 100 2026-09-05T05:40:00.000Z`},
	{"the claim rejects a window that does not say so", "anthropic", 429, `
		anthropic-ratelimit-unified-status: rejected
		anthropic-ratelimit-unified-representative-claim: five_hour
		anthropic-ratelimit-unified-reset: 1788586800
		anthropic-ratelimit-unified-5h-utilization: 0.99
		anthropic-ratelimit-unified-7d-utilization: 0.5`, `
		5h 100 2026-09-05T05:40:00.000Z
		weekly 50 -`},
	{"the claim of a window that is allowed", "anthropic", 200, `
		anthropic-ratelimit-unified-status: allowed
		anthropic-ratelimit-unified-representative-claim: seven_day_sonnet
		anthropic-ratelimit-unified-reset: 1788586800
		anthropic-ratelimit-unified-7d_sonnet-utilization: 0.5`, `
		weekly/sonnet 50 2026-09-05T05:40:00.000Z`},
	{"allowed without a number is not 0", "anthropic", 200, `
		anthropic-ratelimit-unified-5h-status: allowed
		anthropic-ratelimit-unified-5h-reset: 1788586800`, ``},
	{"a reset of 0 is none", "anthropic", 200, `
		anthropic-ratelimit-unified-7d_opus-utilization: 0.0
		anthropic-ratelimit-unified-7d_opus-reset: 0`, `weekly/opus 0 -`},
	{"a reset in milliseconds is not in seconds", "anthropic", 200, `
		anthropic-ratelimit-unified-5h-utilization: 0.5
		anthropic-ratelimit-unified-5h-reset: 1788586800000`, `
		5h 50 -
		fault anthropic-ratelimit-unified-5h-reset reset`},
	{"other lengths", "anthropic", 200, `
		anthropic-ratelimit-unified-1h-utilization: 0.1
		anthropic-ratelimit-unified-12h-utilization: 0.2
		anthropic-ratelimit-unified-1d-utilization: 0.3
		anthropic-ratelimit-unified-30d-utilization: 0.4
		anthropic-ratelimit-unified-14d-utilization: 0.5
		anthropic-ratelimit-unified-7x-utilization: 0.5
		anthropic-ratelimit-unified-7d_-utilization: 0.5`, `
		hourly 10 -
		daily 30 -
		monthly 40 -
		rate 20 -
		fault anthropic-ratelimit-unified-14d window
		fault anthropic-ratelimit-unified-7d_ window
		fault anthropic-ratelimit-unified-7x window`},
	{"a status that is not known", "anthropic", 200, `
		anthropic-ratelimit-unified-5h-status: perhaps
		anthropic-ratelimit-unified-5h-utilization: 0.5`, `
		5h 50 -
		fault anthropic-ratelimit-unified-5h-status status`},
	{"less than nothing, and nothing", "anthropic", 200, `
		anthropic-ratelimit-unified-5h-utilization: -0.1
		anthropic-ratelimit-unified-7d-utilization:`, `
		fault anthropic-ratelimit-unified-5h-utilization number
		fault anthropic-ratelimit-unified-7d-utilization number`},
	{"the fullest limit of the API", "anthropic", 200, `
		anthropic-ratelimit-requests-limit: 50
		anthropic-ratelimit-requests-remaining: 49
		anthropic-ratelimit-requests-reset: 2026-09-05T03:46:41Z
		anthropic-ratelimit-input-tokens-limit: 80000
		anthropic-ratelimit-input-tokens-remaining: 8000
		anthropic-ratelimit-input-tokens-reset: 2026-09-05T03:47:10Z
		anthropic-ratelimit-output-tokens-limit: 16000
		anthropic-ratelimit-output-tokens-remaining: 16000
		anthropic-ratelimit-output-tokens-reset: 2026-09-05T03:46:40Z`, `
		rate 90 2026-09-05T03:47:10.000Z`},
	{"a limit of the API whose reset is a number", "anthropic", 200, `
		anthropic-ratelimit-requests-limit: 50
		anthropic-ratelimit-requests-remaining: 25
		anthropic-ratelimit-requests-reset: 1788586800`, `
		rate 50 -
		fault anthropic-ratelimit-requests-reset reset`},
	{"a limit without what remains of it is not empty", "anthropic", 200, `
		anthropic-ratelimit-requests-limit: 50
		anthropic-ratelimit-requests-reset: 2026-09-05T03:46:41Z
		anthropic-ratelimit-tokens-remaining: 0`, ``},
	{"a window's own reset before that of the claim", "anthropic", 200, `
		anthropic-ratelimit-unified-representative-claim: five_hour
		anthropic-ratelimit-unified-reset: 1789000000
		anthropic-ratelimit-unified-5h-utilization: 0.5
		anthropic-ratelimit-unified-5h-reset: 1788586800`, `
		5h 50 2026-09-05T05:40:00.000Z`},
	{"lengths that are none", "anthropic", 200, `
		anthropic-ratelimit-unified-9-utilization: 0.5
		anthropic-ratelimit-unified-1e9d-utilization: 0.5
		anthropic-ratelimit-unified-60m-utilization: 0.5`, `
		hourly 50 -
		fault anthropic-ratelimit-unified-1e9d window
		fault anthropic-ratelimit-unified-9 window`},
	{"a gateway's own name for it", "my-claude", 200, `Anthropic-RateLimit-Unified-5h-Utilization: 0.5`, `5h 50 -`},
}

func TestAnthropic(t *testing.T) { runCases(t, anthropicCases) }

var codexCases = []headerCase{
	{"windows by length, not by place", "codex", 200, `
		x-codex-primary-used-percent: 100
		x-codex-primary-window-minutes: 10080
		x-codex-primary-reset-after-seconds: 604800
		x-codex-secondary-used-percent: 96
		x-codex-secondary-window-minutes: 300
		x-codex-secondary-reset-after-seconds: 18000`, `
		5h 96 2026-09-05T08:46:40.000Z
		weekly 100 2026-09-12T03:46:40.000Z`},
	{"reset-at is the better one", "codex", 200, `
		x-codex-primary-used-percent: 0.5
		x-codex-primary-window-minutes: 299
		x-codex-primary-reset-after-seconds: 60
		x-codex-primary-reset-at: 1788586800`, `
		5h 0.5 2026-09-05T05:40:00.000Z`},
	{"a window without a length", "codex", 200, `
		x-codex-primary-used-percent: 12
		x-codex-primary-reset-at: 1788586800
		x-codex-secondary-used-percent: 12
		x-codex-secondary-window-minutes: 20160`, `
		fault x-codex-primary-used-percent window
		fault x-codex-secondary-used-percent window`},
	{"a window of nothing", "codex", 200, `
		x-codex-primary-used-percent: 0
		x-codex-primary-window-minutes: 300
		x-codex-secondary-used-percent: 0
		x-codex-secondary-window-minutes: 0
		x-codex-secondary-reset-after-seconds: 0`, `5h 0 -`},
	{"a length alone is no use", "codex", 200, `x-codex-primary-window-minutes: 300`, ``},
	{"windows of a model", "codex", 200, `
		x-codex-primary-used-percent: 43
		x-codex-primary-window-minutes: 10080
		x-codex-bengalfox-limit-name: GPT-5.3-Codex-Spark
		x-codex-bengalfox-primary-used-percent: 3
		x-codex-bengalfox-primary-window-minutes: 300
		x-codex-bengalfox-secondary-used-percent: 80
		x-codex-bengalfox-secondary-window-minutes: 10080
		x-codex-other-primary-used-percent: 5
		x-codex-other-primary-window-minutes: 10079`, `
		5h/gpt-5.3-codex-spark 3 -
		weekly 43 -
		weekly/gpt-5.3-codex-spark 80 -
		weekly/other 5 -`},
	{"other lengths", "codex", 200, `
		x-codex-primary-used-percent: 1
		x-codex-primary-window-minutes: 60
		x-codex-secondary-used-percent: 2
		x-codex-secondary-window-minutes: 43800`, `
		hourly 1 -
		monthly 2 -`},
	{"two windows of one length", "codex", 200, `
		x-codex-primary-used-percent: 20
		x-codex-primary-window-minutes: 10080
		x-codex-primary-reset-at: 1788586800
		x-codex-secondary-used-percent: 30
		x-codex-secondary-window-minutes: 10079
		x-codex-secondary-reset-at: 1789000000`, `weekly 30 2026-09-10T00:26:40.000Z`},
	{"what is no number", "codex", 200, `
		x-codex-primary-used-percent: NaN
		x-codex-primary-window-minutes: 300
		x-codex-secondary-used-percent: 5
		x-codex-secondary-window-minutes: -300
		x-codex-x-limit-name: ` + "a\x01" + `
		x-codex-x-primary-used-percent: 5
		x-codex-x-primary-window-minutes: 300`, `
		fault x-codex-primary-used-percent number
		fault x-codex-secondary-window-minutes number
		fault x-codex-x-limit-name scope`},
}

func TestCodex(t *testing.T) { runCases(t, codexCases) }

var copilotCases = []headerCase{
	{
		"what remains is not what is used", "copilot", 200,
		`x-quota-snapshot-premium_interactions: ent=1500&ov=0.0&ovPerm=false&rem=31.3&rst=2026-10-01T00%3A00%3A00Z`,
		`monthly 68.7 2026-10-01T00:00:00.000Z`,
	},
	{"windows of a session and a week", "copilot", 200, `
		x-usage-ratelimit-session: ent=0&ov=0.0&ovPerm=false&rem=67.5&rst=2026-09-05T06:00:00Z
		x-usage-ratelimit-weekly: ent=0&rem=0&rst=2026-09-07T00:00:00Z`, `
		5h 32.5 2026-09-05T06:00:00.000Z
		weekly 100 2026-09-07T00:00:00.000Z`},
	{"the fuller of two, and none without bound", "copilot", 200, `
		x-quota-snapshot-chat: ent=200&rem=99.9
		x-quota-snapshot-premium_models: ent=300&rem=88.5
		x-quota-snapshot-premium_interactions: ent=-1&rem=0.0
		x-quota-snapshot-completions: ent=2000&rem=1.0`, `monthly 11.5 -`},
	{"a plan that has none of it", "copilot", 200, `x-quota-snapshot-premium_interactions: ent=0&rem=0.0`, ``},
	{"overdrawn", "copilot", 200, `x-quota-snapshot-chat: ent=200&rem=-4.5`, `monthly 104.5 -`},
	{"what cannot be read", "copilot", 200, `
		x-quota-snapshot-chat: remaining=0;limit=100
		x-usage-ratelimit-session: ent=50&rem=half
		x-usage-ratelimit-weekly: ent=50&rem=50&rst=tomorrow`, `
		weekly 50 -
		fault x-usage-ratelimit-session number
		fault x-usage-ratelimit-weekly reset`},
	{"a session that is over", "copilot", 429, `
		retry-after: 6311
		x-ratelimit-user-retry-after: 6311
		x-ratelimit-exceeded: global-chat:global-usage-5-hour-key:userID:COPILOT_PLAN_INDIVIDUAL`, `
		5h 100 2026-09-05T05:31:51.000Z`},
}

func TestCopilot(t *testing.T) { runCases(t, copilotCases) }

// TestUsedOf: exact, rounded half away from zero, and no number makes it panic.
func TestUsedOf(t *testing.T) {
	most := quota.Tokens.Max()
	for _, c := range []struct {
		limit, remaining quota.Amount
		want             string
	}{
		{3, 1, "66.666667"},
		{3, 2, "33.333333"},
		{200_000_000, 199_999_999, "0.000001"}, // half a step
		{200_000_001, 200_000_000, "0"},
		{150_000, 149_984, "0.010667"},
		{100, 250, "0"},
		{100, -5, "105"},
		{most, 0, "100"},
		{most, most, "0"},
		{1_000, -most, ""}, // 1e14 percent
		{1, -most, ""},
	} {
		got, ok := usedOf(c.limit, c.remaining)
		if !ok != (c.want == "") || ok && got.Format(quota.Percent) != c.want {
			t.Errorf("%d of %d left: %s %v, want %q", c.remaining, c.limit, got.Format(quota.Percent), ok, c.want)
		}
	}
}

func TestWindowOf(t *testing.T) {
	for _, c := range []struct {
		minutes int64
		want    string
	}{
		{0, ""},
		{-300, ""},
		{1, "rate"},
		{59, "rate"},
		{60, "hourly"},
		{61, "rate"},
		{120, "rate"},
		{296, "rate"},
		{297, "5h"},
		{299, "5h"},
		{300, "5h"},
		{303, "5h"},
		{304, "rate"},
		{720, "rate"},
		{1_440, "daily"},
		{1_500, ""},
		{10_079, "weekly"},
		{10_080, "weekly"},
		{20_160, ""},
		{28 * 1_440, "monthly"},
		{30 * 1_440, "monthly"},
		{31 * 1_440, "monthly"},
		{32 * 1_440, ""},
		{525_600, ""},
		{1 << 62, ""},
	} {
		got := ""
		if w, ok := inWindow(c.minutes, 60_000); ok {
			got = w.String()
		}
		if got != c.want {
			t.Errorf("%d minutes: %q, want %q", c.minutes, got, c.want)
		}
	}
}
