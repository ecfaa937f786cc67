package saturation

import (
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// anthropicUnified begins the headers of a Claude plan. Anthropic documents
// only the API's; these are as users report them from responses and from what
// Claude Code reads (github.com/anthropics/claude-code/issues/12829 and 42108,
// github.com/Wei-Shaw/claude-relay-service/pull/1260,
// github.com/manaflow-ai/subrouter/pull/24): for each window utilization (a
// fraction, above 1 too), reset (epoch seconds) and status; for all of them
// status, reset and representative-claim, the window that decides. overage-… is
// bought on top of the plan and no window of it.
const anthropicUnified = "anthropic-ratelimit-unified-"

// anthropicPlan reads the windows of a Claude plan.
//
// A window's own status is the better witness: when the 5h window rejects, the
// claim may still name the weekly one, whose reset is days away
// (github.com/Wei-Shaw/claude-relay-service/pull/1260); and one that says that
// it allows is not full because all is refused. The claim counts where no
// window says that it rejects, and the claimed one says nothing.
func (p *parser) anthropicPlan() {
	claim, rejects := p.anthropicClaim()
	last := ""
	for _, f := range p.fields {
		slug, ok := anthropicSlug(f.name)
		if !ok || slug == last {
			continue
		}
		last = slug
		p.anthropicWindow(slug, slug == claim, slug == claim && rejects)
		if slug == claim {
			claim = ""
		}
	}
	if claim != "" && rejects {
		p.anthropicWindow(claim, true, true)
	}
}

// anthropicSlug returns the window that a header is about: 5h of
// anthropic-ratelimit-unified-5h-reset.
func anthropicSlug(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, anthropicUnified)
	slug, _, dash := strings.Cut(rest, "-")
	return slug, ok && dash && slug != "" && slug[0] >= '0' && slug[0] <= '9'
}

// anthropicClaim returns the slug of the deciding window, and whether it
// rejects while no window says so itself, nor this one that it does not.
func (p *parser) anthropicClaim() (slug string, rejects bool) {
	f, _ := p.fields.find(anthropicUnified, "representative-claim", "")
	switch {
	case f.value == "five_hour":
		slug = "5h"
	case strings.HasPrefix(f.value, "seven_day"):
		slug = "7d" + strings.Replace(f.value[len("seven_day"):], "overage_included", "oi", 1)
	}
	status, ok := p.fields.find(anthropicUnified, "status", "")
	if !ok || !p.rejected(status) {
		return slug, false
	}
	for _, f := range p.fields {
		s, ok := anthropicSlug(f.name)
		if ok && strings.HasSuffix(f.name, "-status") && (s == slug || f.value == "rejected") {
			return slug, false
		}
	}
	return slug, true
}

// anthropicRefusal returns when a refusal ends that names no window: it has
// status rejected and the common reset alone. As nothing tells which window it is
// of, none of them can read 100, but what a wait means is true of it.
func (p *parser) anthropicRefusal() (reset int64, ok bool) {
	if f, _ := p.fields.find(anthropicUnified, "status", ""); f.value != "rejected" {
		return 0, false
	}
	f, found := p.fields.find(anthropicUnified, "reset", "")
	reset = p.reset(f, found, epochSeconds)
	return reset, reset != 0
}

// rejected reads a status: allowed and allowed_warning let requests through
// (github.com/router-for-me/CLIProxyAPI/issues/5275).
func (p *parser) rejected(f field) bool {
	switch f.value {
	case "rejected":
		return true
	case "allowed", "allowed_warning":
	default:
		p.fault(f.name, BadStatus)
	}
	return false
}

func (p *parser) anthropicWindow(slug string, claimed, rejected bool) {
	var used quota.Amount
	f, told := p.fields.find(anthropicUnified, slug, "-utilization")
	if told {
		used, told = p.percent(f, 2)
	}
	if f, ok := p.fields.find(anthropicUnified, slug, "-status"); ok && p.rejected(f) {
		rejected = true
	}
	if rejected {
		used, told = max(used, allUsed), true
	}
	if !told {
		return
	}
	window, scope, ok := anthropicScope(slug)
	if !ok {
		p.fault(anthropicUnified+slug, UnknownWindow)
		return
	}
	f, ok = p.fields.find(anthropicUnified, slug, "-reset")
	reset := p.reset(f, ok, epochSeconds)
	if reset == 0 && claimed { // the common reset is that of the claim
		f, ok = p.fields.find(anthropicUnified, "reset", "")
		reset = p.reset(f, ok, epochSeconds)
	}
	p.add(events.Reading{Window: window, Scope: scope, UsedPercent: used, ResetAt: reset})
}

// anthropicScope reads a slug: a length, and after _ the model family that the
// window is for. "oi" (seven_day_overage_included) is the limit of the Fable
// models (github.com/router-for-me/CLIProxyAPI/issues/5101 and 5915).
func anthropicScope(slug string) (window quota.Window, scope string, ok bool) {
	length, scope, scoped := strings.Cut(slug, "_")
	if scope == "oi" {
		scope = "fable"
	}
	if scoped && quota.ValidateID(scope) != nil || length == "" {
		return 0, "", false
	}
	n, err := quota.ParseInt(length[:len(length)-1])
	if err != nil {
		return 0, "", false
	}
	switch length[len(length)-1] {
	case 'm':
		window, ok = inWindow(n, 60_000)
	case 'h':
		window, ok = inWindow(n, 3_600_000)
	case 'd':
		window, ok = inWindow(n, day)
	}
	return window, scope, ok
}

// anthropicRates reads the limits of Anthropic's API, all short-term:
// anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-{limit,
// remaining,reset}, resets in RFC 3339
// (docs.aws.amazon.com/claude-platform/latest/userguide/rate-limits.html; a
// recorded response in rdrr.io/cran/tidyllm, tests/testthat/claude).
func (p *parser) anthropicRates() {
	for _, limit := range p.fields {
		kind, ok := strings.CutPrefix(limit.name, "anthropic-ratelimit-")
		if !ok || strings.HasPrefix(limit.name, anthropicUnified) {
			continue
		}
		if kind, ok = strings.CutSuffix(kind, "-limit"); !ok {
			continue
		}
		remaining, ok := p.fields.find("anthropic-ratelimit-", kind, "-remaining")
		if !ok {
			continue
		}
		reset, found := p.fields.find("anthropic-ratelimit-", kind, "-reset")
		p.ofLimit(quota.Rate, limit, remaining, reset, found, unsaid)
	}
}

// ofLimit adds the reading of a limit and what remains of it. A limit of 0 or
// less is none: nothing can be a part of it.
func (p *parser) ofLimit(w quota.Window, limit, remaining, reset field, resets bool, b bare) {
	total, ok := p.count(limit, firstItem(limit.value))
	if !ok || total <= 0 {
		return
	}
	left, ok := p.count(remaining, remaining.value)
	if !ok {
		return
	}
	used, ok := usedOf(total, left)
	if !ok {
		p.fault(remaining.name, BadNumber)
		return
	}
	p.add(events.Reading{Window: w, UsedPercent: used, ResetAt: p.reset(reset, resets, b)})
}
