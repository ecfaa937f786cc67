package saturation

import "testing"

// reportCases are responses as people reported them: names and values as they
// stood there, without what tells of no limit. The comment names the source.
var reportCases = []headerCase{
	// github.com/Wei-Shaw/claude-relay-service/pull/1260
	{"a Claude plan, as observed", "anthropic", 200, `
		anthropic-ratelimit-unified-status: allowed
		anthropic-ratelimit-unified-5h-status: allowed
		anthropic-ratelimit-unified-5h-reset: 1788586800
		anthropic-ratelimit-unified-5h-utilization: 0.11
		anthropic-ratelimit-unified-7d-status: allowed
		anthropic-ratelimit-unified-7d-reset: 1788937200
		anthropic-ratelimit-unified-7d-utilization: 0.02
		anthropic-ratelimit-unified-7d_oi-status: allowed
		anthropic-ratelimit-unified-7d_oi-reset: 1788937200
		anthropic-ratelimit-unified-7d_oi-utilization: 0.0
		anthropic-ratelimit-unified-representative-claim: five_hour
		anthropic-ratelimit-unified-reset: 1788586800`, `
		5h 11 2026-09-05T05:40:00.000Z
		weekly 2 2026-09-09T07:00:00.000Z
		weekly/fable 0 2026-09-09T07:00:00.000Z`},
	// github.com/router-for-me/CLIProxyAPI/issues/5915
	{"only the limit of Fable rejects", "claude", 429, `
		Anthropic-Ratelimit-Unified-Status: rejected
		Anthropic-Ratelimit-Unified-Representative-Claim: seven_day_overage_included
		Anthropic-Ratelimit-Unified-7d-Status: allowed
		Anthropic-Ratelimit-Unified-7d-Utilization: 0.69
		Anthropic-Ratelimit-Unified-5h-Utilization: 0.00
		Anthropic-Ratelimit-Unified-7d_oi-Status: rejected
		Anthropic-Ratelimit-Unified-7d_oi-Utilization: 1.02`, `
		5h 0 -
		weekly 69 -
		weekly/fable 102 -`},
	// rdrr.io/cran/tidyllm, tests/testthat/claude/api.anthropic.com/v1/messages-e050b5-POST.R
	{"Anthropic's API, as recorded", "anthropic", 200, `
		anthropic-ratelimit-input-tokens-limit: 80000
		anthropic-ratelimit-input-tokens-remaining: 80000
		anthropic-ratelimit-input-tokens-reset: 2025-08-21T12:40:59Z
		anthropic-ratelimit-output-tokens-limit: 16000
		anthropic-ratelimit-output-tokens-remaining: 16000
		anthropic-ratelimit-output-tokens-reset: 2025-08-21T12:41:00Z
		anthropic-ratelimit-requests-limit: 1000
		anthropic-ratelimit-requests-remaining: 999
		anthropic-ratelimit-requests-reset: 2025-08-21T12:40:59Z
		anthropic-ratelimit-tokens-limit: 96000
		anthropic-ratelimit-tokens-remaining: 96000
		anthropic-ratelimit-tokens-reset: 2025-08-21T12:40:59Z`, `rate 0.1 2025-08-21T12:40:59.000Z`},
	// github.com/Willxup/cpa-usage-keeper/issues/252
	{"windows of Codex and of one model", "codex", 200, `
		X-Codex-Active-Limit: premium
		X-Codex-Bengalfox-Limit-Name: GPT-5.3-Codex-Spark
		X-Codex-Bengalfox-Primary-Over-Secondary-Limit-Percent: 0
		X-Codex-Bengalfox-Primary-Reset-After-Seconds: 18000
		X-Codex-Bengalfox-Primary-Reset-At: 1782452694
		X-Codex-Bengalfox-Primary-Used-Percent: 0
		X-Codex-Bengalfox-Primary-Window-Minutes: 300
		X-Codex-Bengalfox-Secondary-Reset-After-Seconds: 457949
		X-Codex-Bengalfox-Secondary-Reset-At: 1782892643
		X-Codex-Bengalfox-Secondary-Used-Percent: 85
		X-Codex-Bengalfox-Secondary-Window-Minutes: 10080
		X-Codex-Credits-Balance:
		X-Codex-Credits-Has-Credits: False
		X-Codex-Primary-Over-Secondary-Limit-Percent: 0
		X-Codex-Primary-Reset-After-Seconds: 18000
		X-Codex-Primary-Reset-At: 1782452694
		X-Codex-Primary-Used-Percent: 0
		X-Codex-Primary-Window-Minutes: 300`, `
		5h 0 2026-06-26T05:44:54.000Z
		5h/gpt-5.3-codex-spark 0 2026-06-26T05:44:54.000Z
		weekly/gpt-5.3-codex-spark 85 2026-07-01T07:57:23.000Z`},
	// github.com/earendil-works/pi/issues/4172
	{"Codex at its limit", "codex", 429, `
		X-Codex-Active-Limit: premium
		X-Codex-Plan-Type: plus
		X-Codex-Primary-Used-Percent: 100
		X-Codex-Secondary-Used-Percent: 80
		X-Codex-Primary-Window-Minutes: 300
		X-Codex-Primary-Over-Secondary-Limit-Percent: 0
		X-Codex-Secondary-Window-Minutes: 10080
		X-Codex-Primary-Reset-After-Seconds: 13873
		X-Codex-Secondary-Reset-After-Seconds: 316705
		X-Codex-Primary-Reset-At: 1777936568
		X-Codex-Secondary-Reset-At: 1778239400
		X-Codex-Credits-Balance: 0`, `
		5h 100 2026-05-04T23:16:08.000Z
		weekly 80 2026-05-08T11:23:20.000Z`},
	// github.com/Menci/Floway/pull/339
	{
		"Copilot, as probed", "copilot", 200, `
		x-quota-snapshot-chat: ent=-1&ov=0.0&ovPerm=false&rem=100.0&rst=2026-09-01T00%3A00%3A00Z&totRem=-1
		x-quota-snapshot-premium_interactions: ent=10000000&ov=0.0&ovPerm=true&rem=97.1&rst=2026-09-01T00%3A00%3A00Z&totRem=9719759.1`,
		`monthly 2.9 2026-09-01T00:00:00.000Z`,
	},
	// community.openai.com/t/1268905
	{"OpenAI, as observed", "openai", 200, `
		x-ratelimit-limit-requests: 5000
		x-ratelimit-limit-tokens: 160000
		x-ratelimit-limit-tokens_usage_based: 160000
		x-ratelimit-remaining-requests: 4999
		x-ratelimit-remaining-tokens: 159976
		x-ratelimit-remaining-tokens_usage_based: 159976
		x-ratelimit-reset-requests: 12ms
		x-ratelimit-reset-tokens: 9ms
		x-ratelimit-reset-tokens_usage_based: 9ms`, `rate 0.02 2026-09-05T03:46:40.012Z`},
	// learn.microsoft.com/en-us/answers/questions/5625878
	{"Azure that does not say", "azure", 200, `
		x-ratelimit-limit-tokens: -1
		x-ratelimit-remaining-tokens: -1
		x-ratelimit-reset-tokens: 0`, ``},
	// github.com/mistralai/client-ts/issues/169
	{"Mistral, as observed", "mistral", 200, `
		x-ratelimit-limit-tokens-minute: 5000000
		x-ratelimit-remaining-tokens-minute: 4999911
		x-ratelimit-tokens-query-cost: 52
		x-ratelimit-limit-req-minute: 720
		x-ratelimit-remaining-req-minute: 717`, `rate 0.416667 -`},
	// github.com/MoonshotAI/kimi-code/issues/1796
	{"Kimi at the end of a day's tokens", "kimi", 429, `retry-after: 1152`, `rate 100 2026-09-05T04:05:52.000Z`},
}

