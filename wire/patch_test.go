package wire

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func mustParse(t *testing.T, text string) Value {
	t.Helper()
	v, err := ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestMergePatchExamples has every example of RFC 7396, those of appendix A and
// the one of section 3.
func TestMergePatchExamples(t *testing.T) {
	for _, c := range []struct{ target, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{
			`{"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],"content":"This will be unchanged"}`,
			`{"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]}`,
			`{"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"This will be unchanged","phoneNumber":"+01-123-456-7890"}`,
		},
	} {
		got := MergePatch(mustParse(t, c.target), mustParse(t, c.patch))
		if diff := cmp.Diff(c.want, string(AppendValue(nil, JSON, got))); diff != "" {
			t.Errorf("%s patched with %s: -want +got\n%s", c.target, c.patch, diff)
		}
	}
}

// mergeTwin is the pseudocode of RFC 7396, section 2, with JSON as Go has it.
func mergeTwin(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	old, _ := target.(map[string]any)
	merged := map[string]any{}
	for name, v := range old {
		merged[name] = v
	}
	for name, v := range changes {
		if v == nil {
			delete(merged, name)
		} else {
			merged[name] = mergeTwin(merged[name], v)
		}
	}
	return merged
}

// drawTree draws a document with few names, so that two of them have some in
// common at every level.
func drawTree(t *rapid.T, depth int) Value {
	switch kind := rapid.SampledFrom([]Kind{Null, Bool, String, Array, Object, Object, Object, Object, Object, Object}).Draw(t, "kind"); {
	case kind == Object && depth > 0:
		v := Value{Kind: Object}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID[string]).Draw(t, "names") {
			v.Fields = append(v.Fields, Field{name, drawTree(t, depth-1)})
		}
		return v
	case kind == Array && depth > 0:
		return Value{Kind: Array, Items: []Value{drawTree(t, depth-1)}}
	case kind == Bool:
		return Value{Kind: Bool, Bool: rapid.Bool().Draw(t, "bool")}
	case kind == Null:
		return Value{Kind: Null}
	}
	return Value{Kind: String, Text: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "text")}
}

func asAny(t *rapid.T, v Value) (a any) {
	if err := json.Unmarshal(AppendValue(nil, JSON, v), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func fieldNames(v Value) (list []string) {
	for _, f := range v.Fields {
		list = append(list, f.Name)
	}
	return list
}

// TestMergePatchAgainstTwin: the same document as by the pseudocode; the
// arguments stay as they are; fields stay in their order, new ones follow.
func TestMergePatchAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target, patch := drawTree(t, 3), drawTree(t, 3)
		wasTarget, wasPatch := asAny(t, target), asAny(t, patch)
		got := MergePatch(target, patch)
		if diff := cmp.Diff(mergeTwin(wasTarget, wasPatch), asAny(t, got)); diff != "" {
			t.Fatalf("-twin +got\n%s", diff)
		}
		if diff := cmp.Diff([]any{wasTarget, wasPatch}, []any{asAny(t, target), asAny(t, patch)}); diff != "" {
			t.Fatalf("the arguments changed: -before +after\n%s", diff)
		}
		if target.Kind != Object || patch.Kind != Object {
			return
		}
		order := append(fieldNames(target), fieldNames(patch)...)
		if !slices.IsSortedFunc(fieldNames(got), func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) }) {
			t.Fatalf("%v patched with %v has the order %v", fieldNames(target), fieldNames(patch), fieldNames(got))
		}
	})
}
