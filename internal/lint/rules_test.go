package lint

import (
	"slices"
	"strings"
	"testing"
)

// parse makes a package of one file.
func parse(t *testing.T, path, text string) (Package, *File) {
	t.Helper()
	f, err := Parse(path, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	dir := path[:strings.LastIndex(path, "/")]
	return Package{Dir: dir, Files: []*File{f}}, f
}

func want(t *testing.T, got []Finding, texts ...string) {
	t.Helper()
	if len(got) != len(texts) {
		t.Errorf("found %v, want %q", got, texts)
		return
	}
	for _, text := range texts {
		if !slices.ContainsFunc(got, func(f Finding) bool { return strings.Contains(f.String(), text) }) {
			t.Errorf("found %v, want %q", got, text)
		}
	}
}

func importing(name string, paths ...string) string {
	text := "package " + name + "\n"
	for _, p := range paths {
		text += `import _ "` + p + "\"\n"
	}
	return text
}

func TestBoundariesFindWhatCrossesThem(t *testing.T) {
	const own = Module + "/"
	tests := []struct {
		path, text string
		want       []string
	}{
		{"fairshare/a.go", importing("fairshare", own+"plans", own+"quota", "strings"), nil},
		{"fairshare/a.go", importing("fairshare", own+"projector"), []string{"fairshare/a.go:2: fairshare must not import projector: a judgement"}},
		{"fairshare/a_test.go", importing("fairshare", own+"projector"), nil},
		{"quota/a.go", importing("quota", own+"wire"), []string{"quota must not import wire"}},
		{"natsapi/a.go", importing("natsapi", "github.com/nats-io/nats-server/v2/server"), []string{"only the owner of the log"}},
		{"natsapi/a.go", importing("natsapi", "github.com/nats-io/nats.go"), nil},
		{"ingest/a.go", importing("ingest", "github.com/nats-io/nats-server/v2/server"), nil},
		{"decider/a.go", importing("decider", "github.com/alecthomas/kong"), []string{"command lines belong to programs"}},
		{"cmd/decider/a.go", importing("main", "github.com/alecthomas/kong", own+"decider", own+"ingest"), nil},
		{"misc/a.go", importing("misc"), []string{"package misc has no boundary"}},
	}
	for _, tt := range tests {
		p, _ := parse(t, tt.path, tt.text)
		want(t, CheckImports(p), tt.want...)
	}
}

func TestPurityFindsWhatIsImpure(t *testing.T) {
	tests := []struct {
		path, body string
		want       []string
	}{
		{"quota/a.go", "func f(now int64) int64 { return now + 1e6 }", nil},
		{"quota/a.go", "func f() { _ = time.UnixMilli(1) }", nil},
		{"quota/a.go", "func f() { _ = time.Now() }", []string{"quota/a.go:2: time.Now: time is an argument"}},
		{"quota/a.go", "var now = time.Now", []string{"time.Now"}},
		{"quota/a.go", "func f() { time.Sleep(1) }", []string{"time.Sleep"}},
		{"quota/a.go", "func f() { go f() }", []string{"starts nothing"}},
		{"quota/a.go", "var x float64", []string{"float64: no float"}},
		{"quota/a.go", "var x = 0.5", []string{"0.5: no float"}},
		{"quota/a.go", "var x = 1e-3", []string{"1e-3: no float"}},
		{"quota/a.go", "var x = strconv.ParseFloat", []string{"ParseFloat: no float"}},
		{"wire/msgpack.go", "func (p *parser) float() { var x float64; _ = x }", nil},
		{"wire/msgpack.go", "func (p *parser) other() { var x float64; _ = x }", []string{"float64"}},
	}
	for _, tt := range tests {
		_, f := parse(t, tt.path, "package p\n"+tt.body)
		want(t, CheckPurity(f), tt.want...)
	}
	for _, path := range []string{"os", "net/http", "log/slog", "math/rand/v2", "crypto/rand", "context", "sync"} {
		_, f := parse(t, "quota/a.go", importing("quota", path))
		want(t, CheckPurity(f), "must not import "+path)
	}
	_, f := parse(t, "questions/request.go", importing("questions", "unsafe"))
	want(t, CheckPurity(f))
	_, f = parse(t, "questions/other.go", importing("questions", "unsafe"))
	want(t, CheckPurity(f), "must not import unsafe")
	_, f = parse(t, "quota/a.go", importing("quota", "strings", "github.com/vmihailenco/msgpack/v5", "github.com/vmihailenco/msgpack/v5/msgpcode"))
	want(t, CheckPurity(f))
}

// TestAPurePackageUsesPureOnes: what calls the impure is impure, whoever wrote it.
func TestAPurePackageUsesPureOnes(t *testing.T) {
	tests := []struct{ path, imports, want string }{
		{"fairshare/a.go", Module + "/plans", ""},
		{"fairshare/a.go", Module + "/ingest", "must not import " + Module + "/ingest"},
		{"fairshare/a.go", Module + "/projector", "must not import " + Module + "/projector"},
		{"answers/a.go", Module + "/projector", ""},
		{"replay/a.go", "github.com/nats-io/nats.go", "must not import github.com/nats-io/nats.go"},
		{"replay/a.go", "context", ""},
		{"replay/a.go", "os", "must not import os"},
		{"replay/step.go", "golang.org/x/sync/errgroup", ""},
		{"replay/a.go", "golang.org/x/sync/errgroup", "must not import golang.org/x/sync/errgroup"},
		{"replay/livelog/a.go", "context", "must not import context"}, // were it pure
	}
	for _, tt := range tests {
		_, f := parse(t, tt.path, importing("p", tt.imports))
		if got := CheckPurity(f); tt.want == "" {
			want(t, got)
		} else {
			want(t, got, tt.want)
		}
	}
}

func TestClockIsFoundWhereverItIsRead(t *testing.T) {
	_, f := parse(t, "projector/fold.go", "package projector\nfunc f() { defer func() { _ = time.Since(x) }(); var y float64 }")
	want(t, CheckClock(f), "projector/fold.go:2: time.Since")
}

func TestSleepsAndSkipsAreFound(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"func f() { time.Sleep(1) }", []string{"wait for an event"}},
		{"import _ \"testing/synctest\"\nfunc f() { time.Sleep(1) }", nil},
		{"func f() { t.Skip() }", []string{"t.Skip: a skipped test is green"}},
		{"func f() { b.SkipNow() }", []string{"b.SkipNow"}},
		{"func f() { s.Skip(); time.After(1) }", nil},
	}
	for _, tt := range tests {
		_, f := parse(t, "a/a_test.go", "package a\n"+tt.text)
		want(t, CheckTests(f), tt.want...)
	}
}

