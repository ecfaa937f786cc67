package configfile

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quotashare/quotashare/wire"
)

// Encode returns the file with one section, in YAML or JSON.
func Encode(section string, v wire.Value, asJSON bool) ([]byte, error) {
	doc := wire.Value{Kind: wire.Object, Fields: []wire.Field{{Name: section, Value: v}}}
	var out bytes.Buffer
	if asJSON {
		err := json.Indent(&out, wire.AppendValue(nil, wire.JSON, doc), "", "  ")
		out.WriteByte('\n')
		return out.Bytes(), err
	}
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	err := enc.Encode(node(doc))
	return out.Bytes(), err
}

// node makes a YAML tree of a value. What has no lists and objects within goes
// on one line, so that a pool's keys read like a table.
func node(v wire.Value) *yaml.Node {
	switch v.Kind {
	case wire.Object:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, f := range v.Fields {
			n.Content = append(n.Content, text(f.Name), node(f.Value))
		}
		return n
	case wire.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v.Items {
			child := node(item)
			if flat(item) {
				child.Style = yaml.FlowStyle
			}
			n.Content = append(n.Content, child)
		}
		if len(v.Items) == 0 {
			n.Style = yaml.FlowStyle // there is no other way to write none
		}
		return n
	case wire.String:
		return text(v.Text)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(wire.AppendValue(nil, wire.JSON, v))}
}

func flat(v wire.Value) bool {
	for _, f := range v.Fields {
		if f.Value.Kind == wire.Object || f.Value.Kind == wire.Array {
			return false
		}
	}
	return v.Kind == wire.Object
}

// word is a text that every reader of YAML takes for the text it is, our window
// 5h among them; reserved are the words that some take for something else.
var (
	word     = regexp.MustCompile(`^(5h|[A-Za-z_][A-Za-z0-9_./@-]*( [A-Za-z0-9_./@-]+)*)$`)
	reserved = map[string]bool{"null": true, "true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true}
)

// text writes a string plainly only if nobody could misread it. The library
// would quote what it reads as something else itself, and not what readers of
// YAML 1.1 do.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	if word.MatchString(s) && !reserved[strings.ToLower(s)] {
		n.Style = 0
	}
	return n
}
