package saturation

import "testing"

var countedCases = []headerCase{
	{"OpenAI's waits", "openai", 200, `
		x-ratelimit-limit-requests: 5000
		x-ratelimit-remaining-requests: 4999
		x-ratelimit-reset-requests: 12ms
		x-ratelimit-limit-tokens: 160000
		x-ratelimit-remaining-tokens: 120000
		x-ratelimit-reset-tokens: 1h30m15.5s`, `rate 25 2026-09-05T05:16:55.500Z`},
	{"a wait of milliseconds", "openai", 200, `
		x-ratelimit-limit-tokens: 100
		x-ratelimit-remaining-tokens: 99
		x-ratelimit-reset-tokens: 20ms`, `rate 1 2026-09-05T03:46:40.020Z`},
	{"equally full: the one that frees itself last", "openai", 200, `
		x-ratelimit-limit-requests: 60
		x-ratelimit-remaining-requests: 0
		x-ratelimit-reset-requests: 6m0s
		x-ratelimit-limit-tokens: 150000
		x-ratelimit-remaining-tokens: 0
		x-ratelimit-reset-tokens: 1s`, `rate 100 2026-09-05T03:52:40.000Z`},
	{"a wait without a unit is not OpenAI's", "openai", 200, `
		x-ratelimit-limit-requests: 60
		x-ratelimit-remaining-requests: 30
		x-ratelimit-reset-requests: 60`, `
		rate 50 -
		fault x-ratelimit-reset-requests reset`},
	{"but Azure's", "azure", 200, `
		x-ratelimit-limit-requests: 60
		x-ratelimit-remaining-requests: 30
		x-ratelimit-reset-requests: 60`, `rate 50 2026-09-05T03:47:40.000Z`},
	{"limits of -1 are none", "azure", 200, `
		x-ratelimit-limit-tokens: -1
		x-ratelimit-remaining-tokens: -1
		x-ratelimit-reset-tokens: 0`, ``},
	{"Groq", "groq", 200, `
		x-ratelimit-limit-requests: 14400
		x-ratelimit-remaining-requests: 14370
		x-ratelimit-reset-requests: 2m59.56s
		x-ratelimit-limit-tokens: 18000
		x-ratelimit-remaining-tokens: 17997
		x-ratelimit-reset-tokens: 7.66s`, `rate 0.208333 2026-09-05T03:49:39.560Z`},
	{"xAI", "xai", 200, `
		x-ratelimit-limit-requests: 480
		x-ratelimit-remaining-requests: 120
		x-ratelimit-limit-tokens: 2000000
		x-ratelimit-remaining-tokens: 1999000`, `rate 75 -`},
	{"Mistral", "mistral", 200, `
		x-ratelimit-limit-req-minute: 60
		x-ratelimit-remaining-req-minute: 59
		x-ratelimit-limit-tokens-minute: 50000
		x-ratelimit-remaining-tokens-minute: 25000
		x-ratelimit-limit-tokens-month: 4000000
		x-ratelimit-remaining-tokens-month: 3000000
		x-ratelimit-tokens-query-cost: 2804`, `
		monthly 25 -
		rate 50 -`},
	{"Mistral, older", "mistral", 200, `
		ratelimitbysize-limit: 500000
		ratelimitbysize-remaining: 400000
		ratelimitbysize-reset: 34
		x-ratelimitbysize-limit-month: 1000000000
		x-ratelimitbysize-remaining-month: 900000000`, `
		monthly 10 -
		rate 20 2026-09-05T03:47:14.000Z`},
	{"Cerebras", "cerebras", 200, `
		x-ratelimit-limit-requests-hour: 150
		x-ratelimit-remaining-requests-hour: 75
		x-ratelimit-limit-requests-day: 14400
		x-ratelimit-remaining-requests-day: 10800
		x-ratelimit-reset-requests-day: 72800.5
		x-ratelimit-limit-tokens-minute: 60000
		x-ratelimit-remaining-tokens-minute: 54000
		x-ratelimit-reset-tokens-minute: 20`, `
		hourly 50 -
		daily 25 2026-09-06T00:00:00.500Z
		rate 10 2026-09-05T03:47:00.000Z`},
	{"OpenRouter in milliseconds", "openrouter", 429, `
		X-RateLimit-Limit: 50
		X-RateLimit-Remaining: 0
		X-RateLimit-Reset: 1788652800000`, `rate 100 2026-09-06T00:00:00.000Z`},
	{"OpenRouter in seconds is a mistake", "openrouter", 429, `
		X-RateLimit-Limit: 50
		X-RateLimit-Remaining: 0
		X-RateLimit-Reset: 1788652800`, `
		rate 100 -
		fault x-ratelimit-reset reset`},
	{"GitHub in seconds", "github-copilot", 200, `
		X-RateLimit-Limit: 60
		X-RateLimit-Remaining: 15
		X-RateLimit-Reset: 1788583600`, `rate 75 2026-09-05T04:46:40.000Z`},
	{"a stranger's number means nothing", "acme", 200, `
		X-RateLimit-Limit: 200
		X-RateLimit-Remaining: 50
		X-RateLimit-Reset: 1788583600`, `
		rate 75 -
		fault x-ratelimit-reset reset`},
	{"a stranger's instant says what it is", "acme", 200, `
		X-Rate-Limit-Limit: 200
		X-Rate-Limit-Remaining: 50
		X-Rate-Limit-Reset: 2026-09-05T04:00:00+00:00`, `rate 75 2026-09-05T04:00:00.000Z`},
	{"half of it is nothing", "acme", 200, `
		x-ratelimit-remaining: 0
		x-ratelimit-limit-tokens: 100
		x-ratelimit-reset-tokens: 1s`, ``},
	{"no numbers", "acme", 200, `
		x-ratelimit-limit-a: 1e3
		x-ratelimit-remaining-a: +5
		x-ratelimit-limit-b: Infinity
		x-ratelimit-remaining-b: 5
		x-ratelimit-limit-c: 10
		x-ratelimit-remaining-c:
		x-ratelimit-limit-d: 0.001
		x-ratelimit-remaining-d: -1000000000000`, `
		fault x-ratelimit-remaining-a number
		fault x-ratelimit-limit-b number
		fault x-ratelimit-remaining-c number
		fault x-ratelimit-remaining-d number`},
	{"a wait of ages", "openai", 200, `
		x-ratelimit-limit-tokens: 100
		x-ratelimit-remaining-tokens: 50
		x-ratelimit-reset-tokens: 9000h`, `
		rate 50 -
		fault x-ratelimit-reset-tokens reset`},
}

