package plans

import "github.com/quotashare/quotashare/quota"

// known is one provider of the catalogue, with the other names it goes by.
type known struct {
	names      []string
	dimensions []Dimension
}

// catalogue is what providers sell, as far as it is public. A provider that is
// missing, or has no row, has no plan until somebody writes one. To add one,
// add a row; limits are in wholes, 0 = the provider does not say.
var catalogue = []known{
	{[]string{"codex"}, []Dimension{
		points(quota.FiveHour), points(quota.Weekly),
	}},
	{[]string{"claude", "claude-code"}, []Dimension{
		points(quota.FiveHour), points(quota.Weekly),
	}},
	{[]string{"glm", "zai"}, []Dimension{
		unknown(quota.Tokens, quota.FiveHour), unknown(quota.Tokens, quota.Weekly),
	}},
	{[]string{"minimax"}, []Dimension{
		unknown(quota.Tokens, quota.FiveHour), unknown(quota.Tokens, quota.Weekly),
	}},
	{[]string{"bailian", "bailian-coding-plan"}, []Dimension{
		points(quota.FiveHour), points(quota.Weekly), points(quota.Monthly),
	}},
	{[]string{"kimi"}, []Dimension{requests(quota.Hourly, 1_500)}},
	{[]string{"alibaba"}, []Dimension{requests(quota.Monthly, 90_000)}},
}

// points is all of the provider's own 100 in that window.
func points(w quota.Window) Dimension {
	return Dimension{quota.Percent, w, quota.Amount(100 * quota.Percent.Scale())}
}

func requests(w quota.Window, n int64) Dimension {
	return Dimension{quota.Requests, w, quota.Amount(n * quota.Requests.Scale())}
}

func unknown(u quota.Unit, w quota.Window) Dimension { return Dimension{Unit: u, Window: w} }

var byName = indexCatalogue()

func indexCatalogue() map[string][]Dimension {
	m := make(map[string][]Dimension)
	for _, k := range catalogue {
		for _, name := range k.names {
			m[name] = k.dimensions
		}
	}
	return m
}

// PlanOf returns the plan of a connection: the one set by hand, else that of
// its provider in the catalogue, else the empty plan. manual is nil when none
// is set; one that is set and empty stays empty. The dimensions returned are
// shared and must not be changed.
func PlanOf(manual *Plan, provider string) Plan {
	if manual != nil {
		return Plan{Dimensions: manual.Dimensions, Source: Manual}
	}
	if d, ok := byName[provider]; ok {
		return Plan{Dimensions: d, Source: Catalogue}
	}
	return Plan{}
}
