package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Module is the path that our own imports begin with.
const Module = "github.com/quotashare/quotashare"

// File is one parsed Go file.
type File struct {
	Path  string // within the module, with slashes
	Lines int
	Test  bool
	AST   *ast.File
	fset  *token.FileSet
}

// Package is the Go files of one directory.
type Package struct {
	Dir   string // within the module, with slashes
	Files []*File
}

// Finding is one place where a rule is broken.
type Finding struct {
	Path string
	Line int
	Text string
}

// String has the form that editors jump to.
func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text) }

// find makes a finding at a place of the file.
func (f *File) find(pos token.Pos, format string, args ...any) Finding {
	return Finding{Path: f.Path, Line: f.fset.Position(pos).Line, Text: fmt.Sprintf(format, args...)}
}

// Parse reads one Go file from its text.
func Parse(path string, text []byte) (*File, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &File{
		Path: path, Lines: strings.Count(string(text), "\n"), Test: strings.HasSuffix(path, "_test.go"), AST: tree, fset: fset,
	}, nil
}

// Load reads every Go file below root, package by package, in the order of
// their directories. Directories that the go command ignores are left out.
func Load(root string) ([]Package, error) {
	byDir := map[string]*Package{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		return add(byDir, root, path)
	})
	if err != nil {
		return nil, err
	}
	var all []Package
	for _, p := range byDir {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Package) int { return strings.Compare(a.Dir, b.Dir) })
	return all, nil
}

func add(byDir map[string]*Package, root, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	f, err := Parse(filepath.ToSlash(rel), text)
	if err != nil {
		return err
	}
	dir := filepath.ToSlash(filepath.Dir(rel))
	if byDir[dir] == nil {
		byDir[dir] = &Package{Dir: dir}
	}
	byDir[dir].Files = append(byDir[dir].Files, f)
	return nil
}

// imports returns the paths a file imports, each with its place.
func (f *File) imports() map[string]token.Pos {
	all := map[string]token.Pos{}
	for _, spec := range f.AST.Imports {
		all[strings.Trim(spec.Path.Value, `"`)] = spec.Pos()
	}
	return all
}
