package saturation

import (
	"strings"

	"github.com/quotashare/quotashare/quota"
)

// countedNames are the families of headers named <prefix>limit<kind>,
// <prefix>remaining<kind> and <prefix>reset<kind>, and what a bare reset of
// theirs means where it does not depend on the provider.
//
//   - x-ratelimit-, with kinds -requests and -tokens: OpenAI, waits as 6m0s,
//     1s, 12ms (thoughtbot.com/blog/openai-rate-limits,
//     community.openai.com/t/1268905, github.com/sashabaranov/go-openai,
//     ratelimit.go), and Groq (mcp.directory/skills/groq-rate-limits), as
//     public clients say in the same form, 2m59.56s; for xAI no document of its
//     headers was found, so it is read as OpenAI, whose protocol it speaks
//   - with a period, Cerebras (-requests-day, -tokens-minute;
//     github.com/nathabonfim59/cerebras-code-monitor, README.md) and Mistral
//     (-req-minute, -tokens-minute, without resets;
//     github.com/mistralai/client-ts/issues/169)
//   - without a kind, OpenRouter (openrouter.ai/docs/api_reference/limits),
//     Kimi (kimi.com/help/kimi-api/api-rate-limits, which does not say in what
//     form the reset is), GitHub and many others
//   - x-rate-limit-: the same with a dash more, as many others write it
//     (docs.x.com/fundamentals/rate-limits)
//   - ratelimitbysize- and x-ratelimitbysize-: Mistral's older ones, per minute
//     and per month, the reset in seconds (rdrr.io/cran/tidyllm,
//     R/api_mistral.R; github.com/tidyverse/ellmer, R/provider-mistral.R)
//   - ratelimit-: drafts up to 06 of the IETF's RateLimit fields
//     (datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/06), the
//     reset a wait in seconds
var countedNames = [...]struct {
	prefix   string
	provider bool // the provider tells what a bare reset means
	bare     bare
}{
	{"x-ratelimit-", true, unsaid},
	{"x-rate-limit-", true, unsaid},
	{"x-ratelimitbysize-", false, waitSeconds},
	{"ratelimitbysize-", false, waitSeconds},
	{"ratelimit-", false, waitSeconds},
}

// counted reads limits and what remains of them.
func (p *parser) counted() {
	for _, limit := range p.fields {
		for _, n := range countedNames {
			kind, ok := strings.CutPrefix(limit.name, n.prefix)
			if !ok {
				continue
			}
			if kind, ok = strings.CutPrefix(kind, "limit"); !ok {
				continue
			}
			remaining, ok := p.fields.find(n.prefix, "remaining", kind)
			if !ok {
				continue
			}
			b := n.bare
			if n.provider {
				b = p.bare
			}
			window, ok := p.periodOf(n.prefix, kind, limit.value)
			if !ok {
				continue
			}
			reset, found := p.fields.find(n.prefix, "reset", kind)
			p.ofLimit(window, limit, remaining, reset, found, b)
		}
	}
}

// periods are the ends of kinds that name a period of one of our windows.
// Without one a limit is short-term. Groq's -requests are per day, but free
// themselves one by one within minutes, as their resets say: no day ends there.
var periods = [...]struct {
	end    string
	window quota.Window
}{{"-hour", quota.Hourly}, {"-day", quota.Daily}, {"-week", quota.Weekly}, {"-month", quota.Monthly}}

func (p *parser) periodOf(prefix, kind, limit string) (quota.Window, bool) {
	for _, period := range periods {
		if strings.HasSuffix(kind, period.end) {
			return period.window, true
		}
	}
	if prefix != "ratelimit-" {
		return quota.Rate, true
	}
	policy, _ := p.policy(firstItem(limit))
	return p.policyWindow(policy)
}

// draft reads the single RateLimit field of the IETF's drafts
// (github.com/ietf-wg-httpapi/ratelimit-headers): since 08
//
//	RateLimit: "default";r=50;t=30
//	RateLimit-Policy: "default";q=100;w=60
//
// with r what remains and t the wait in seconds, q the limit and w its period
// in seconds, told apart by their names; in 07
//
//	RateLimit: limit=100, remaining=50, reset=30
//	RateLimit-Policy: 100;w=60
func (p *parser) draft() {
	f, ok := p.fields.find("ratelimit", "", "")
	if !ok {
		return
	}
	if limit, ok := param(f, ',', "limit"); ok {
		p.draft07(f, limit)
		return
	}
	for rest := f.value; rest != ""; {
		var member string
		member, rest = cutItem(rest, ',')
		p.draftMember(f.name, member)
	}
}

func (p *parser) draft07(f, limit field) {
	remaining, ok := param(f, ',', "remaining")
	if !ok {
		return
	}
	policy, _ := p.policy(limit.value)
	window, ok := p.policyWindow(policy)
	if !ok {
		return
	}
	reset, resets := param(f, ',', "reset")
	p.ofLimit(window, limit, remaining, reset, resets, waitSeconds)
}

func (p *parser) draftMember(header, member string) {
	name, params := cutItem(member, ';')
	policy, ok := p.policy(name)
	if !ok {
		return
	}
	limit, ok := param(policy, ';', "q")
	if !ok {
		return
	}
	f := field{header, params}
	remaining, ok := param(f, ';', "r")
	if !ok {
		return
	}
	window, ok := p.policyWindow(policy)
	if !ok {
		return
	}
	reset, resets := param(f, ';', "t")
	p.ofLimit(window, limit, remaining, reset, resets, waitSeconds)
}

// policy returns the parameters of the policy of that name, or in older drafts
// of that limit.
func (p *parser) policy(name string) (field, bool) {
	f, _ := p.fields.find("ratelimit-policy", "", "")
	for rest := f.value; rest != ""; {
		var member string
		member, rest = cutItem(rest, ',')
		if head, params := cutItem(member, ';'); head == name {
			return field{f.name, params}, true
		}
	}
	return field{}, false
}

// policyWindow returns the window of a policy; one without a period is
// short-term.
func (p *parser) policyWindow(policy field) (quota.Window, bool) {
	f, ok := param(policy, ';', "w")
	if !ok {
		return quota.Rate, true
	}
	n, err := quota.ParseInt(f.value)
	if err != nil {
		p.fault(f.name, BadNumber)
		return 0, false
	}
	window, ok := inWindow(n, 1000)
	if !ok {
		p.fault(f.name, UnknownWindow)
	}
	return window, ok
}

// param returns the parameter of that key, under the header's name.
func param(f field, sep byte, key string) (field, bool) {
	for rest := f.value; rest != ""; {
		var item string
		item, rest = cutItem(rest, sep)
		if name, value, ok := strings.Cut(item, "="); ok && name == key {
			return field{f.name, value}, true
		}
	}
	return field{}, false
}

// firstItem returns the first of a list, without its parameters: drafts up to
// 05 put the policies behind the limit, "100, 100;w=60".
func firstItem(list string) string {
	if i := strings.IndexAny(list, ",;"); i >= 0 {
		list = strings.TrimSpace(list[:i])
	}
	return list
}

// cutItem cuts s at the first sep that is not within a quoted string
// (RFC 8941), and trims both sides.
func cutItem(s string, sep byte) (head, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == sep && !quoted:
			return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:])
		}
	}
	return strings.TrimSpace(s), ""
}
