package schemas_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/schemas/schematest"
)

type object = map[string]any

// parsed returns a document with its numbers as they are written.
func parsed(t testing.TB, doc string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// odd are values that some field may have and others may not.
var odd = []any{
	nil, true, false, "", "x", "*", "a\x01b", "1", "-1", "quota.release", "1.0", "hourly", "5h", "daily", "weekly", "monthly", "rate", "requests", "tokens", "usd", "percent",
	"hard", "soft", "burst", "enforce", "observe", "off", "threshold", "guarantee", "open", "closed", "stored", "environment", "default",
	"1786699815250", "1786699815250.0",
	"2026-01-02T03:04:05.5+02:00", "2026-01-02", "2026-01-02T03:04:05", "2026-02-30T03:04:05Z", "1999-12-31T23:59:59Z", "2026-01-02t03:04:05z", "qtSd/p/kimi/m", "qtSd/%41/kimi/m", "qtSd/p.q/kimi/m",
	"1" + strings.Repeat("0", 64), "0." + strings.Repeat("0", 63), strings.Repeat("y", 120), strings.Repeat("y", 121), strings.Repeat("y", 1000), strings.Repeat("y", 2048), strings.Repeat("y", 8192), strings.Repeat("y", 256), strings.Repeat("y", 257), strings.Repeat("é", 129), strings.Repeat("y", 1001), strings.Repeat("y", 2049), strings.Repeat("y", 8193),
	num("-1"), num("0"), num("-0"), num("1"), num("1.0"), num("1e2"), num("99"), num("100"), num("101"), num("400"), num("401"), num("599"), num("600"), num("1000"), num("1001"), num("3650"), num("3651"),
	num("1000000"), num("1000001"), num("1000000.0000000001"), num("3600000"), num("3600001"), num("86400000"), num("86400001"), num("946684799999"), num("946684800000"), num("1786699815250"), num("1786699815250.5"),
	num("253402300799999"), num("253402300800000"), num("1e12"), num("1000000000000.0001"), num("2e12"), num("9007199254740992"), num("9007199254740993"), num("1e31"), num("0e31"), num("1e-31"),
	num("0.5"), num("1.5"), num("-0.0001"), num("-0.5"), num("0.1234567"), num("1" + strings.Repeat("0", 70)),
	[]any{},
	object{},
	[]any{num("1")},
	[]any{"c"},
	[]any{"c", "c"},
	[]any{nil},
	[]any{object{}},
	object{"requests": num("1")},
	object{"request": num("1")},
	object{"requests": nil, "request": nil},
	object{"a": "b", "A": "b"},
	object{"": "b"},
	object{"a": strings.Repeat("y", 8192)},
	object{"a": strings.Repeat("y", 8193)},
	object{"a": []any{strings.Repeat("é", 8000)}},
	object{"apiKeyId": "k", "requestId": "r"},
	object{"connectionId": "c", "readings": []any{}},
	object{"value": num("1"), "source": "default"},
	[]any{object{"connectionId": "a"}, object{"connectionId": "a"}},
	[]any{object{"window": "5h", "usedPercent": num("101")}},
	[]any{object{"unit": "usd", "window": "5h"}, object{"unit": "usd", "window": "5h", "limit": num("1")}},
}

func num(s string) json.Number { return json.Number(s) }

// TestSchemasAndCodecsAgree changes each field of each document in every odd way:
// what a schema allows its decoder takes, and the other way, but for what is in the
// list of differences.
func TestSchemasAndCodecsAgree(t *testing.T) {
	for _, c := range codecs {
		for _, text := range c.full {
			doc := parsed(t, text)
			if known := differencesOf(doc); known != nil {
				t.Errorf("%s: %s differs to begin with: %v", c.message, text, known)
			}
			vary(doc, "", func(change string) { c.compare(t, change, doc) })
			for _, other := range c.full {
				c.compareWith(t, doc, parsed(t, other))
			}
		}
	}
}

// compareWith adds each field to the document that another one has: of many there may
// be but one.
func (c *codec) compareWith(t *testing.T, doc, other any) {
	t.Helper()
	o, isObject := doc.(object)
	fields, _ := other.(object)
	for name, value := range fields {
		if _, there := o[name]; isObject && !there {
			o[name] = value
			c.compare(t, "with "+name, doc)
			delete(o, name)
		}
	}
}

// compare fails the test when schema and decoder do not agree about the document.
func (c *codec) compare(t failer, change string, doc any) {
	t.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatalf("%s: %v", change, err)
	}
	said, read := schematest.Payload(c.message, text), c.read(text)
	if (said == nil) == (read == nil) {
		return
	}
	for _, d := range differencesOf(doc) {
		if d.stricter == (read == nil) {
			return
		}
	}
	t.Errorf("%s, %s: %.300s\nthe decoder says: %v\nthe schema says: %v", c.message, change, text, read, said)
}

