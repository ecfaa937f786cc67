package configfile_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// nasty are names that readers of YAML take for something else, or stumble over.
var nasty = []string{
	"12", "0x10", "010", "1_000", "1e3", ".inf", "-", "- a", "?", ":", "a: b", "a #b", "#", "*", "*a", "&a", "!a", "|", ">", "%a", "@a", "`a", "~",
	"null", "Null", "true", "FALSE", "yes", "No", "on", "OFF", "y", "N", "<<", "=", "2026-01-01", "1:30", "{a", "[a]", "a,b", "'a'", `"a"`, `\n`, `a\`,
	" a", "a ", "a  b", "é", "日本", "😀", "\u00a0", "\u2028", "\ufeff", "\ufffd", "\ue000", "\ufffe", "\U0010ffff", "---", "...", "a/b:c%d", "key with space", ".", "_",
}

func drawName(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.SampledFrom(nasty),
		rapid.StringMatching(`[a-z0-9.:/%_-]{1,6}`),
		rapid.String().Filter(func(s string) bool { return quota.ValidateID(s) == nil && len(s) <= 120 }),
	).Draw(t, label)
}

func drawAmount(t *rapid.T, u quota.Unit) quota.Amount {
	return quota.Amount(rapid.Int64Range(1, int64(u.Max())).Draw(t, "amount"))
}

func drawUnit(t *rapid.T) quota.Unit {
	return quota.Unit(rapid.IntRange(0, quota.NumUnits-1).Draw(t, "unit"))
}

func drawPool(t *rapid.T) *plans.Pool {
	word := func(n int) uint8 { return uint8(rapid.IntRange(0, n-1).Draw(t, "word")) }
	p := &plans.Pool{
		ID: drawName(t, "id"), Name: drawName(t, "name"), Provider: drawName(t, "provider"),
		Mode: plans.Mode(word(3)), Rule: plans.Rule(word(2)), OnDegraded: plans.OnDegraded(word(2)),
		Reserve:   rapid.OneOf(rapid.Just(int64(100)), rapid.Int64Range(0, 400)).Draw(t, "reserve"),
		CreatedAt: rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(quota.MinInstant, quota.MaxInstant)).Draw(t, "created"),
	}
	names := func(least, most int) []string {
		return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string { return drawName(t, "name") }), least, most, rapid.ID[string]).Draw(t, "names")
	}
	for _, id := range names(1, 4) {
		weight := rapid.OneOf(rapid.Just(int64(100)), rapid.Int64Range(1, 1000)).Draw(t, "weight")
		p.Connections = append(p.Connections, plans.Connection{ConnectionID: id, Weight: weight, MaxConcurrent: rapid.Int64Range(0, 3).Draw(t, "max")})
	}
	for _, id := range names(0, 4) {
		a := plans.Allocation{
			APIKeyID: id, Weight: quota.Ratio(rapid.Int64Range(0, 100e6).Draw(t, "weight")),
			Policy: plans.Policy(word(3)), Suspended: rapid.Bool().Draw(t, "suspended"),
		}
		if rapid.Bool().Draw(t, "caps") {
			u := drawUnit(t)
			a.CapUnit, a.CapValue = u, drawAmount(t, u)
			a.Caps = []plans.Cap{{Unit: u, Window: quota.Hourly, Value: drawAmount(t, u)}, {Unit: u, Window: quota.Daily, Value: drawAmount(t, u)}}
		}
		if id != quota.AllOthers && rapid.Bool().Draw(t, "model cap") {
			u := drawUnit(t)
			p.ModelCaps = append(p.ModelCaps, plans.ModelCap{APIKeyID: id, Model: drawName(t, "model"), CapUnit: u, CapValue: drawAmount(t, u)})
		}
		p.Allocations = append(p.Allocations, a)
	}
	return p
}

// readBack is what a file with these pools is read as.
func readBack(t *rapid.T, asJSON bool, pools ...*plans.Pool) []configfile.Pool {
	list := wire.Value{Kind: wire.Array}
	for _, p := range pools {
		doc, err := configfile.PoolDocument(p)
		if err != nil {
			t.Fatal(err)
		}
		list.Items = append(list.Items, configfile.Short(doc))
	}
	text, err := configfile.Encode(configfile.Pools, list, asJSON)
	if err != nil {
		t.Fatal(err)
	}
	f, err := configfile.Read(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got, err := f.Pools()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return got
}

// What is exported is read back as the same pool, whatever its names, and
// nothing is different between the two.
func TestExportIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		for _, asJSON := range []bool{true, false} {
			got := readBack(t, asJSON, p)
			if want, is := string(plans.AppendPoolJSON(nil, p)), string(plans.AppendPoolJSON(nil, got[0].Pool)); want != is {
				t.Fatalf("json %v: written\n%s\nread\n%s", asJSON, want, is)
			}
		}
	})
}

// A diff is empty exactly when the documents are the same: else apply would
// write what it calls unchanged, or change what it does not show.
func TestDiffIsEmptyForTheSameAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		q := readBack(t, false, p)[0].Pool
		other := drawPool(t)
		switch rapid.IntRange(0, 6).Draw(t, "what is other") {
		case 0:
			q.Connections = rapid.Permutation(p.Connections).Draw(t, "order")
		case 1:
			q.Allocations = rapid.Permutation(p.Allocations).Draw(t, "order")
		case 2:
			q.ModelCaps = rapid.Permutation(p.ModelCaps).Draw(t, "order")
		case 3:
			q.Connections, q.Allocations, q.ModelCaps = other.Connections, other.Allocations, other.ModelCaps
		case 4:
			q.Mode, q.Rule, q.OnDegraded, q.Reserve = other.Mode, other.Rule, other.OnDegraded, other.Reserve
		case 5:
			q.CreatedAt = other.CreatedAt
		}
		a, err := configfile.PoolDocument(p)
		if err != nil {
			t.Fatal(err)
		}
		b, err := configfile.PoolDocument(q)
		if err != nil {
			t.Fatal(err)
		}
		same := string(plans.AppendPoolJSON(nil, p)) == string(plans.AppendPoolJSON(nil, q))
		if lines := configfile.Diff(a, b); same != (len(lines) == 0) {
			t.Fatalf("same %v, and the diff is\n%s", same, strings.Join(lines, "\n"))
		}
	})
}

// Readers of YAML 1.1 take yes for a boolean, so such names are in quotes, which
// ours would not need.
func TestNamesNobodyMistakes(t *testing.T) {
	for _, name := range nasty {
		text, err := configfile.Encode("name", wire.Value{Kind: wire.String, Text: name}, false)
		if err != nil {
			t.Fatal(err)
		}
		quoted := strings.HasPrefix(string(text), `name: "`)
		var doc struct{ Name any }
		if err := yaml.Unmarshal(text, &doc); err != nil || doc.Name != name {
			t.Errorf("%q is written as %s and read as %v: %v", name, text, doc.Name, err)
		}
		if want := name != "key with space" && name != "_"; quoted != want {
			t.Errorf("%q is written as %s", name, text)
		}
	}
}

// A pool reads like what a person would write.
func TestExportReadsWell(t *testing.T) {
	f, err := configfile.Read([]byte(exported))
	if err != nil {
		t.Fatal(err)
	}
	pools, err := f.Pools()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := configfile.PoolDocument(pools[0].Pool)
	if err != nil {
		t.Fatal(err)
	}
	got, err := configfile.Encode(configfile.Pools, wire.Value{Kind: wire.Array, Items: []wire.Value{configfile.Short(doc)}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != exported {
		t.Errorf("got\n%s", got)
	}
}

const exported = `pools:
  - id: team
    name: Our team
    provider: kimi
    mode: observe
    connections:
      - {connectionId: kimi-1}
      - {connectionId: "kimi:2", weight: 50, maxConcurrent: 4}
    allocations:
      - {apiKeyId: alice, weight: 33.333333, policy: hard}
      - apiKeyId: "*"
        weight: 20
        policy: soft
        caps:
          - {unit: tokens, window: hourly, value: 500.5}
        capUnit: usd
        capValue: 0.000000001
    createdAt: "2026-01-01T00:00:00.000Z"
`
