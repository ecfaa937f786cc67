package schemas

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/quotashare/quotashare/wire"
)

// Base begins the $id of every schema. It is a name, and nothing has to be there.
const Base = "https://github.com/quotashare/quotashare/schemas/"

//go:embed *.json
var files embed.FS

const (
	extension = ".json"
	asyncAPI  = "asyncapi" // no schema, and in its own form
	defs      = "$defs"
)

// Names returns the names of the schemas, without .json, sorted.
func Names() (names []string) {
	entries, _ := files.ReadDir(".") // the root of what is embedded is always there
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), extension); name != asyncAPI {
			names = append(names, name)
		}
	}
	return names
}

// Open returns the schema of that name as it is written; ok is false when there is
// none.
func Open(name string) (data []byte, ok bool) {
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	data, err := files.ReadFile(name + extension)
	return data, err == nil
}

// part is one schema that others may refer to: a file, or one of its $defs.
type part struct {
	file string // without .json
	body wire.Value
}

// parts are all of them by name: the title of a file, and the names of its $defs.
var parts = sync.OnceValues(func() (map[string]part, error) {
	all := map[string]part{}
	for _, file := range Names() {
		v, err := parse(file)
		if err != nil {
			return nil, err
		}
		own := []wire.Field{{Name: field(v, "title").Text, Value: v}}
		for _, f := range append(own, field(v, defs).Fields...) {
			if _, twice := all[f.Name]; twice {
				return nil, fmt.Errorf("%s%s: %s is defined in another file too", file, extension, f.Name)
			}
			all[f.Name] = part{file, f.Value}
		}
	}
	return all, nil
})

func parse(file string) (wire.Value, error) {
	data, err := files.ReadFile(file + extension)
	if err != nil {
		return wire.Value{}, err
	}
	v, err := wire.ParseJSON(data) // finds what a file has twice
	if err != nil {
		return v, fmt.Errorf("%s%s: %w", file, extension, err)
	}
	return v, nil
}

// field returns a field of the object, an absent value when it has none.
func field(v wire.Value, name string) wire.Value {
	for _, f := range v.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return wire.Value{}
}

// ofFile is what a schema says as a file, and does not as a part of a document.
var ofFile = []string{"$schema", "$id", "title", defs, "examples"}

// embedded returns the schema as a component: references to files become
// references to components, which have the names of parts.
func (p part) embedded() (wire.Value, error) {
	own := wire.Value{Kind: wire.Object}
	for _, f := range p.body.Fields {
		if !slices.Contains(ofFile, f.Name) {
			own.Fields = append(own.Fields, f)
		}
	}
	return p.rewritten(own)
}

func (p part) rewritten(v wire.Value) (wire.Value, error) {
	var err error
	v.Fields, v.Items = slices.Clone(v.Fields), slices.Clone(v.Items)
	for i, f := range v.Fields {
		if f.Name == "$ref" {
			f.Value.Text, err = p.component(f.Value.Text)
		} else {
			f.Value, err = p.rewritten(f.Value)
		}
		if err != nil {
			return v, err
		}
		v.Fields[i] = f
	}
	for i := range v.Items {
		if v.Items[i], err = p.rewritten(v.Items[i]); err != nil {
			return v, err
		}
	}
	return v, nil
}

// component returns the reference to the component that is what ref refers to.
func (p part) component(ref string) (string, error) {
	file, fragment, _ := strings.Cut(ref, "#")
	if file == "" {
		file = p.file + extension
	}
	if fragment != "" {
		return componentPrefix + path.Base(fragment), nil
	}
	v, err := parse(strings.TrimSuffix(file, extension))
	if err != nil {
		return "", fmt.Errorf("%s%s: $ref %s: %w", p.file, extension, ref, err)
	}
	return componentPrefix + field(v, "title").Text, nil
}
