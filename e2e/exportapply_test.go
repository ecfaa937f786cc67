package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// files runs the command line against the engine.
type files struct {
	operator
	dir string
}

// cli runs a command and returns what it prints.
func (f files) cli(args ...string) string {
	f.t.Helper()
	return run(f.t, "quotashare", append(args, "--http-addr", strings.TrimPrefix(f.http, "http://"))...)
}

// sections are what can be exported and applied.
var sections = []string{"settings", "plans", "pools"}

// export writes all of the configuration to one file.
func (f files) export(flags ...string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, "quota.yaml")
	text := ""
	for _, section := range sections {
		text += f.cli(append([]string{section, "export"}, flags...)...)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func (f files) apply(path string) string {
	f.t.Helper()
	said := ""
	for _, section := range sections {
		said += f.cli(section, "apply", "-f", path)
	}
	return said
}

// answers are what every GET of a document says, but who wrote it when.
func (f files) answers(connections, pools []string) map[string]any {
	f.t.Helper()
	paths := []string{"/api/quota/settings", "/api/quota/pools", "/api/quota/plans"}
	for _, id := range connections {
		paths = append(paths, apiPath("plans", id))
	}
	for _, id := range pools {
		paths = append(paths, apiPath("pools", id))
	}
	all := map[string]any{}
	for _, path := range paths {
		var doc any
		decode(f.t, f.mustCall("GET", path, ""), &doc)
		all[path] = unstamped(doc)
	}
	return all
}

// unstamped takes away what says who wrote a document, when and why.
func unstamped(doc any) any {
	switch doc := doc.(type) {
	case []any:
		for i := range doc {
			doc[i] = unstamped(doc[i])
		}
	case object:
		for _, name := range []string{"revision", "updatedAt", "actor", "reason"} {
			delete(doc, name)
		}
		for name := range doc {
			doc[name] = unstamped(doc[name])
		}
	}
	return doc
}

// configured is an engine with something of everything.
func configured(t *testing.T) files {
	t.Helper()
	f := files{newOperator(t), t.TempDir()}
	f.mustCall("PUT", "/api/quota/settings", `{"saturationThreshold":0.25,"signalTtlMs":45000,"decisionSampleRate":0}`)
	f.plan("c/1", "requests/hourly 1500", "usd/daily 66.67", "tokens/weekly 0")
	f.plan("in no pool", "percent/5h 80")
	f.plan("emptied")
	f.mustCall("POST", "/api/quota/pools", `{"id":"team: a/1%","name":"Team # \"A\"","provider":"custom","mode":"observe","onDegraded":"closed",
		"connections":[{"connectionId":"c/1","weight":7,"maxConcurrent":3},{"connectionId":"c.2"}],
		"allocations":[{"apiKeyId":"alice","weight":33.333333,"policy":"soft","caps":[{"unit":"usd","window":"weekly","value":0.000000001}]},
			{"apiKeyId":"yes","weight":0,"suspended":true,"capUnit":"requests","capValue":10},{"apiKeyId":"*","weight":20,"policy":"burst"}],
		"modelCaps":[{"apiKeyId":"alice","model":"large: 2","capUnit":"tokens","capValue":1000}]}`)
	f.mustCall("POST", "/api/quota/pools", `{"id":"2026","name":"Kimi","provider":"kimi","connectionIds":["k"],
		"allocations":[{"apiKeyId":"alice","weight":50},{"apiKeyId":"bob","weight":30}]}`)
	f.mustCall("PATCH", apiPath("pools", "2026"), `{"allocations":[{"apiKeyId":"alice","weight":1}],"name":"Kimi, Berlin"}`)
	f.consume(used("alice", "k", "requests", "20", month), used("bob", "c.2", "usd", "1.5", month))
	return f
}

func TestAnExportAppliedToAnEmptyEngineMakesTheSame(t *testing.T) {
	one, other := configured(t), files{newOperator(t), t.TempDir()}
	connections, pools := []string{"c/1", "c.2", "k", "in no pool", "emptied"}, []string{"team: a/1%", "2026"}
	file := one.export()
	other.apply(file)
	other.consume(used("alice", "k", "requests", "20", month), used("bob", "c.2", "usd", "1.5", month))
	if diff := cmp.Diff(one.answers(connections, pools), other.answers(connections, pools)); diff != "" {
		t.Errorf("the engines (- exported from, + applied to):\n%s", diff)
	}
	for _, q := range [][2]string{{"alice", "k"}, {"bob", "k"}, {"alice", "c/1"}, {"yes", "c.2"}, {"bob", "c/1"}} {
		if diff := cmp.Diff(one.ask(q[0], q[1], month+askAt), other.ask(q[0], q[1], month+askAt)); diff != "" {
			t.Errorf("asked about %v (- exported from, + applied to):\n%s", q, diff)
		}
	}
}

func TestApplyingTheSameAgainWritesNothing(t *testing.T) {
	one, other := configured(t), files{newOperator(t), t.TempDir()}
	file := one.export()
	for _, engine := range []files{one, other} {
		engine.apply(file)
		before := engine.at(0)
		said := engine.apply(file)
		if after := engine.at(0); after.LastSeq != before.LastSeq {
			t.Errorf("the log went from %d to %d:\n%s", before.LastSeq, after.LastSeq, said)
		}
		if strings.Count(said, "0 created, 0 changed") != len(sections) {
			t.Errorf("it says\n%s", said)
		}
	}
	if last := one.at(0).LastSeq; last != 8 {
		t.Errorf("applied to the engine that it comes from it wrote something: the log has %d events, want 8", last)
	}
}