func TestSizesAreCounted(t *testing.T) {
	_, f := parse(t, "a/a.go", "package a\n"+strings.Repeat("\n", MaxFileLines-1))
	want(t, CheckSizes(f))
	_, f = parse(t, "a/a.go", "package a\n"+strings.Repeat("\n", MaxFileLines))
	want(t, CheckSizes(f), "501 lines, more than 500")
	_, f = parse(t, "a/a_test.go", "package a\nfunc f() {"+strings.Repeat("\n", MaxFuncLines-1)+"}\n")
	want(t, CheckSizes(f))
	_, f = parse(t, "a/a_test.go", "package a\nfunc f() {"+strings.Repeat("\n", MaxFuncLines)+"}\n")
	want(t, CheckSizes(f), "f has 71 lines")
}

func TestMissingDocsAreFound(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"func F() {}", []string{"F has no doc"}},
		{"// F does.\nfunc F() {}", nil},
		{"func f() {}", nil},
		{"type T struct{}", []string{"T has no doc"}},
		{"type t struct{}\nfunc (t *t) M() {}", nil},
		{"// T is.\ntype T[K any] struct{}\nfunc (t *T[K]) M() {}", []string{"M has no doc"}},
		{"const A = 1", []string{"A has no doc"}},
		{"// The letters.\nconst (\nA = 1\nB = 2\n)", nil},
		{"var (\nA = 1 // is\nB = 2\n)", []string{"B has no doc"}},
	}
	for _, tt := range tests {
		_, f := parse(t, "a/a.go", "package a\n"+tt.text)
		want(t, CheckDocs(f), tt.want...)
	}
}

func TestPackageDocs(t *testing.T) {
	for text, missing := range map[string]bool{
		"// Package a is.\npackage a":    false,
		"// Something.\npackage a":       true,
		"package a":                      true,
		"// Command a is.\npackage main": false,
		"// Package main\npackage main":  true,
	} {
		p, _ := parse(t, "cmd/a/a.go", text)
		if got := len(CheckPackageDoc(p)) == 1; got != missing {
			t.Errorf("%q: missing %v, want %v", text, got, missing)
		}
	}
	p, _ := parse(t, "a/a_test.go", "package a")
	want(t, CheckPackageDoc(p))
}
