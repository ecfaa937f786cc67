package openapitest

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is an OpenAPI document and what was seen of it.
type Document struct {
	root object

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	seen     map[string]bool // properties by place, see mark
}

type object = map[string]any

// location is the name the document has as a resource of JSON Schema.
const location = "file:///openapi.json"

// Load reads a document.
func Load(data []byte) (*Document, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	root, ok := v.(object)
	if !ok {
		return nil, fmt.Errorf("the document is no object")
	}
	d := &Document{root: root, compiler: jsonschema.NewCompiler(), seen: map[string]bool{}}
	d.compiler.AssertFormat()
	d.compiler.AssertContent()
	if err := d.compiler.AddResource(location, v); err != nil {
		return nil, err
	}
	return d, nil
}

// operation is one method of one path.
type operation struct {
	method, path string
	pointer      string // to its node
	node         object
}

// String is the method and the path, such as GET /api/quota/pools/{id}.
func (o *operation) String() string { return o.method + " " + o.path }

// methods are the fields of a path that are operations.
var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// Operations lists what the document has, each as "GET /path/{id}", sorted.
func (d *Document) Operations() []string {
	var list []string
	for _, o := range d.operations() {
		list = append(list, o.String())
	}
	slices.Sort(list)
	return list
}

func (d *Document) operations() (list []*operation) {
	paths, _ := d.root["paths"].(object)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item, _ := paths[path].(object)
		for _, method := range methods {
			if node, ok := item[method].(object); ok {
				list = append(list, &operation{strings.ToUpper(method), path, pointer("", "paths", path, method), node})
			}
		}
	}
	return list
}

// find returns the operation of a request, nil when there is none.
func (d *Document) find(method, path string) *operation {
	for _, o := range d.operations() {
		if o.method == method && matches(o.path, path) {
			return o
		}
	}
	return nil
}

// matches reports whether the escaped path is one of the template's.
func matches(template, path string) bool {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, have, func(w, h string) bool {
		return w == h || strings.HasPrefix(w, "{") && h != ""
	})
}

// parameters are those of the operation and those of its path.
func (d *Document) parameters(o *operation) (list []parameter) {
	for _, at := range []string{strings.TrimSuffix(o.pointer, "/"+strings.ToLower(o.method)), o.pointer} {
		node, _, _ := d.resolve(at)
		shared, _ := node.(object)
		items, _ := shared["parameters"].([]any)
		for i := range items {
			node, at, err := d.resolve(pointer(at, "parameters", fmt.Sprint(i)))
			if p, ok := node.(object); err == nil && ok {
				list = append(list, parameter{text(p, "name"), text(p, "in"), p["required"] == true, at})
			}
		}
	}
	return list
}

type parameter struct {
	name, in string
	required bool
	pointer  string
}

// pointer adds names to a JSON pointer.
func pointer(at string, names ...string) string {
	for _, name := range names {
		at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	return at
}

// resolve returns what the pointer points to. References on the way are
// followed, and at is the pointer without them.
func (d *Document) resolve(where string) (node any, at string, err error) {
	node = d.root
	for _, name := range strings.Split(where, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch n := node.(type) {
		case object:
			node = n[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(n) {
				return nil, "", fmt.Errorf("%s: there is no item %s", where, name)
			}
			node = n[i]
		}
		at = pointer(at, name)
		if node == nil {
			return nil, "", fmt.Errorf("%s leads nowhere", where)
		}
		if n, ok := node.(object); ok {
			if ref := text(n, "$ref"); ref != "" && len(n) == 1 {
				if node, at, err = d.resolve(strings.TrimPrefix(ref, "#")); err != nil {
					return nil, "", err
				}
			}
		}
	}
	return node, at, nil
}

func text(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

// schema compiles the schema at the pointer.
func (d *Document) schema(at string) (*jsonschema.Schema, error) {
	return d.compiler.Compile(location + (&url.URL{Fragment: at}).String())
}
