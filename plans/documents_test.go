package plans

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// TestDocuments reads the documents in testdata and shows what is kept of them
// in canonical form, or every fault on its line.
func TestDocuments(t *testing.T) {
	datadriven.Walk(t, "testdata/documents", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			doc, err := wire.ParseJSON([]byte(d.Input))
			if err != nil {
				t.Fatal(err)
			}
			var id string
			d.MaybeScanArgs(t, "id", &id)
			canonical, faults := readDocument(t, d.Cmd, id, doc)
			if len(faults) == 0 {
				return canonical + "\n"
			}
			var out strings.Builder
			for _, f := range faults {
				out.WriteString(f.Error() + "\n")
			}
			return out.String()
		})
	})
}

func readDocument(t *testing.T, kind, id string, doc wire.Value) (string, wire.Faults) {
	switch kind {
	case "pool":
		p, faults := ParsePool(id, doc)
		if p == nil {
			return "", faults
		}
		return string(AppendPoolJSON(nil, p)), faults
	case "plan":
		dims, faults := ParsePlan(doc)
		return string(AppendPlanJSON(nil, "c1", dims)), faults
	case "settings":
		s, faults := ParseSettings(doc)
		return string(AppendSettingsJSON(nil, &s)), faults
	}
	t.Fatalf("no document is called %s", kind)
	return "", nil
}

// TestFoldedPoolIsLenient: what is faulty in a document is reported, and the
// pool can be used all the same, with the careful policy where it is unknown.
func TestFoldedPoolIsLenient(t *testing.T) {
	doc, err := wire.ParseJSON([]byte(`{"id":"p","name":"n","provider":"x","connectionIds":["c"],
		"allocations":[{"apiKeyId":"a","weight":10,"policy":"softer"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p, faults := ParsePool("p", doc)
	want := wire.Fault{Field: "allocations[0].policy"}
	if len(faults) != 1 || faults[0].Field != want.Field {
		t.Fatalf("faults %v", faults)
	}
	if p.Allocations[0].Policy != Hard || p.Allocations[0].Weight != 10e6 {
		t.Errorf("kept as %+v", p.Allocations[0])
	}
}

// TestFaultySettingKeepsItsDefault: half a value is none.
func TestFaultySettingKeepsItsDefault(t *testing.T) {
	doc, err := wire.ParseJSON([]byte(`{"values":{"maxLagMs":{"value":7},"holdTtlMs":{"value":"x","source":"stored"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if s, faults := ParseSettings(doc); len(faults) != 2 || s != DefaultSettings() {
		t.Errorf("%v, %+v", faults, s)
	}
}

func TestDefaultSettings(t *testing.T) {
	s := DefaultSettings()
	if s.SaturationThreshold() != 500_000 || s.SoftDeprioritizeFactor() != 700_000 || s.DecisionSampleRate() != 10_000 ||
		s.ConsumptionRetentionDays() != 14 || s.SignalTTLMs() != 30_000 || s.HoldTTLMs() != 300_000 || s.MaxLagMs() != 5_000 {
		t.Errorf("defaults are %+v", s)
	}
	for name := range Setting(NumSettings) {
		if got, ok := ParseSetting(name.String()); got != name || !ok || !strings.Contains(SettingNames, name.String()) {
			t.Errorf("%v is read back as %v, or not told to people", name, got)
		}
	}
}

func drawID(t *rapid.T, label string) string {
	return rapid.StringMatching(`[a-zé*"\\:./ ]{1,8}`).Filter(func(s string) bool { return s != quota.AllOthers }).Draw(t, label)
}

func drawPool(t *rapid.T) *Pool {
	word := func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }
	units := func() quota.Unit { return quota.Unit(word(quota.NumUnits, "unit")) }
	value := func(u quota.Unit) quota.Amount {
		return quota.Amount(rapid.Int64Range(1, int64(u.Max())).Draw(t, "value"))
	}
	p := &Pool{
		ID: drawID(t, "id"), Name: drawID(t, "name"), Provider: drawID(t, "provider"),
		Mode: Mode(word(3, "mode")), Rule: Rule(word(2, "rule")), OnDegraded: OnDegraded(word(2, "degraded")),
		Reserve:   rapid.Int64Range(0, 400).Draw(t, "reserve"),
		CreatedAt: rapid.SampledFrom([]int64{0, quota.MinInstant, quota.MaxInstant}).Draw(t, "created"),
	}
	for _, id := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 1, 3, rapid.ID[string]).Draw(t, "connections") {
		p.Connections = append(p.Connections, Connection{id, rapid.Int64Range(1, 1000).Draw(t, "weight"), rapid.Int64Range(0, 9).Draw(t, "max")})
	}
	for _, id := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}|\*`), 0, 3, rapid.ID[string]).Draw(t, "keys") {
		a := Allocation{
			APIKeyID: id, Weight: quota.Ratio(rapid.Int64Range(0, 100e6).Draw(t, "weight")),
			Policy: Policy(word(3, "policy")), Suspended: rapid.Bool().Draw(t, "suspended"),
		}
		if rapid.Bool().Draw(t, "cap value") {
			a.CapUnit = units()
			a.CapValue = value(a.CapUnit)
		}
		if rapid.Bool().Draw(t, "caps") {
			u := units()
			a.Caps = []Cap{{u, quota.Hourly, value(u)}, {u, quota.Monthly, value(u)}}
		}
		if id != quota.AllOthers && rapid.Bool().Draw(t, "model cap") {
			u := units()
			p.ModelCaps = append(p.ModelCaps, ModelCap{id, "m", u, value(u)})
		}
		p.Allocations = append(p.Allocations, a)
	}
	return p
}

// TestPoolRoundTrip: what is written is read back as the same pool, from JSON
// and from msgpack.
func TestPoolRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t)
		doc, err := wire.ParseJSON(AppendPoolJSON(nil, p))
		if err != nil {
			t.Fatal(err)
		}
		packed, err := wire.Parse(wire.Msgpack, wire.AppendValue(nil, wire.Msgpack, doc))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []wire.Value{doc, packed} {
			got, faults := ParsePool(p.ID, v)
			if diff := cmp.Diff(*p, *got); diff != "" || len(faults) > 0 {
				t.Fatalf("%v\n-written +read\n%s", faults, diff)
			}
		}
	})
}

func TestFaultsAreAnError(t *testing.T) {
	_, faults := ParsePool("", wire.Value{Kind: wire.Array})
	if err := faults.Err(); err == nil || !errors.As(err, new(wire.Faults)) {
		t.Errorf("an array is taken for a pool: %v", err)
	}
}
