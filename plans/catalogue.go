package plans

import (
	"slices"

	"github.com/quotashare/quotashare/quota"
)

// Provider is one provider of the catalogue.
type Provider struct {
	Name       string
	Aliases    []string    // other names it goes by
	Dimensions []Dimension // what it sells, none when that is not public
}

// catalogue is what providers sell, as far as it is public. A provider that is
// missing, or has no dimensions, has no plan until somebody writes one. To add
// one, add a row; limits are in wholes, 0 = the provider does not say.
var catalogue = []Provider{
	{"codex", nil, []Dimension{
		points(quota.FiveHour), points(quota.Weekly),
	}},
	{"claude", []string{"claude-code"}, []Dimension{
		points(quota.FiveHour), points(quota.Weekly),
	}},
	{"glm", []string{"zai"}, []Dimension{
		unknown(quota.Tokens, quota.FiveHour), unknown(quota.Tokens, quota.Weekly),
	}},
	{"minimax", nil, []Dimension{
		unknown(quota.Tokens, quota.FiveHour), unknown(quota.Tokens, quota.Weekly),
	}},
	{"bailian", []string{"bailian-coding-plan"}, []Dimension{
		points(quota.FiveHour), points(quota.Weekly), points(quota.Monthly),
	}},
	{"kimi", nil, []Dimension{requests(quota.Hourly, 1_500)}},
	{"alibaba", nil, []Dimension{requests(quota.Monthly, 90_000)}},
	// Known, but every account has limits of its own.
	{"openai", nil, nil},
	{"anthropic", nil, nil},
	// What a gateway says that does not know; said on purpose, so no typo.
	{"unknown", nil, nil},
}

// allPoints is the limit that a provider measures its own use by.
var allPoints = quota.Amount(100 * quota.Percent.Scale())

// points is all of the provider's own 100 in that window.
func points(w quota.Window) Dimension {
	return Dimension{quota.Percent, w, allPoints}
}

func requests(w quota.Window, n int64) Dimension {
	return Dimension{quota.Requests, w, quota.Amount(n * quota.Requests.Scale())}
}

func unknown(u quota.Unit, w quota.Window) Dimension { return Dimension{Unit: u, Window: w} }

var byName = indexCatalogue()

func indexCatalogue() map[string][]Dimension {
	m := make(map[string][]Dimension)
	for _, p := range catalogue {
		m[p.Name] = p.Dimensions
		for _, alias := range p.Aliases {
			m[alias] = p.Dimensions
		}
	}
	return m
}

// Providers returns the catalogue, always in the same order. What the rows hold
// is shared and must not be changed.
func Providers() []Provider { return slices.Clone(catalogue) }

// KnownProvider reports whether the catalogue has a provider of that exact name
// or alias, with dimensions or without.
func KnownProvider(name string) bool {
	_, ok := byName[name]
	return ok
}

// providerNames returns every name and alias of the catalogue.
func providerNames() []string {
	var names []string
	for _, p := range catalogue {
		names = append(append(names, p.Name), p.Aliases...)
	}
	return names
}

// PlanOf returns the plan of a connection: the one set by hand, else that of
// its provider in the catalogue, else the empty plan. manual is nil when none
// is set; one that is set and empty stays empty. The dimensions returned are
// shared and must not be changed.
func PlanOf(manual *Plan, provider string) Plan {
	if manual != nil {
		return Plan{Dimensions: manual.Dimensions, Source: Manual}
	}
	if d := byName[provider]; len(d) > 0 {
		return Plan{Dimensions: d, Source: Catalogue}
	}
	return Plan{}
}
