package dialect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestPickerTwin holds the picker to the tokens of encoding/json: the same
// scalars on the same paths in the same order, down to the depth it looks into,
// however the document is cut.
func TestPickerTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := document(t, 0)
		var got []string
		p := picker{take: func(path []byte, k token) { got = append(got, tokenLine(string(path), k)) }}
		for rest := []byte(doc); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			p.feed(rest[:n])
			rest = rest[n:]
		}
		d := json.NewDecoder(strings.NewReader(doc))
		d.UseNumber()
		var want []string
		flatten(d, "", 0, &want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", doc, diff)
		}
		if !p.whole {
			t.Fatalf("%s is not whole", doc)
		}
	})
}

func tokenLine(path string, k token) string {
	switch k.kind {
	case '{':
		return path + " {"
	case 0:
		return fmt.Sprintf("%s %s", path, k.text)
	}
	return fmt.Sprintf("%s %s %d", path, k.text, k.size)
}

// document draws an object; names and white space are of all kinds.
func document(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t"})
	name := rapid.SampledFrom([]string{"a", "usage", "choices", "", "ü", strings.Repeat("n", keepName), strings.Repeat("n", keepName+1)})
	var members []string
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		quoted, _ := json.Marshal(name.Draw(t, "name"))
		members = append(members, space.Draw(t, "space")+string(quoted)+space.Draw(t, "space")+":"+value(t, depth+1)+space.Draw(t, "space"))
	}
	return space.Draw(t, "space") + "{" + strings.Join(members, ",") + "}"
}

func value(t *rapid.T, depth int) string {
	kinds := 7
	if depth > tracked+2 {
		kinds = 5
	}
	switch rapid.IntRange(1, kinds).Draw(t, "kind") {
	case 1:
		return rapid.SampledFrom([]string{"0", "-12", "1.50", "1e+9", "2E5"}).Draw(t, "number")
	case 2:
		return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word")
	case 3, 4, 5:
		quoted, _ := json.Marshal(rapid.SampledFrom([]string{"", "x", "{[,:]}", "dé\u20ac😀", "q\"b\\"}).Draw(t, "text"))
		return string(quoted)
	case 6:
		return document(t, depth)
	}
	var items []string
	for range rapid.IntRange(0, 3).Draw(t, "items") {
		items = append(items, value(t, depth+1))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// flatten writes the tokens of the next value as a picker is to give them.
func flatten(d *json.Decoder, path string, depth int, out *[]string) {
	tok, err := d.Token()
	if err != nil {
		return
	}
	seen := depth <= tracked
	switch v := tok.(type) {
	case json.Delim:
		if v == '{' && depth < tracked {
			*out = append(*out, path+" {")
		}
		for d.More() {
			inner := path + "[]"
			if v == '{' {
				name, _ := d.Token()
				inner = join(path, name.(string))
			}
			flatten(d, inner, depth+1, out)
		}
		_, _ = d.Token()
	case string:
		if seen {
			raw, _ := json.Marshal(v)
			*out = append(*out, fmt.Sprintf("%s %s %d", path, raw[1:len(raw)-1], len(v)))
		}
	default:
		if seen {
			*out = append(*out, path+" "+word(v))
		}
	}
}

func join(path, name string) string {
	if len(name) > keepName {
		name = "?"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func word(v any) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprint(v)
}