func TestCounted(t *testing.T) { runCases(t, countedCases) }

var draftCases = []headerCase{
	{"policies by name", "acme", 200, `
		RateLimit-Policy: "burst";q=100;w=60, "daily";q=1000;w=86400;qu="requests"
		RateLimit: "burst";r=50;t=30, "daily";r=100;t=3600`, `
		daily 90 2026-09-05T04:46:40.000Z
		rate 50 2026-09-05T03:47:10.000Z`},
	{"what quotes hold is text", "acme", 200, `
		RateLimit-Policy: "a,b;q=1;\"";q=10;w=3600
		RateLimit: "a,b;q=1;\"";pk=:Zm9v:;r=1`, `hourly 90 -`},
	{"a limit of another policy", "acme", 200, `
		RateLimit-Policy: "a";q=100;w=60
		RateLimit: "b";r=50;t=30`, ``},
	{"a policy without a limit, a limit without what remains", "acme", 200, `
		RateLimit-Policy: "a";w=60, "b";q=10
		RateLimit: "a";r=50;t=30, "b";t=30`, ``},
	{"a period that is none of ours", "acme", 200, `
		RateLimit-Policy: "a";q=100;w=1209600, "b";q=100;w=long, "c";q=100
		RateLimit: "a";r=50, "b";r=50, "c";r=75`, `
		rate 25 -
		fault ratelimit-policy window
		fault ratelimit-policy number`},
	{"what remains is no number", "acme", 200, `
		RateLimit-Policy: "a";q=100;w=60
		RateLimit: "a";r=many`, `fault ratelimit number`},
	{"draft 07", "acme", 200, `
		RateLimit-Policy: 100;w=18000
		RateLimit: limit=100, remaining=20, reset=50`, `5h 80 2026-09-05T03:47:30.000Z`},
	{"draft 07 without what remains", "acme", 200, `RateLimit: limit=100, reset=50`, ``},
	{"drafts up to 06", "acme", 200, `
		RateLimit-Limit: 10
		RateLimit-Remaining: 9
		RateLimit-Reset: 1
		RateLimit-Policy: 10;w=1, 1000;w=3600`, `rate 10 2026-09-05T03:46:41.000Z`},
	{"drafts up to 05 with the policies in the limit", "acme", 200, `
		RateLimit-Limit: 100, 100;w=60
		RateLimit-Remaining: 25
		RateLimit-Reset: 50`, `rate 75 2026-09-05T03:47:30.000Z`},
	{"an instant is no wait", "acme", 200, `
		RateLimit-Limit: 100
		RateLimit-Remaining: 25
		RateLimit-Reset: 1788583600`, `
		rate 75 -
		fault ratelimit-reset reset`},
}

func TestDraft(t *testing.T) { runCases(t, draftCases) }
