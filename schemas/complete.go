package schemas

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/wire"
)

// componentPrefix begins references to schemas in OpenAPI and AsyncAPI documents.
const componentPrefix = "#/components/schemas/"

// Complete adds to the schemas of an OpenAPI or AsyncAPI document those of this
// package that it refers to, and that these refer to. It errs when the document
// refers to what is in neither, and when both define a name: one would silently win.
func Complete(doc *wire.Value) error {
	all, err := parts()
	if err != nil {
		return err
	}
	list := place(place(doc, "components"), "schemas")
	for _, f := range list.Fields {
		if _, ours := all[f.Name]; ours {
			return fmt.Errorf("%s%s is defined in package schemas too: refer to it", componentPrefix, f.Name)
		}
	}
	wanted := references(*doc, nil)
	for len(wanted) > 0 {
		name := wanted[0]
		wanted = wanted[1:]
		if field(*list, name).Kind != wire.Absent {
			continue
		}
		p, ok := all[name]
		if !ok {
			return fmt.Errorf("%s%s is defined nowhere", componentPrefix, name)
		}
		body, err := p.embedded()
		if err != nil {
			return err
		}
		list.Fields = append(list.Fields, wire.Field{Name: name, Value: body})
		wanted = references(body, wanted)
	}
	return nil
}

// place returns the object of that name within the object, which is made when there
// is none.
func place(v *wire.Value, name string) *wire.Value {
	at := slices.IndexFunc(v.Fields, func(f wire.Field) bool { return f.Name == name })
	if at < 0 {
		at = len(v.Fields)
		v.Fields = append(v.Fields, wire.Field{Name: name, Value: wire.Value{Kind: wire.Object}})
	}
	return &v.Fields[at].Value
}

// references appends the names of the components that the value refers to.
func references(v wire.Value, names []string) []string {
	for _, f := range v.Fields {
		name, found := strings.CutPrefix(f.Value.Text, componentPrefix)
		if f.Name == "$ref" && found {
			names = append(names, name)
		}
		names = references(f.Value, names)
	}
	for _, item := range v.Items {
		names = references(item, names)
	}
	return names
}

// versionMark stands in the AsyncAPI document where the program's version belongs.
const versionMark = `"VERSION"`

// AsyncAPI returns the AsyncAPI document with all schemas in it, so that it is whole
// wherever it is put; version is that of the program.
func AsyncAPI(version string) ([]byte, error) {
	doc, err := parse(asyncAPI)
	if err != nil {
		return nil, err
	}
	if err := Complete(&doc); err != nil {
		return nil, err
	}
	data := append(wire.AppendValue(nil, wire.JSON, doc), '\n')
	return bytes.Replace(data, []byte(versionMark), wire.AppendJSONString(nil, version), 1), nil
}
