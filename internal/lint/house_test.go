package lint

import (
	"path/filepath"
	"slices"
	"testing"
)

// load reads the module this test is part of.
func load(t *testing.T) []Package {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(p Package) bool { return p.Dir == "internal/lint" }) {
		t.Fatalf("%s is not our module: it has no internal/lint", root)
	}
	return all
}

func report(t *testing.T, all []Finding) {
	t.Helper()
	for _, f := range all {
		t.Error(f)
	}
}

func TestImportsStayWithinBoundaries(t *testing.T) {
	for _, p := range load(t) {
		report(t, CheckImports(p))
	}
}

func TestPurePackagesTouchNothing(t *testing.T) {
	for _, p := range load(t) {
		if !slices.Contains(Pure, p.Dir) {
			continue
		}
		for _, f := range p.Files {
			if !f.Test {
				report(t, CheckPurity(f))
			}
		}
	}
}

// The fold must give the same state at any time of day; only the loop around
// it knows what time it is.
func TestTheFoldReadsNoClock(t *testing.T) {
	for _, p := range load(t) {
		for _, f := range p.Files {
			if p.Dir == "projector" && !f.Test && f.Path != "projector/loop.go" {
				report(t, CheckClock(f))
			}
		}
	}
}

func TestTestsNeitherSleepNorSkip(t *testing.T) {
	for _, p := range load(t) {
		for _, f := range p.Files {
			if f.Test {
				report(t, CheckTests(f))
			}
		}
	}
}

func TestSizes(t *testing.T) {
	for _, p := range load(t) {
		for _, f := range p.Files {
			report(t, CheckSizes(f))
		}
	}
}

func TestEverythingSaysWhatItIs(t *testing.T) {
	for _, p := range load(t) {
		report(t, CheckPackageDoc(p))
		for _, f := range p.Files {
			if !f.Test && f.AST.Name.Name != "main" {
				report(t, CheckDocs(f))
			}
		}
	}
}
