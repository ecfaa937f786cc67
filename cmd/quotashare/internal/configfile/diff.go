package configfile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/quotashare/quotashare/wire"
)

// identity is what tells the items of a list apart; an item is the same one
// when these fields are, wherever in the list it stands.
var identity = map[string][]string{
	"connections": {"connectionId"},
	"allocations": {"apiKeyId"},
	"caps":        {"unit", "window"},
	"modelCaps":   {"apiKeyId", "model", "capUnit"},
	"dimensions":  {"unit", "window"},
}

// Diff says what is different, a line for each field that changes, for a person:
//
//	mode: observe -> enforce
//	allocations[alice].weight: 50 -> 60
//	+ connections[acct-2]
//	- allocations[bob] (weight 50, policy soft)
//
// It is empty exactly when the objects say the same. With a zero Value for
// before, or after, everything is new, or gone.
func Diff(before, after wire.Value) []string {
	var d differ
	d.objects("", before, after)
	return d.lines
}

type differ struct{ lines []string }

func (d *differ) say(parts ...string) { d.lines = append(d.lines, strings.Join(parts, "")) }

func (d *differ) objects(path string, before, after wire.Value) {
	was, is := fields(before), fields(after)
	for _, f := range after.Fields {
		d.field(join(path, f.Name), f.Name, was[f.Name], f.Value)
	}
	for _, f := range before.Fields {
		if _, still := is[f.Name]; !still {
			d.field(join(path, f.Name), f.Name, f.Value, wire.Value{})
		}
	}
}

func (d *differ) field(path, name string, before, after wire.Value) {
	switch {
	case before.Kind == wire.Array || after.Kind == wire.Array:
		d.lists(path, identity[name], before.Items, after.Items)
	case before.Kind == wire.Absent:
		d.say("+ ", path, ": ", scalar(after))
	case after.Kind == wire.Absent:
		d.say("- ", path, ": ", scalar(before))
	case scalar(before) != scalar(after):
		d.say(path, ": ", scalar(before), " -> ", scalar(after))
	}
}

// lists compares items by what they are of, then their order: the first
// connection gives a pool its dimensions.
func (d *differ) lists(path string, by []string, before, after []wire.Value) {
	was, is := index(by, before), index(by, after)
	for _, item := range after {
		place := path + "[" + label(by, item) + "]"
		if old, there := was[key(by, item)]; there {
			d.objects(place, old, item)
		} else {
			d.say("+ ", place, rest(by, item))
		}
	}
	for _, item := range before {
		if _, still := is[key(by, item)]; !still {
			d.say("- ", path, "[", label(by, item), "]", rest(by, item))
		}
	}
	then, now := common(by, before, is), common(by, after, was)
	if !slices.EqualFunc(then, now, func(a, b wire.Value) bool { return key(by, a) == key(by, b) }) {
		d.say(path, ": order ", labels(by, then), " -> ", labels(by, now))
	}
}

// common returns the items that the other list has too.
func common(by []string, items []wire.Value, other map[[3]string]wire.Value) []wire.Value {
	return slices.DeleteFunc(slices.Clone(items), func(item wire.Value) bool {
		_, there := other[key(by, item)]
		return !there
	})
}

func labels(by []string, items []wire.Value) string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = label(by, item)
	}
	return strings.Join(all, ", ")
}

func index(by []string, items []wire.Value) map[[3]string]wire.Value {
	m := make(map[[3]string]wire.Value, len(items))
	for _, item := range items {
		m[key(by, item)] = item
	}
	return m
}

func fields(v wire.Value) map[string]wire.Value {
	m := make(map[string]wire.Value, len(v.Fields))
	for _, f := range v.Fields {
		m[f.Name] = f.Value
	}
	return m
}

// key is what an item is of; parts that are joined would collide.
func key(by []string, item wire.Value) (k [3]string) {
	all := fields(item)
	for i, name := range by {
		k[i] = all[name].Text
	}
	return k
}

// label is key for a person.
func label(by []string, item wire.Value) string {
	k := key(by, item)
	parts := make([]string, len(by))
	for i := range by {
		parts[i] = Show(k[i])
	}
	return strings.Join(parts, "/")
}

// rest is what else an item says, in brackets.
func rest(by []string, item wire.Value) string {
	var parts []string
	for _, f := range item.Fields {
		switch {
		case slices.Contains(by, f.Name):
		case f.Value.Kind == wire.Array:
			for _, inner := range f.Value.Items {
				parts = append(parts, f.Name+" "+label(identity[f.Name], inner)+rest(identity[f.Name], inner))
			}
		default:
			parts = append(parts, f.Name+" "+scalar(f.Value))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func scalar(v wire.Value) string {
	if v.Kind == wire.String {
		return Show(v.Text)
	}
	return string(wire.AppendValue(nil, wire.JSON, v))
}

// Show writes a text as it is if its ends can be seen within a line of ours, and
// in quotes if not.
func Show(s string) string {
	if s == "" || strings.TrimSpace(s) != s || strings.ContainsAny(s, `"\[]`) || strings.ContainsFunc(s, notShown) {
		return strconv.Quote(s)
	}
	return s
}

func notShown(r rune) bool { return !strconv.IsPrint(r) }