func TestReports(t *testing.T) { runCases(t, reportCases) }

// variationCases are what else may come where a form is known.
var variationCases = []headerCase{
	{"all is refused, and each window allows", "anthropic", 200, `
		anthropic-ratelimit-unified-status: rejected
		anthropic-ratelimit-unified-representative-claim: seven_day
		anthropic-ratelimit-unified-reset: 1789000000
		anthropic-ratelimit-unified-5h-status: allowed
		anthropic-ratelimit-unified-5h-utilization: 0.11
		anthropic-ratelimit-unified-7d-status: allowed_warning
		anthropic-ratelimit-unified-7d-utilization: 0.94`, `
		5h 11 -
		weekly 94 2026-09-10T00:26:40.000Z`},
	{"the claimed window says nothing, another allows", "anthropic", 429, `
		anthropic-ratelimit-unified-status: rejected
		anthropic-ratelimit-unified-representative-claim: seven_day
		anthropic-ratelimit-unified-5h-status: allowed
		anthropic-ratelimit-unified-7d-utilization: 0.94`, `weekly 100 -`},
	{"several windows reject", "anthropic", 429, `
		anthropic-ratelimit-unified-5h-status: rejected
		anthropic-ratelimit-unified-5h-reset: 1788586800
		anthropic-ratelimit-unified-7d-status: rejected
		anthropic-ratelimit-unified-7d-reset: 1789000000`, `
		5h 100 2026-09-05T05:40:00.000Z
		weekly 100 2026-09-10T00:26:40.000Z`},
	{"no less than nothing: -0.0", "anthropic", 200, `anthropic-ratelimit-unified-7d-utilization: -0.0`, `weekly 0 -`},
	{"blanks around a value", "anthropic", 200, `anthropic-ratelimit-unified-5h-utilization:  0.07 `, `5h 7 -`},
	{"a percent sign is no number", "codex", 200, `
		x-codex-primary-used-percent: 42%
		x-codex-primary-window-minutes: 300`, `fault x-codex-primary-used-percent number`},
	{"a reset in RFC 3339 where seconds are usual", "anthropic", 200, `
		anthropic-ratelimit-unified-5h-utilization: 0.5
		anthropic-ratelimit-unified-5h-reset: 2026-09-05T05:40:00Z`, `5h 50 2026-09-05T05:40:00.000Z`},
	{"a reset that is no time", "anthropic", 200, `
		anthropic-ratelimit-unified-5h-utilization: 0.5
		anthropic-ratelimit-unified-5h-reset: soon`, `
		5h 50 -
		fault anthropic-ratelimit-unified-5h-reset reset`},
	{"overage alone is no window", "anthropic", 200, `
		anthropic-ratelimit-unified-status: allowed
		anthropic-ratelimit-unified-overage-utilization: 0.7
		anthropic-ratelimit-unified-overage-reset: 1789000000
		anthropic-ratelimit-unified-fallback-percentage: 0.5`, ``},
	{"over 100 in percent", "codex", 200, `
		X-Codex-Primary-Used-Percent: 103.5
		X-Codex-Primary-Window-Minutes: 300`, `5h 103.5 -`},
	{"the reset of a window that there is not is empty", "codex", 200, `
		x-codex-primary-used-percent: 100
		x-codex-primary-window-minutes: 10080
		x-codex-primary-reset-at: 1788998400
		x-codex-secondary-reset-after-seconds: 0
		x-codex-secondary-reset-at:
		x-codex-secondary-used-percent: 0
		x-codex-secondary-window-minutes: 0`, `weekly 100 2026-09-10T00:00:00.000Z`},
	{"a reset in milliseconds, and a wait beside it", "codex", 200, `
		x-codex-primary-used-percent: 12
		x-codex-primary-window-minutes: 300
		x-codex-primary-reset-at: 1788586800000
		x-codex-primary-reset-after-seconds: 60`, `
		5h 12 2026-09-05T03:47:40.000Z
		fault x-codex-primary-reset-at reset`},
	{"names of limits that differ in case are one scope", "codex", 200, `
		x-codex-a-limit-name: GPT-5.3-Codex-Spark
		x-codex-a-primary-used-percent: 10
		x-codex-a-primary-window-minutes: 300
		x-codex-b-limit-name: gpt-5.3-codex-spark
		x-codex-b-primary-used-percent: 20
		x-codex-b-primary-window-minutes: 300`, `5h/gpt-5.3-codex-spark 20 -`},
	{"windows that differ in case are one scope", "anthropic", 200, `
		Anthropic-Ratelimit-Unified-7d_Opus-Utilization: 0.1
		anthropic-ratelimit-unified-7d_opus-reset: 1788998400`, `weekly/opus 10 2026-09-10T00:00:00.000Z`},
	{
		"a reset that is a day", "copilot", 200, `x-quota-snapshot-chat: ent=300&rem=41.3&ov=0.0&rst=2026-10-01`,
		`monthly 58.7 2026-10-01T00:00:00.000Z`,
	},
	{"what remains is not said", "copilot", 200, `x-usage-ratelimit-session: ent=0&rst=2026-10-01T00%3A00%3A00Z`, ``},
	{"a week that is over", "copilot", 429, `
		retry-after: 6311
		x-ratelimit-exceeded: global-chat:global-usage-weekly-key:userID:COPILOT_PLAN_INDIVIDUAL`, `
		weekly 100 2026-09-05T05:31:51.000Z`},
	{"another limit of Copilot's", "copilot", 429, `
		retry-after: 60
		x-ratelimit-exceeded: quota_exceeded`, `rate 100 2026-09-05T03:47:40.000Z`},
	{"a limit of 0 beside a refusal", "mistral", 429, `
		x-ratelimit-limit-req-minute: 0
		x-ratelimit-remaining-req-minute: 0
		retry-after: 7`, `rate 100 2026-09-05T03:46:47.000Z`},
	{"a limit of 0 alone", "mistral", 429, `x-ratelimit-limit-req-minute: 0`, ``},
	{"more left than there is, and less than nothing", "openai", 200, `
		x-ratelimit-limit-requests: 10
		x-ratelimit-remaining-requests: 12
		x-ratelimit-limit-tokens-day: 10
		x-ratelimit-remaining-tokens-day: -1`, `
		daily 110 -
		rate 0 -`},
	{"a wait of days", "groq", 200, `
		x-ratelimit-limit-requests: 1000
		x-ratelimit-remaining-requests: 900
		x-ratelimit-reset-requests: 1d2h3m4s`, `rate 10 2026-09-06T05:49:44.000Z`},
	{"a wait of one day", "groq", 200, `
		x-ratelimit-limit-requests: 1000
		x-ratelimit-remaining-requests: 900
		x-ratelimit-reset-requests: 1d`, `rate 10 2026-09-06T03:46:40.000Z`},
	// The last one is 1,024 ms, were its days counted in 64 bits.
	{"waits that are none", "groq", 200, `
		x-ratelimit-limit-a: 10
		x-ratelimit-remaining-a: 5
		x-ratelimit-reset-a: 1d-2h
		x-ratelimit-limit-b: 10
		x-ratelimit-remaining-b: 5
		x-ratelimit-reset-b: -1s
		x-ratelimit-limit-c: 10
		x-ratelimit-remaining-c: 5
		x-ratelimit-reset-c: d
		x-ratelimit-limit-e: 10
		x-ratelimit-remaining-e: 5
		x-ratelimit-reset-e: 8825400613783079d`, `
		rate 50 -
		fault x-ratelimit-reset-a reset
		fault x-ratelimit-reset-b reset
		fault x-ratelimit-reset-c reset
		fault x-ratelimit-reset-e reset`},
	{"Kimi's headers are the generic ones", "kimi", 200, `
		X-RateLimit-Limit: 500
		X-RateLimit-Remaining: 125
		X-RateLimit-Reset: 2026-09-05T04:00:00Z`, `rate 75 2026-09-05T04:00:00.000Z`},
	{"in what form Kimi's reset is, is not said", "kimi", 200, `
		X-RateLimit-Limit: 500
		X-RateLimit-Remaining: 125
		X-RateLimit-Reset: 1788580800`, `
		rate 75 -
		fault x-ratelimit-reset reset`},
	{"a reset in capitals of a provider in capitals", "OpenRouter", 429, `
		X-RATELIMIT-LIMIT: 50
		X-RATELIMIT-REMAINING: 0
		X-RATELIMIT-RESET: 1788652800000`, `rate 100 2026-09-06T00:00:00.000Z`},
	{
		"a refusal of a Claude plan without its headers", "anthropic", 429, `Retry-After: Sat, 05 Sep 2026 05:40:00 GMT`,
		`rate 100 2026-09-05T05:40:00.000Z`,
	},
	{
		"a refusal until an instant that is over", "glm", 429, `retry-after: Sat, 05 Sep 2026 03:00:00 GMT`,
		`rate 100 2026-09-05T03:00:00.000Z`,
	},
	{"a refusal for no time", "gemini", 429, `retry-after: 0`, `rate 100 2026-09-05T03:46:40.000Z`},
	{"a refusal for ages", "minimax", 429, `retry-after: 99999999999`, `fault retry-after reset`},
}

func TestVariations(t *testing.T) { runCases(t, variationCases) }
