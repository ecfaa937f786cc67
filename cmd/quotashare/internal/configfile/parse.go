package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quotashare/quotashare/wire"
)

// parsed is a file's document, and the lines of its values by path; JSON has no
// lines. Faults are those of its form: with them in it the document can still be
// looked through for others, so that all are said at once.
type parsed struct {
	root   wire.Value
	lines  map[string]int
	faults wire.Faults
}

var errEmpty = errors.New("the file is empty")

// parse reads JSON or YAML. What begins like JSON is read as JSON: YAML is said
// to contain it, and its readers do not know all of its escapes. If that fails
// on the grammar it may still be YAML's flow style, and if it is neither, the
// error of YAML has a line.
func parse(data []byte) (parsed, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	text := bytes.TrimLeft(data, " \t\r\n")
	if len(text) == 0 {
		return parsed{}, errEmpty
	}
	if text[0] == '{' || text[0] == '[' {
		v, err := wire.ParseJSON(data)
		if !errors.As(err, new(*wire.SyntaxError)) {
			return parsed{root: v}, err
		}
	}
	return parseYAML(data)
}

// parseYAML reads YAML. If that fails it may be for stars without quotes; then
// they are faults among the others that the file has.
func parseYAML(data []byte) (parsed, error) {
	tree, err := treeOf(data)
	if err == nil {
		return readTree(tree, nil)
	}
	quoted, stars := quoteStars(data)
	if tree, _ = treeOf(quoted); tree == nil {
		return parsed{}, suspect(err, stars)
	}
	// Without a fault no star was to blame, and what was quoted must not pass.
	p, deeper := readTree(tree, stars)
	if deeper == nil && len(p.faults) == 0 {
		deeper = err
	}
	return p, deeper
}

// suspect adds to an error that may be for a star, or for something else, where
// the first one is.
func suspect(err error, stars map[place]bool) error {
	first := math.MaxInt
	for at := range stars {
		first = min(first, at.line)
	}
	if len(stars) == 0 {
		return err
	}
	return fmt.Errorf("%w (there is a * without quotes in line %d: put * in quotes)", err, first)
}

func readTree(tree *yaml.Node, stars map[place]bool) (parsed, error) {
	r := yamlReader{stars: stars, lines: map[string]int{}}
	root, err := r.value(tree, "")
	return parsed{root, r.lines, r.faults}, err
}

// treeOf is the one document of the text.
func treeOf(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, errEmpty
	case err != nil:
		return nil, err
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, errors.New("the file has more than one document: put them into one, or into several files"))
	}
	return doc.Content[0], nil
}

// yamlReader makes a wire.Value of a YAML tree.
type yamlReader struct {
	stars  map[place]bool // where a quoted star had no quotes
	lines  map[string]int
	faults wire.Faults
	depth  int
	values int
	within int // so many aliases: what is there has been seen, or will be, under its own path
}

// value takes an alias for what it stands for. The bounds of depth and number,
// those of every document, stop one that stands for itself, or for many others
// that stand for many others.
func (r *yamlReader) value(n *yaml.Node, path string) (wire.Value, error) {
	if r.values++; r.values > wire.MaxValues {
		return wire.Value{}, wire.ErrValues
	}
	if r.depth++; r.depth > wire.MaxDepth {
		return wire.Value{}, wire.ErrDepth
	}
	defer func() { r.depth-- }()
	r.at(path, n)
	switch n.Kind {
	case yaml.AliasNode:
		r.within++
		defer func() { r.within-- }()
		return r.value(n.Alias, path)
	case yaml.SequenceNode:
		return r.sequence(n, path)
	case yaml.MappingNode:
		return r.mapping(n, path)
	}
	return r.scalar(n, path), nil
}

// at remembers the line of the path: that of its name, when it has one.
func (r *yamlReader) at(path string, n *yaml.Node) {
	if _, named := r.lines[path]; !named && r.within == 0 {
		r.lines[path] = n.Line
	}
}

func (r *yamlReader) sequence(n *yaml.Node, path string) (wire.Value, error) {
	v := wire.Value{Kind: wire.Array}
	for i, item := range n.Content {
		value, err := r.value(item, path+"["+strconv.Itoa(i)+"]")
		if err != nil {
			return v, err
		}
		v.Items = append(v.Items, value)
	}
	return v, nil
}

func (r *yamlReader) mapping(n *yaml.Node, path string) (wire.Value, error) {
	v := wire.Value{Kind: wire.Object}
	first := map[string]int{} // the line of each name
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		field := join(path, key.Value)
		r.at(field, key)
		switch line, twice := first[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.faults.Add(path, "has a field whose name is no word")
			continue
		case key.ShortTag() == "!!merge":
			r.faults.Add(field, "merges, which is not done here: use an alias (*name) for a whole value")
			continue
		case twice:
			r.faults.Add(field, fmt.Sprintf("is there twice, in lines %d and %d: keep one", line, key.Line))
			continue
		}
		first[key.Value] = key.Line
		value, err := r.value(n.Content[i+1], field)
		if err != nil {
			return v, err
		}
		v.Fields = append(v.Fields, wire.Field{Name: key.Value, Value: value})
	}
	return v, nil
}

// scalar tells the kind of a scalar as YAML 1.2 does: yes, no, on and off are
// words. A time stays the text it is, for the reader of the field to judge.
func (r *yamlReader) scalar(n *yaml.Node, path string) wire.Value {
	switch n.ShortTag() {
	case "!!null":
		return wire.Value{Kind: wire.Null}
	case "!!bool":
		return wire.Value{Kind: wire.Bool, Bool: strings.EqualFold(n.Value, "true")}
	case "!!int", "!!float":
		return r.number(n, path)
	case "!!str", "!!timestamp":
		if r.stars[place{n.Line, n.Column}] {
			r.faults.Add(path, fmt.Sprintf("is %s without quotes, an alias of YAML that nothing here defines: put %[1]s in quotes, %[1]q", n.Value))
		}
		return wire.Value{Kind: wire.String, Text: n.Value}
	}
	r.faults.Add(path, "has the tag "+n.Tag+", which nothing here has: leave it out")
	return wire.Value{}
}

// number takes decimal digits alone. What else YAML has for numbers means
// different things to its versions (010 is ten, or eight), and nothing is lost
// by writing ten as 10.
func (r *yamlReader) number(n *yaml.Node, path string) wire.Value {
	v, err := wire.ParseJSON([]byte(n.Value))
	if err != nil || v.Kind != wire.Number {
		r.faults.Add(path, "is "+n.Value+": write a number in plain decimal digits, and a name that looks like a number in quotes")
		return wire.Value{Kind: wire.Number, Text: "0"}
	}
	return v
}

// join is the path of a field of the object at path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
