package saturation

import (
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// codex reads the windows of a ChatGPT plan as Codex does
// (github.com/openai/codex, codex-rs/codex-api/src/rate_limits.rs; responses in
// github.com/Willxup/cpa-usage-keeper/issues/252 and
// github.com/earendil-works/pi/issues/4172):
// x-codex-{primary,secondary}-{used-percent,window-minutes,reset-at}, percent
// of 100 and epoch seconds, and reset-after-seconds, which Codex does not read.
// Which of the two is the weekly window depends on the plan, so the length
// alone tells. x-codex-<family>-primary-… are the windows of some models, which
// x-codex-<family>-limit-name names.
func (p *parser) codex() {
	for _, f := range p.fields {
		base, ok := strings.CutSuffix(f.name, "-used-percent")
		if !ok || !strings.HasPrefix(base, "x-codex-") {
			continue
		}
		family, ok := strings.CutSuffix(base, "-primary")
		if !ok {
			family, ok = strings.CutSuffix(base, "-secondary")
		}
		if ok {
			p.codexWindow(f, base, family)
		}
	}
}

// codexWindow reads one window. One of no use and no length is how Codex says
// that the plan has no such window, and then its reset may be 0 or empty.
func (p *parser) codexWindow(f field, base, family string) {
	used, ok := p.percent(f, 0)
	if !ok {
		return
	}
	minutes, ok := p.codexMinutes(base)
	if !ok {
		return
	}
	if used == 0 && minutes == 0 {
		return
	}
	reset := p.codexReset(base)
	window, ok := inWindow(minutes, 60_000)
	if !ok {
		p.fault(f.name, UnknownWindow)
		return
	}
	scope, ok := p.codexScope(family)
	if ok {
		p.add(events.Reading{Window: window, Scope: scope, UsedPercent: used, ResetAt: reset})
	}
}

// codexMinutes returns the length of a window, 0 when it is not said.
func (p *parser) codexMinutes(base string) (int64, bool) {
	f, ok := p.fields.find(base, "-window-minutes", "")
	if !ok {
		return 0, true
	}
	n, err := quota.ParseInt(f.value)
	if err != nil || n < 0 {
		p.fault(f.name, BadNumber)
		return 0, false
	}
	return n, true
}

func (p *parser) codexReset(base string) int64 {
	f, ok := p.fields.find(base, "-reset-at", "")
	if reset := p.reset(f, ok, epochSeconds); reset != 0 {
		return reset
	}
	f, ok = p.fields.find(base, "-reset-after-seconds", "")
	return p.reset(f, ok, waitSeconds)
}

// codexScope returns the models that a family of windows is for: their name, in
// lower case as models are asked for, or that of the family where they have
// none. The plan's own windows have no family.
func (p *parser) codexScope(family string) (string, bool) {
	if family == "x-codex" {
		return "", true
	}
	scope := strings.TrimPrefix(family, "x-codex-")
	f, ok := p.fields.find(family, "-limit-name", "")
	if ok && f.value != "" {
		scope = strings.ToLower(f.value)
	}
	if quota.ValidateID(scope) != nil {
		p.fault(family+"-limit-name", BadScope)
		return "", false
	}
	return scope, true
}
