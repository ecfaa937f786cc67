package plans

import (
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// TestWarnings shows the warnings of a pool or a plan. A plan is that of the
// connection it names until the next file.
func TestWarnings(t *testing.T) {
	datadriven.Walk(t, "testdata/warnings", func(t *testing.T, path string) {
		manual := map[string]*Plan{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			doc := parse(t, d.Input)
			if d.Cmd == "pool" {
				p := mustPool(t, d.Input)
				return shown(Warnings(p, func(id string) Plan { return PlanOf(manual[id], p.Provider) }))
			}
			dims, faults := ParsePlan(doc)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			r, _ := wire.Read(doc, "", &faults)
			manual[r.ID("connectionId")] = &Plan{Dimensions: dims, Source: Manual}
			return shown(PlanWarnings(dims))
		})
	})
}

func shown(warnings wire.Faults) string {
	if len(warnings) == 0 {
		return "no warning\n"
	}
	return lines(warnings)
}

// TestWarningsAreBounded: a pool of thousands is not answered with thousands,
// and what concerns all of it comes first.
func TestWarningsAreBounded(t *testing.T) {
	p := mustPool(t, `{"name":"n","provider":"codx","mode":"off","connectionIds":["c"]}`)
	for i := range 2 * maxWarnings {
		p.Allocations = append(p.Allocations, Allocation{APIKeyID: strconv.Itoa(i), Weight: 1, CapUnit: quota.USD, CapValue: 1})
	}
	w := Warnings(p, func(string) Plan { return Plan{} })
	if len(w) != maxWarnings || w[0].Field != "provider" || w[1].Field != "mode" || w[2].Field != "allocations" || w[3].Field != "allocations[0].capUnit" {
		t.Errorf("%d: %v", len(w), w)
	}
	if len(Warnings(&Pool{Provider: "x"}, nil)) != 1 {
		t.Error("a pool without connections is judged by its plan")
	}
}

// TestUnknownFields shows what is warned of in a document or a patch.
func TestUnknownFields(t *testing.T) {
	datadriven.Walk(t, "testdata/unknown", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "plan" {
				return shown(UnknownPlanFields(parse(t, d.Input)))
			}
			return shown(UnknownPoolFields(parse(t, d.Input)))
		})
	})
}

func TestUnknownFieldsAreBounded(t *testing.T) {
	doc := wire.Value{Kind: wire.Object}
	long := strings.Repeat("é", 1<<10)
	for i := range maxWarnings {
		doc.Fields = append(doc.Fields, wire.Field{Name: long + strconv.Itoa(i)})
	}
	for _, doc := range []wire.Value{
		doc,
		{Kind: wire.Object, Fields: []wire.Field{{Name: "allocations", Value: wire.Value{Kind: wire.Array, Items: []wire.Value{doc, doc}}}}},
	} {
		doc.Fields = append(doc.Fields, wire.Field{Name: "one more"})
		w := UnknownPoolFields(doc)
		if len(w) != maxWarnings || len(w.Error()) > maxWarnings*500 {
			t.Errorf("%d warnings of %d bytes: %.300v", len(w), len(w.Error()), w)
		}
	}
}

// everything has every field that a document may have, with a legal value.
var everything = map[string]string{
	"pool": `{"id":"p","name":"n","provider":"x","mode":"off","rule":"threshold","reserve":1,"onDegraded":"open",
		"connections":[{"connectionId":"c","weight":1,"maxConcurrent":1}],"connectionIds":["c"],"connectionId":"c",
		"allocations":[{"apiKeyId":"a","weight":1,"policy":"hard","suspended":true,"caps":[{"unit":"usd","window":"5h","value":1}],"capUnit":"usd","capValue":1}],
		"modelCaps":[{"apiKeyId":"a","model":"m","capUnit":"usd","capValue":1}]}`,
	"plan": `{"connectionId":"c","dimensions":[{"unit":"usd","window":"5h","limit":1}]}`,
}

// TestKnownFieldsAreRead: the tables of known fields have those that the
// parsers read, all of them and no other. A parser that reads a field has
// something against a value that is NaN.
func TestKnownFieldsAreRead(t *testing.T) {
	check := func(kind string, known []field, read func(wire.Value) wire.Faults) {
		doc := parse(t, everything[kind])
		if faults := read(doc); len(faults) > 0 {
			t.Fatal(faults)
		}
		var spoil func(at wire.Value, path string, known []field)
		spoil = func(at wire.Value, path string, known []field) {
			if len(at.Fields) != len(known) {
				t.Errorf("%s: %d fields here, %d known", path, len(at.Fields), len(known))
			}
			for i, f := range at.Fields {
				at.Fields[i].Value = wire.Value{Kind: wire.NotFinite}
				if faults := read(doc); !strings.Contains(faults.Error(), path+f.Name+" is ") {
					t.Errorf("%s%s is not read: %v", path, f.Name, faults)
				}
				at.Fields[i].Value = f.Value
				if k, ok := findField(known, f.Name); !ok {
					t.Errorf("%s%s is not known", path, f.Name)
				} else if k.items != nil {
					spoil(f.Value.Items[0], path+f.Name+"[0].", k.items)
				}
			}
		}
		spoil(doc, "", known)
	}
	check("pool", poolFields, func(doc wire.Value) wire.Faults { _, faults := ParsePool("", doc); return faults })
	check("plan", planFields, func(doc wire.Value) wire.Faults { _, faults := ParsePlan(doc); return faults })
}

// TestWhatIsShownIsKnown: nobody is warned of a field that we wrote.
func TestWhatIsShownIsKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if w := UnknownPoolFields(parse(t, string(AppendPoolView(nil, drawPool(t), stamp, true, nil)))); len(w) > 0 {
			t.Fatal(w)
		}
	})
	if w := UnknownPlanFields(parse(t, string(AppendPlanView(nil, PlanView{Plan: PlanOf(nil, "kimi"), Stamp: stamp})))); len(w) > 0 {
		t.Error(w)
	}
}

// editsTwin is the definition.
func editsTwin(a, b string) int {
	switch {
	case a == "" || b == "":
		return len(a) + len(b)
	case a[0] == b[0]:
		return editsTwin(a[1:], b[1:])
	}
	return 1 + min(editsTwin(a[1:], b), editsTwin(a, b[1:]), editsTwin(a[1:], b[1:]))
}

func TestEditsAgainstTwin(t *testing.T) {
	word := rapid.StringMatching(`[abc]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, most := word.Draw(t, "a"), word.Draw(t, "b"), rapid.IntRange(0, 7).Draw(t, "most")
		want := editsTwin(a, b)
		if got := edits(a, b, most); got != want && (got < most || want < most) {
			t.Fatalf("%d from %q to %q, want %d, most %d", got, a, b, want, most)
		}
	})
}

func TestProviders(t *testing.T) {
	for name, want := range map[string]bool{
		"codex": true, "claude": true, "claude-code": true, "zai": true, "openai": true, "anthropic": true, "unknown": true,
		"": false, "Codex": false, "acme": false,
	} {
		if KnownProvider(name) != want {
			t.Errorf("%q: want %v", name, want)
		}
	}
	if Providers()[0] = (Provider{}); Providers()[0].Name != "codex" {
		t.Error("a reader can change the catalogue")
	}
}