// failer is what tests of testing and of rapid have in common.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// vary makes each change of the value, calls f, and takes the change back.
func vary(v any, path string, f func(change string)) {
	switch v := v.(type) {
	case object:
		varyObject(v, path, f)
	case []any:
		for i, was := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			for _, o := range odd {
				v[i] = o
				f(fmt.Sprintf("%s = %.40v", at, o))
			}
			v[i] = was
			vary(was, at, f)
		}
	}
}

func varyObject(v object, path string, f func(change string)) {
	f("as it is, " + path)
	for _, name := range []string{"unheard-of", "specversion"} {
		if _, there := v[name]; !there {
			v[name] = num("1")
			f("with " + name + " in " + path)
			delete(v, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		was, at := v[name], path+"."+name
		delete(v, name)
		f("without " + at)
		for _, o := range odd {
			v[name] = o
			f(fmt.Sprintf("%s = %.40v", at, o))
		}
		v[name] = was
		vary(was, at, f)
	}
}

// TestSchemasAndCodecsAgreeAboutMuchThatIsOdd makes several changes at once.
func TestSchemasAndCodecsAgreeAboutMuchThatIsOdd(t *testing.T) {
	var names []string
	for _, c := range codecs {
		for _, text := range c.full {
			collect(parsed(t, text), &names)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		c := rapid.SampledFrom(codecs).Draw(r, "codec")
		doc := parsed(t, rapid.SampledFrom(c.full).Draw(r, "document"))
		for range rapid.IntRange(1, 4).Draw(r, "changes") {
			change(r, doc, names)
		}
		c.compare(r, "several changes", doc)
	})
}

func collect(v any, names *[]string) {
	each(v, func(name string, _ any) bool {
		if name != "" && !slices.Contains(*names, name) {
			*names = append(*names, name)
		}
		return false
	})
}

// change sets, adds or drops a field somewhere in the document.
func change(r *rapid.T, v any, names []string) {
	o, ok := v.(object)
	for ok && rapid.Bool().Draw(r, "deeper") {
		var inner []object
		for _, name := range slices.Sorted(maps.Keys(o)) {
			inner = append(inner, objectsOf(o[name])...)
		}
		if len(inner) == 0 {
			break
		}
		o = rapid.SampledFrom(inner).Draw(r, "object")
	}
	if !ok {
		return
	}
	name := rapid.SampledFrom(names).Draw(r, "name")
	if own := slices.Sorted(maps.Keys(o)); len(own) > 0 && rapid.Bool().Draw(r, "own") {
		name = rapid.SampledFrom(own).Draw(r, "field")
	}
	if rapid.IntRange(0, 3).Draw(r, "drop") == 0 {
		delete(o, name)
		return
	}
	o[name] = clone(rapid.SampledFrom(odd).Draw(r, "value"))
}

// clone is a copy of a value: what is put in may be changed next.
func clone(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return v
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var copied any
	if d.Decode(&copied) != nil {
		return v
	}
	return copied
}

// objectsOf is the value, or those of its items, that are objects.
func objectsOf(v any) (list []object) {
	switch v := v.(type) {
	case object:
		list = append(list, v)
	case []any:
		for _, item := range v {
			list = append(list, objectsOf(item)...)
		}
	}
	return list
}

// each calls f for the value and all within it, with the name of the field that it is
// or is an item of, until f returns true.
func each(v any, f func(name string, v any) bool) bool { return eachIn("", v, f) }

func eachIn(name string, v any, f func(name string, v any) bool) bool {
	if f(name, v) {
		return true
	}
	switch v := v.(type) {
	case object:
		for inner, value := range v {
			if eachIn(inner, value, f) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if eachIn(name, item, f) {
				return true
			}
		}
	}
	return false
}
