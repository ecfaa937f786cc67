package plans

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// tester is a test, or a run of one with drawn values.
type tester interface {
	Helper()
	Fatal(...any)
}

func parse(t tester, text string) wire.Value {
	t.Helper()
	doc, err := wire.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func mustPool(t tester, text string) *Pool {
	t.Helper()
	p, faults := ParsePool("", parse(t, text))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return p
}

// lines shows each fault on its line.
func lines(faults wire.Faults) string {
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// TestPatchPool patches the pool given last and shows what became of it: each
// top field that is another now, or every fault.
func TestPatchPool(t *testing.T) {
	datadriven.Walk(t, "testdata/patch", func(t *testing.T, path string) {
		var now *Pool
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "pool" {
				now = mustPool(t, d.Input)
				return ""
			}
			before := string(AppendPoolJSON(nil, now))
			patch := parse(t, d.Input)
			p, faults := PatchPool(now, patch)
			if after := string(AppendPoolJSON(nil, now)); after != before || !cmp.Equal(patch, parse(t, d.Input)) {
				t.Errorf("the pool itself changed to %s, or the patch to %v", after, patch)
			}
			if len(faults) > 0 {
				return lines(faults)
			}
			return changes(t, now, p)
		})
	})
}

// changes shows the top fields of q's document that p's has not, or has with
// another value, and those that went.
func changes(t tester, p, q *Pool) string {
	if p.Equal(q) && p.CreatedAt == q.CreatedAt {
		return "nothing changes\n"
	}
	shown := map[string]string{}
	for _, f := range parse(t, string(AppendPoolJSON(nil, p))).Fields {
		shown[f.Name] = string(wire.AppendValue(nil, wire.JSON, f.Value))
	}
	var b strings.Builder
	for _, f := range parse(t, string(AppendPoolJSON(nil, q))).Fields {
		if value := string(wire.AppendValue(nil, wire.JSON, f.Value)); shown[f.Name] != value {
			fmt.Fprintln(&b, f.Name, value)
		}
		delete(shown, f.Name)
	}
	for name := range shown {
		fmt.Fprintln(&b, name, "is gone")
	}
	return b.String()
}

// TestPatchLaws: nothing, the pool's own document and its view change nothing;
// the document of another pool gives that pool, but for the id and the date.
func TestPatchLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := drawPool(t), drawPool(t)
		q.ID = p.ID
		view := AppendPoolView(nil, p, Stamp{1, quota.MinInstant, "a", "b"}, true, wire.Faults{{Field: "f", Problem: "is"}})
		same := *q
		same.CreatedAt = p.CreatedAt
		for patch, want := range map[string]*Pool{`{}`: p, string(AppendPoolJSON(nil, p)): p, string(view): p, string(AppendPoolJSON(nil, q)): &same} {
			got, faults := PatchPool(p, parse(t, patch))
			if diff := cmp.Diff(*want, *got); diff != "" || len(faults) > 0 {
				t.Fatalf("%s: %v\n-want +got\n%s", patch, faults, diff)
			}
		}
	})
}

func TestPoolsAreEqual(t *testing.T) {
	const text = `{"id":"p","name":"n","provider":"x","connections":[{"connectionId":"c","weight":7,"maxConcurrent":2},{"connectionId":"d"}],
		"allocations":[{"apiKeyId":"a","weight":1,"caps":[{"unit":"usd","window":"5h","value":1}],"capUnit":"usd","capValue":2}],
		"modelCaps":[{"apiKeyId":"a","model":"m","capUnit":"usd","capValue":2}]}`
	if p, q := mustPool(t, text), mustPool(t, text); !p.Equal(q) {
		t.Error("a pool is not equal to itself")
	}
	for name, change := range map[string]func(p *Pool){
		"id":            func(p *Pool) { p.ID = "q" },
		"name":          func(p *Pool) { p.Name = "m" },
		"provider":      func(p *Pool) { p.Provider = "y" },
		"mode":          func(p *Pool) { p.Mode = Off },
		"rule":          func(p *Pool) { p.Rule = Guarantee },
		"reserve":       func(p *Pool) { p.Reserve = 0 },
		"onDegraded":    func(p *Pool) { p.OnDegraded = Closed },
		"weight":        func(p *Pool) { p.Connections[0].Weight = 8 },
		"maxConcurrent": func(p *Pool) { p.Connections[0].MaxConcurrent = 0 },
		"order":         func(p *Pool) { p.Connections[0], p.Connections[1] = p.Connections[1], p.Connections[0] },
		"policy":        func(p *Pool) { p.Allocations[0].Policy = Burst },
		"suspended":     func(p *Pool) { p.Allocations[0].Suspended = true },
		"cap":           func(p *Pool) { p.Allocations[0].Caps[0].Window = quota.Daily },
		"capUnit":       func(p *Pool) { p.Allocations[0].CapUnit = quota.Tokens },
		"model cap":     func(p *Pool) { p.ModelCaps[0].CapValue++ },
		"fewer":         func(p *Pool) { p.Allocations = nil },
	} {
		p, q := mustPool(t, text), mustPool(t, text)
		if change(q); p.Equal(q) || q.Equal(p) {
			t.Errorf("a change of %s is not seen", name)
		}
	}
	p, q := mustPool(t, text), mustPool(t, text)
	if q.CreatedAt = quota.MinInstant; !p.Equal(q) || q.CreatedAt == 0 {
		t.Error("the date counts, or is lost")
	}
}

// TestPatchOfHugePool: written out, defaults can make a document larger than
// what may be read.
func TestPatchOfHugePool(t *testing.T) {
	p := mustPool(t, `{"id":"p","name":"n","provider":"x","connectionIds":["c"]}`)
	caps := make([]Cap, maxDimensions)
	for range wire.MaxValues / (4 * maxDimensions) {
		p.Allocations = append(p.Allocations, Allocation{APIKeyID: "a", Caps: caps})
	}
	got, faults := PatchPool(p, parse(t, `{"name":"m"}`))
	if got != nil || len(faults) != 1 || !strings.HasPrefix(faults.Error(), "the document is too large to be patched: ") {
		t.Errorf("%v, %.200v", got, faults)
	}
}
