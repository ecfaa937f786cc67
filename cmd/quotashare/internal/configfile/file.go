package configfile

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/quotashare/quotashare/wire"
)

// The sections of a file, by the names that they have in it.
const (
	Pools    = "pools"
	Plans    = "plans"
	Settings = "settings"
)

var sections = []string{Pools, Plans, Settings}

// File is a file that was read. Its sections are checked when they are asked
// for: who applies pools is not held up by a fault among the plans.
type File struct {
	parsed
	has map[string]item
}

// item is a value of the file, and its path.
type item struct {
	value wire.Value
	path  string
}

// Read reads a file's form: its grammar, and which sections it has. What is
// wrong with a single value is said with the faults of a section.
func Read(data []byte) (*File, error) {
	p, err := parse(data)
	if err != nil {
		return nil, err
	}
	f := &File{p, map[string]item{}}
	switch {
	case p.root.Kind == wire.Array, onePool(p.root):
		f.has[Pools] = item{p.root, ""}
	case p.root.Kind != wire.Object:
		return nil, fmt.Errorf("the file is %s: it begins with pools, plans or settings and a colon", p.root.Kind)
	default:
		f.split()
	}
	return f, nil
}

// onePool tells a pool document from a mapping of sections.
func onePool(v wire.Value) bool {
	sectioned, named := false, false
	for _, f := range v.Fields {
		sectioned = sectioned || slices.Contains(sections, f.Name)
		named = named || f.Name == "id" || f.Name == "name" || f.Name == "provider"
	}
	return named && !sectioned
}

func (f *File) split() {
	for _, field := range f.root.Fields {
		switch {
		case !slices.Contains(sections, field.Name):
			f.faults.Add(wire.Show(field.Name), "is unknown: use pools, plans and settings")
		case field.Value.Kind != wire.Null:
			f.has[field.Name] = item{field.Value, field.Name}
		}
	}
}

// Others returns the sections that the file has beside the one. What has no name
// is no other section: a list alone may be meant for the one that was asked for.
func (f *File) Others(section string) []string {
	return slices.DeleteFunc(slices.Clone(sections), func(s string) bool {
		it, there := f.has[s]
		return s == section || !there || it.path == ""
	})
}

// section returns the section, an error when the file has none.
func (f *File) section(name string) (item, error) {
	it, there := f.has[name]
	switch {
	case there:
		return it, nil
	case len(f.faults) > 0: // a section's name may be misspelt
		return item{}, f.err(nil)
	case f.root.Kind == wire.Array:
		return item{}, fmt.Errorf("the file is a list alone: write %s: above it, as quotashare %s export does", name, name)
	}
	return item{}, fmt.Errorf("the file has no %s: write them below %s:, as quotashare %s export does", name, name, name)
}

// list returns the items of a section, which is a list or, of pools, the one
// document.
func (it item) list(faults *wire.Faults) []item {
	if it.value.Kind == wire.Object && it.path == "" {
		return []item{it}
	}
	if it.value.Kind != wire.Array {
		faults.Add(it.path, "is "+it.value.Kind.String()+", not a list")
	}
	items := make([]item, len(it.value.Items))
	for i, v := range it.value.Items {
		items[i] = item{v, it.path + "[" + strconv.Itoa(i) + "]"}
	}
	return items
}
