package httpapi

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/quotashare/quotashare/schemas"
	"github.com/quotashare/quotashare/wire"
)

// openAPIParts are the OpenAPI document, one file a subject: base.json has what
// all share. Written by hand, since what a field means is in no type; tests hold
// it against the routes and against every answer that the transcripts show. What is
// on NATS too is in package schemas, and only referred to here.
//
//go:embed openapi/*.json
var openAPIParts embed.FS

// versionMark stands in the parts where the program's version belongs.
const versionMark = `"VERSION"`

// openAPI serves the document that says what this API is.
func (a *api) openAPI(w http.ResponseWriter, _ *http.Request) error {
	writeBody(w, http.StatusOK, "application/json", a.document)
	return nil
}

func openAPIDocument(version string) ([]byte, error) {
	parts, err := fs.Sub(openAPIParts, "openapi")
	if err != nil {
		return nil, err
	}
	whole, err := joinParts(parts)
	if err != nil {
		return nil, err
	}
	if err := schemas.Complete(&whole); err != nil {
		return nil, err
	}
	doc := append(wire.AppendValue(nil, wire.JSON, whole), '\n')
	return bytes.Replace(doc, []byte(versionMark), wire.AppendJSONString(nil, version), 1), nil
}

// joinParts makes one document of all JSON files of a directory, in the order of
// their names. What two of them define is an error: one would silently win.
func joinParts(parts fs.FS) (whole wire.Value, err error) {
	names, err := fs.Glob(parts, "*.json")
	if err != nil {
		return whole, err
	}
	whole.Kind = wire.Object
	for _, name := range names {
		data, err := fs.ReadFile(parts, name)
		if err != nil {
			return whole, err
		}
		part, err := wire.ParseJSON(data) // finds what one file has twice
		if err != nil {
			return whole, fmt.Errorf("%s: %w", name, err)
		}
		if err := join(&whole, part, ""); err != nil {
			return whole, fmt.Errorf("%s: %w", name, err)
		}
	}
	return whole, nil
}

// join adds the fields of part to those of whole; path is where both are.
func join(whole *wire.Value, part wire.Value, path string) error {
	for _, f := range part.Fields {
		at := path + "/" + f.Name
		have := find(whole.Fields, f.Name)
		switch {
		case have == nil:
			whole.Fields = append(whole.Fields, f)
		case !isShared(at):
			return fmt.Errorf("%s is defined in another file too", at)
		default:
			if err := join(have, f.Value, at); err != nil {
				return err
			}
		}
	}
	return nil
}

func find(fields []wire.Field, name string) *wire.Value {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i].Value
		}
	}
	return nil
}

// isShared reports whether several files may add to the object at the path: the
// list of paths, and each list of components.
func isShared(path string) bool {
	list, isList := strings.CutPrefix(path, "/components/")
	return path == "/paths" || path == "/components" || isList && !strings.Contains(list, "/")
}
