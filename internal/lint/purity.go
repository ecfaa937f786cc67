package lint

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// Pure are the packages in which everything is a function of its arguments, so
// that a replay of the same log gives the same bits on every machine.
var Pure = []string{"quota", "wire", "events", "windows", "plans", "fairshare", "fairshare/guarantee", "questions", "usage", "saturation", "routing", "dialect", "answers", "explanation", "whatif", "snapshots", "snapshots/retention", "replay", "lab/chart"}

// pureImports is what of the standard library a pure package may use, and all
// it may use. A list of what is forbidden would have to be kept up with every
// release of Go.
var pureImports = []string{
	"bufio", "bytes", "cmp", "crypto/sha256", "encoding/base64", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt", "hash", "hash/crc32",
	"io", // the interfaces, for the decoder of the standard library
	"iter", "maps", "math", "math/bits", "net/url", "slices", "sort", "strconv", "strings",
	"time", // instants as text; its clock is forbidden below
	"unicode", "unicode/utf16", "unicode/utf8",
}

// pureModules are the outside modules that a pure package may use. Both turn bytes into
// other bytes.
var pureModules = []string{"github.com/vmihailenco/msgpack/v5", "github.com/klauspost/compress"}

// clock are the functions of package time that read one or wait for one.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// floats are what of other packages deals in them.
var floats = []string{
	"ParseFloat", "FormatFloat", "AppendFloat", "Float32frombits", "Float64frombits", "Float32bits", "Float64bits",
}

// Exception is a place where a rule does not hold, and why: a function with
// floats, the import of one file or of a package, a call that leaves a test out.
type Exception struct {
	Path, What string
	Since      string
}

// Exceptions are the only ones there are.
var Exceptions = []Exception{
	{"wire/msgpack.go", "float", "msgpack senders have floats; they become their shortest decimal here and go no further"},
	{"wire/scanmsgpack.go", "msgpackFloat", "the same, in the fast reader"},
	{"e2e/import_test.go", "Skipf", "the trace it reads is public, and not ours to copy"},
	{"questions/request.go", "unsafe", "the scanner reads a string; a copy would be the only allocation of a question"},
	{"answers", "projector", "what it uses is the state and its views, which TestTheFoldReadsNoClock looks at; the loop is for programs"},
	{"replay", "projector", "the same, and the fold"},
	{"replay", "snapshots/snapdir", "an open snapshot is a reader that is handed in, as the log and the store are"},
	{"replay", "snapshots/projected", "it puts that reader's records into that store"},
	{"replay", "context", "who asked may give it up; what waits and can be given up is the Source, which is handed in"},
	{"lab", "context", "who asked for a run may give it up"},
	{"lab", "math/rand/v2", "the source of chance is an argument, so that a seed gives the same run everywhere"},
	{"replay/step.go", "golang.org/x/sync/errgroup", "decoding runs beside the fold; messages are folded one by one in their order, so the state does not depend on who is faster"},
}

// CheckPurity finds clocks, IO, logging, randomness, goroutines and floats in a
// file of a pure package.
func CheckPurity(f *File) []Finding {
	all := impureImports(f)
	for _, decl := range f.AST.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && excepted(f.Path, fn.Name.Name) {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if text := impure(n); text != "" {
				all = append(all, f.find(n.Pos(), "%s", text))
			}
			return true
		})
	}
	return all
}

// CheckClock finds reads of a clock alone, for packages that do IO in some
// files and must not in others.
func CheckClock(f *File) []Finding {
	var all []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if name := clockRead(n); name != "" {
			all = append(all, f.find(n.Pos(), "time.%s: time is an argument here", name))
		}
		return true
	})
	return all
}

func impureImports(f *File) []Finding {
	var all []Finding
	for imported, pos := range f.imports() {
		if !pureImport(imported) && !excepted(f.Path, ownOf(imported)) && !excepted(path.Dir(f.Path), ownOf(imported)) {
			all = append(all, f.find(pos, "a pure package must not import %s", imported))
		}
	}
	return all
}

// pureImport reports whether what is imported does nothing but compute: a pure package
// that called an impure one would be none.
func pureImport(imported string) bool {
	switch own, ours := strings.CutPrefix(imported, Module+"/"); {
	case ours:
		return slices.Contains(Pure, own)
	case strings.Contains(strings.Split(imported, "/")[0], "."):
		return within(imported, pureModules)
	default:
		return slices.Contains(pureImports, imported)
	}
}

// ownOf is what an import is called in Exceptions.
func ownOf(imported string) string { return strings.TrimPrefix(imported, Module+"/") }

func impure(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "go: a pure package starts nothing"
	case *ast.BasicLit:
		if n.Kind == token.FLOAT && !wholeLiteral(n.Value) {
			return n.Value + ": no float near an amount"
		}
	case *ast.Ident:
		if n.Name == "float64" || n.Name == "float32" {
			return n.Name + ": no float near an amount"
		}
	case *ast.SelectorExpr:
		if slices.Contains(floats, n.Sel.Name) {
			return n.Sel.Name + ": no float near an amount"
		}
		if name := clockRead(n); name != "" {
			return "time." + name + ": time is an argument here"
		}
	}
	return ""
}

// wholeLiteral reports whether a literal in float notation is a whole number,
// as 1e6 is: Go makes an exact integer constant of it.
func wholeLiteral(text string) bool {
	return !strings.ContainsAny(text, ".-pP")
}

func clockRead(n ast.Node) string {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, sel.Sel.Name) {
		return sel.Sel.Name
	}
	return ""
}

func excepted(path, what string) bool {
	return slices.ContainsFunc(Exceptions, func(e Exception) bool { return e.Path == path && e.What == what })
}
