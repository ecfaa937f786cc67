package saturation

import (
	"net/url"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// copilotWindows are the headers of Copilot that tell of a window
// (github.com/microsoft/vscode,
// extensions/copilot/src/platform/chat/common/chatQuotaServiceImpl.ts). The
// months are those of the subscription; a session is 5 hours, as refusals call
// it. x-quota-snapshot-completions is left out: no request of a chat counts
// there.
var copilotWindows = [...]struct {
	name   string
	window quota.Window
}{
	{"x-quota-snapshot-chat", quota.Monthly},
	{"x-quota-snapshot-premium_interactions", quota.Monthly},
	{"x-quota-snapshot-premium_models", quota.Monthly},
	{"x-usage-ratelimit-session", quota.FiveHour},
	{"x-usage-ratelimit-weekly", quota.Weekly},
}

// copilot reads the windows of a Copilot plan. A value is a form,
// ent=1500&ov=0.0&ovPerm=false&rem=31.3&rst=2026-04-01T00%3A00%3A00Z: ent is
// what the plan grants (-1 without bound; a snapshot with 0 is of something
// that the plan has not), rem the percentage that remains, below 0 too
// (github.com/caozhiyuan/copilot-api/issues/110), rst the reset. There may be
// more in it: totRem (github.com/Menci/Floway/pull/339).
func (p *parser) copilot() {
	for _, c := range copilotWindows {
		f, ok := p.fields.find(c.name, "", "")
		if !ok {
			continue
		}
		ent, granted := formValue(f, "ent")
		if granted && (strings.HasPrefix(ent.value, "-") || c.window == quota.Monthly && ent.value == "0") {
			continue
		}
		rem, ok := formValue(f, "rem")
		if !ok {
			continue
		}
		// An overdrawn plan may have less than nothing left.
		n, _, err := quota.ParseFixed(rem.value, quota.Percent.Digits())
		if left := quota.Amount(n); err != nil || left > allUsed || left < -quota.Percent.Max()/2 {
			p.fault(f.name, BadNumber)
			continue
		}
		rst, resets := formValue(f, "rst")
		p.add(events.Reading{Window: c.window, UsedPercent: allUsed - quota.Amount(n), ResetAt: p.reset(rst, resets, unsaid)})
	}
}

// formValue returns a value of a header that is a form, under the header's
// name.
func formValue(f field, key string) (field, bool) {
	for rest := f.value; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		name, value, _ := strings.Cut(pair, "=")
		if name != key {
			continue
		}
		if text, err := url.QueryUnescape(value); err == nil {
			value = text
		}
		return field{f.name, value}, true
	}
	return field{}, false
}

// copilotExceeded returns the window that a 429 is about: x-ratelimit-exceeded
// names the limit of Copilot's, global-chat:global-usage-5-hour-key:… or
// global-usage-weekly-key. Neither is documented; public clients agree on them.
func (p *parser) copilotExceeded() quota.Window {
	f, _ := p.fields.find("x-ratelimit-exceeded", "", "")
	switch {
	case strings.Contains(f.value, "global-usage-5-hour-key"):
		return quota.FiveHour
	case strings.Contains(f.value, "global-usage-weekly-key"):
		return quota.Weekly
	}
	return quota.Rate
}
