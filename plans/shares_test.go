package plans

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
)

func TestShareVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/shares.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name, Unit, Limit string
			Weights, Shares   map[string]string
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		u, _ := quota.ParseUnit(c.Unit)
		limit, _ := quota.ParseAmount(c.Limit, u)
		var keys []string
		var weights []quota.Ratio
		for key, w := range c.Weights {
			r, err := quota.ParseRatio(w)
			if err != nil {
				t.Fatal(err)
			}
			keys, weights = append(keys, key), append(weights, r)
		}
		got := map[string]string{}
		for i, s := range Shares(limit, weights) {
			got[keys[i]] = s.Format(u)
		}
		if diff := cmp.Diff(c.Shares, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.Name, diff)
		}
	}
}

// TestSharesAgainstFractions compares with math/big, and checks what everyone
// relies on: shares never sum to more than the limit.
func TestSharesAgainstFractions(t *testing.T) {
	weight := rapid.OneOf(rapid.SampledFrom([]int64{0, 1, 100e6}), rapid.Int64Range(0, 100e6))
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "limit")
		var weights []quota.Ratio
		var total int64
		for range rapid.IntRange(0, 6).Draw(t, "keys") {
			w := weight.Draw(t, "weight")
			weights, total = append(weights, quota.Ratio(w)), total+w
		}
		left := big.NewInt(limit)
		for i, share := range Shares(quota.Amount(limit), weights) {
			part := big.NewRat(int64(weights[i]), max(100e6, total))
			if total == 0 {
				part = big.NewRat(1, int64(len(weights)))
			}
			part.Mul(part, new(big.Rat).SetInt64(limit))
			if want := new(big.Int).Quo(part.Num(), part.Denom()); want.Cmp(big.NewInt(int64(share))) != 0 {
				t.Fatalf("share %d of %d is %d, want %v", i, limit, share, want)
			}
			left.Sub(left, big.NewInt(int64(share)))
		}
		if left.Sign() < 0 {
			t.Fatalf("shares exceed the limit by %v", left)
		}
	})
}

const tokens = quota.Amount(1_000) // steps of one

func plan(dims ...Dimension) Plan { return Plan{Dimensions: dims, Source: Manual} }

func resolve(p *Pool, own map[string]Plan) *Resolved {
	return Resolve(p, func(conn string) Plan { return own[conn] })
}

func threeConnections(allocations ...Allocation) *Pool {
	return &Pool{
		Connections: []Connection{{ConnectionID: "c1"}, {ConnectionID: "c2"}, {ConnectionID: "c3"}},
		Allocations: allocations,
	}
}

func TestResolveLimits(t *testing.T) {
	first := plan(
		Dimension{quota.Tokens, quota.FiveHour, 100 * tokens},
		Dimension{quota.Tokens, quota.Weekly, 0},
		Dimension{quota.Requests, quota.Hourly, 7 * tokens},
	)
	r := resolve(threeConnections(Allocation{APIKeyID: "a", Weight: 50e6}, Allocation{APIKeyID: "b"}), map[string]Plan{
		"c1": first,
		// its own limit, an unknown one, one that the first has not
		"c2": plan(Dimension{quota.Tokens, quota.FiveHour, 30 * tokens}, Dimension{quota.Requests, quota.Hourly, 0},
			Dimension{quota.USD, quota.Daily, 5}),
		"c3": plan(Dimension{quota.Tokens, quota.Weekly, 9 * tokens}),
	})
	want := []PoolDimension{
		{quota.Tokens, quota.FiveHour, 230 * tokens, []quota.Amount{100 * tokens, 30 * tokens, 100 * tokens}, []quota.Amount{115 * tokens, 0}},
		{quota.Tokens, quota.Weekly, 0, []quota.Amount{0, 0, 0}, []quota.Amount{0, 0}},
		{quota.Requests, quota.Hourly, 21 * tokens, []quota.Amount{7 * tokens, 7 * tokens, 7 * tokens}, []quota.Amount{10.5 * 1_000, 0}},
	}
	if diff := cmp.Diff(want, r.Dimensions); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !r.HasLimit() {
		t.Error("a known limit is not seen")
	}
	if resolve(threeConnections(), map[string]Plan{"c1": plan(Dimension{Unit: quota.Tokens})}).HasLimit() {
		t.Error("an unknown limit is taken for one")
	}
}

// TestResolveSaturates: a limit beyond int64 must stay the largest, not wrap.
func TestResolveSaturates(t *testing.T) {
	huge := plan(Dimension{quota.Tokens, quota.Daily, math.MaxInt64 / 2})
	r := resolve(threeConnections(Allocation{APIKeyID: "a", Weight: 100e6}), map[string]Plan{"c1": huge})
	if d := r.Dimensions[0]; d.Limit != math.MaxInt64 || d.Shares[0] != math.MaxInt64 {
		t.Errorf("limit %d, share %d", d.Limit, d.Shares[0])
	}
}

func TestAllocationOfKey(t *testing.T) {
	listed := []Allocation{{APIKeyID: "a"}, {APIKeyID: quota.AllOthers}, {APIKeyID: "b", Suspended: true}}
	with, without := resolve(threeConnections(listed...), nil), resolve(threeConnections(listed[0]), nil)
	for key, want := range map[string]int{"a": 0, "b": 2, "c": 1, "*": 1, "A": 1} {
		if got := with.Allocation(key); got != want {
			t.Errorf("%s has allocation %d, want %d", key, got, want)
		}
	}
	if got := without.Allocation("c"); got != -1 {
		t.Errorf("an unlisted key has allocation %d", got)
	}
}

func TestModelCapsOfKey(t *testing.T) {
	p := threeConnections()
	p.ModelCaps = []ModelCap{{"a", "m", quota.Tokens, 1}, {"b", "m", quota.Tokens, 2}, {"a", "n", quota.USD, 3}}
	got := resolve(p, nil).ModelCaps("a")
	if diff := cmp.Diff([]ModelCap{p.ModelCaps[0], p.ModelCaps[2]}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if resolve(p, nil).ModelCaps("*") != nil {
		t.Error("nobody has caps by the name of all others")
	}
}

func TestPlanOf(t *testing.T) {
	show := func(p Plan) (s string) {
		for _, d := range p.Dimensions {
			s += d.Unit.String() + "/" + d.Window.String() + "/" + d.Limit.Format(d.Unit) + " "
		}
		return s + p.Source.String()
	}
	codex := "percent/5h/100 percent/weekly/100 catalogue"
	zai := "tokens/5h/0 tokens/weekly/0 catalogue"
	bailian := "percent/5h/100 percent/weekly/100 percent/monthly/100 catalogue"
	for provider, want := range map[string]string{
		"codex": codex, "claude": codex, "claude-code": codex,
		"glm": zai, "zai": zai, "minimax": zai,
		"bailian": bailian, "bailian-coding-plan": bailian,
		"kimi":    "requests/hourly/1500 catalogue",
		"alibaba": "requests/monthly/90000 catalogue",
		"openai":  "none", "anthropic": "none", "unknown": "none", "": "none", "Codex": "none",
	} {
		if got := show(PlanOf(nil, provider)); got != want {
			t.Errorf("%s: %s, want %s", provider, got, want)
		}
	}
	if got := show(PlanOf(&Plan{}, "codex")); got != "manual" {
		t.Errorf("an empty manual plan gives %s", got)
	}
	manual := plan(Dimension{quota.USD, quota.Daily, 5e9})
	if got := show(PlanOf(&manual, "codex")); got != "usd/daily/5 manual" {
		t.Errorf("a manual plan gives %s", got)
	}
}
