package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// The sizes that hold for every file, tests too. What does not fit is two
// things.
const (
	MaxFileLines = 500
	MaxFuncLines = 70
)

// CheckSizes finds files and functions that are too long.
func CheckSizes(f *File) []Finding {
	var all []Finding
	if f.Lines > MaxFileLines {
		all = append(all, f.find(f.AST.Name.Pos(), "%d lines, more than %d", f.Lines, MaxFileLines))
	}
	for _, decl := range f.AST.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1
		if lines > MaxFuncLines {
			all = append(all, f.find(fn.Pos(), "%s has %d lines, more than %d", fn.Name.Name, lines, MaxFuncLines))
		}
	}
	return all
}

// CheckTests finds tests that sleep or leave themselves out. A sleep is too
// long on a fast machine and too short on a slow one; in a bubble of synctest
// it costs nothing and means something else. A skipped test is green.
func CheckTests(f *File) []Finding {
	_, bubble := f.imports()["testing/synctest"]
	var all []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		switch {
		case !ok:
		case x.Name == "time" && sel.Sel.Name == "Sleep" && !bubble:
			all = append(all, f.find(n.Pos(), "time.Sleep: wait for an event, not for a time"))
		case slices.Contains(testNames, x.Name) && strings.HasPrefix(sel.Sel.Name, "Skip") && !excepted(f.Path, sel.Sel.Name):
			all = append(all, f.find(n.Pos(), "%s.%s: a skipped test is green", x.Name, sel.Sel.Name))
		}
		return true
	})
	return all
}

// testNames are what *testing.T and its like are called.
var testNames = []string{"t", "b", "f", "tb"}

// CheckPackageDoc finds a package without a sentence that says what it is.
func CheckPackageDoc(p Package) []Finding {
	for _, f := range p.Files {
		want := "Package " + f.AST.Name.Name + " "
		if f.AST.Name.Name == "main" {
			want = "Command " + p.Dir[strings.LastIndex(p.Dir, "/")+1:] + " "
		}
		if !f.Test && f.AST.Doc != nil && strings.HasPrefix(f.AST.Doc.Text(), want) {
			return nil
		}
	}
	f := p.Files[0]
	if f.Test { // a package of tests alone has nobody to explain itself to
		return nil
	}
	return []Finding{f.find(f.AST.Name.Pos(), "package %s has no doc comment", p.Dir)}
}

// CheckDocs finds exported names without a doc comment. A group of constants
// or variables may have one for all.
func CheckDocs(f *File) []Finding {
	var all []Finding
	for _, decl := range f.AST.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
				all = append(all, f.find(d.Pos(), "%s has no doc comment", d.Name.Name))
			}
		case *ast.GenDecl:
			if d.Doc == nil && d.Tok != token.IMPORT {
				all = append(all, undocumented(f, d)...)
			}
		}
	}
	return all
}

func undocumented(f *File, d *ast.GenDecl) []Finding {
	var all []Finding
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil {
				all = append(all, f.find(s.Pos(), "%s has no doc comment", s.Name.Name))
			}
		case *ast.ValueSpec:
			if s.Names[0].IsExported() && s.Doc == nil && s.Comment == nil {
				all = append(all, f.find(s.Pos(), "%s has no doc comment", s.Names[0].Name))
			}
		}
	}
	return all
}

// exportedReceiver reports whether a function, or the type it is a method of,
// can be seen from outside.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	name, ok := t.(*ast.Ident)
	return ok && name.IsExported()
}
