package saturation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// Fault is a header that says something about a limit and cannot be read.
type Fault struct {
	Header  string // its name, in lower case
	Problem Problem
}

// Problem is why a header cannot be read; its text is fixed, and there are few
// of them, so it may label a counter.
type Problem string

// The problems of headers.
const (
	BadNumber     Problem = "number" // empty, no number, not finite, negative or too large
	BadReset      Problem = "reset"  // no instant or wait in the form of its source
	BadStatus     Problem = "status" // neither allowed nor rejected
	UnknownWindow Problem = "window" // of no length that we know a window for
	BadScope      Problem = "scope"  // no name
)

// tooManyRequests is the HTTP status of a request over a limit.
const tooManyRequests = 429

// allUsed is a window without anything left.
var allUsed = quota.Amount(100 * quota.Percent.Scale())

// FromHeaders reads what the headers of one response say about the provider's
// windows. Readings are in the order of their windows, then scopes, one for
// each; ResetAt is 0 where none is said. Scopes are in lower case, so two that
// differ in case alone are one. The faults name what was there and could not be
// read, so that a provider's new format shows in a counter and not as silence.
//
// Names that only one source uses (anthropic-ratelimit-…, x-codex-…) are read
// as that source's whatever provider says: a gateway may have a name of its own
// for it. The provider decides where a name is common to many. status is the
// HTTP status, 0 when it is unknown; observedAt is the instant of the response
// in epoch ms, which waits are counted from.
func FromHeaders(provider string, status int, headers map[string]string, observedAt int64) ([]events.Reading, []Fault) {
	p := parser{fields: pick(headers), bare: bareReset(provider), at: observedAt}
	if len(p.fields) == 0 {
		return nil, nil
	}
	p.anthropicPlan()
	p.anthropicRates()
	p.codex()
	p.copilot()
	p.counted()
	p.draft()
	if status == tooManyRequests {
		p.refused()
	}
	return p.readings, p.faults
}

// refused reads a 429. It counts only where nothing else told how full what is:
// a refusal beside readings is one of theirs, or is about something else than
// a window (an overload, a burst).
//
// Some providers say no more in their headers than this:
//
//   - Kimi's platform, at the end of a day's tokens
//     (github.com/MoonshotAI/kimi-code/issues/1796: retry-after: 1152)
//   - Gemini: quotaId and retryDelay are details of the error in the body
//     (github.com/google-gemini/gemini-cli,
//     packages/core/src/utils/googleQuotaErrors.ts)
//   - GLM: a code and "will reset at" in the body
//     (docs.z.ai/api-reference/api-code;
//     github.com/NousResearch/hermes-agent/pull/103038)
//   - MiniMax: "resets at" in the body
//     (github.com/MiniMax-AI/MiniMax-M2.7/issues/36)
//   - Bailian: a reason in the body, and within a minute it is over
//     (help.aliyun.com/en/model-studio/rate-limit)
//
// For the last four no header is documented, retry-after neither. It is the
// generic way to say how long, and read in case they or a proxy send it.
func (p *parser) refused() {
	if len(p.readings) > 0 {
		return
	}
	if reset, ok := p.retryAfter(); ok {
		p.add(events.Reading{Window: p.copilotExceeded(), UsedPercent: allUsed, ResetAt: reset})
	} else if reset, ok := p.anthropicRefusal(); ok {
		p.add(events.Reading{Window: quota.Rate, UsedPercent: allUsed, ResetAt: reset})
	}
}

// parser reads the headers of one response.
type parser struct {
	fields   fields
	bare     bare
	at       int64
	readings []events.Reading
	faults   []Fault
}

func (p *parser) fault(header string, problem Problem) {
	p.faults = append(p.faults, Fault{header, problem})
}

// add adds a reading in its place.
func (p *parser) add(r events.Reading) {
	i, found := slices.BinarySearchFunc(p.readings, r, func(a, b events.Reading) int {
		return cmp.Or(cmp.Compare(a.Window, b.Window), strings.Compare(a.Scope, b.Scope))
	})
	if !found {
		p.readings = slices.Insert(p.readings, i, r)
		return
	}
	have := &p.readings[i]
	if r.UsedPercent > have.UsedPercent || r.UsedPercent == have.UsedPercent && r.ResetAt > have.ResetAt {
		*have = r
	}
}

// field is one header, its name in lower case.
type field struct{ name, value string }

// fields are the headers that tell about limits, by name. Sorted, because a map
// has no order and the same headers must give the same faults; and so that the
// headers of one window stand together.
type fields []field

// families are the beginnings of the names that are read.
var families = [...]string{
	"anthropic-ratelimit-", "ratelimit", "retry-after", "x-codex-", "x-quota-snapshot-", "x-rate-limit-",
	"x-ratelimit", "x-usage-ratelimit-",
}

// pick returns the headers that tell about limits.
func pick(headers map[string]string) fields {
	var all fields
	for name, value := range headers {
		if !Tells(name) {
			continue
		}
		if all == nil {
			all = make(fields, 0, 16) // a response without limits costs nothing
		}
		all = append(all, field{strings.ToLower(name), strings.TrimSpace(value)})
	}
	slices.SortFunc(all, func(a, b field) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.value, b.value)
	})
	return all
}

// Tells reports whether a header of this name may tell about limits. The others, and
// cookies among them, need not leave a gateway.
func Tells(name string) bool {
	if !mayTell(name) {
		return false
	}
	lower := strings.ToLower(name)
	return slices.ContainsFunc(families[:], func(f string) bool { return strings.HasPrefix(lower, f) })
}

// mayTell reports whether one of families begins like name. Most headers do
// not, and one byte tells.
func mayTell(name string) bool {
	if name == "" {
		return false
	}
	c := name[0] | 0x20 // lower case of a letter
	return c == 'a' || c == 'r' || c == 'x'
}

// find returns the header whose name is the parts put together.
func (fs fields) find(a, b, c string) (field, bool) {
	n := len(a) + len(b) + len(c)
	for _, f := range fs {
		if len(f.name) == n && f.name[:len(a)] == a && f.name[len(a):len(a)+len(b)] == b && f.name[len(a)+len(b):] == c {
			return f, true
		}
	}
	return field{}, false
}
