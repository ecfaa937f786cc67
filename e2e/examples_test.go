package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// example is a program of examples/.
type example struct {
	name string
	nats bool // it speaks NATS, else HTTP
	// retries is what it says on stderr when it sends something again.
	retries string
	argv    func(t *testing.T) []string
}

// examples are all of them. They do the same and print the same.
var examples = []example{
	{"call-http.mjs", false, "again in ", interpreted("node", "call-http.mjs")},
	{"call-nats.mjs", true, "again in ", withPackages("call-nats.mjs")},
	{"call_http.py", false, "again in ", interpreted("python3", "call_http.py")},
	{"call_nats.py", true, "again in ", interpreted("python3", "call_nats.py")},
	{"call-http.sh", false, "again in ", interpreted("bash", "call-http.sh", "curl")},
	{"call-nats.sh", true, "again in ", withNATS("call-nats.sh")},
	{"go", true, "trying again", func(t *testing.T) []string { return []string{compiled(t, "example-call", "../examples/call")} }},
}

// install says how what an example needs is installed on Debian.
var install = map[string]string{
	"node": "nodejs 20 or newer, from https://nodejs.org", "python3": "apt-get install python3", "curl": "apt-get install curl", "bash": "apt-get install bash",
}

// needTool fails the test when a program is not there.
func needTool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Fatalf("%s is not there, which examples need: %s", name, install[name])
	}
}

// interpreted is a script and what runs it.
func interpreted(tool, file string, others ...string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		t.Helper()
		for _, name := range append(others, tool) {
			needTool(t, name)
		}
		return []string{tool, filepath.Join("..", "examples", file)}
	}
}

// withNATS is a script of bash for the command line of NATS, which stands in for itself
// where there is none.
func withNATS(file string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		t.Helper()
		path := os.Getenv("PATH")
		if _, err := exec.LookPath("nats"); err != nil {
			path = filepath.Dir(compiled(t, "nats", "./testdata/natscli")) + string(filepath.ListSeparator) + path
		}
		return append([]string{"env", "PATH=" + path}, interpreted("bash", file)(t)...)
	}
}

// withPackages is a script of Node beside the packages of e2e/node, which are those that
// examples/package.json asks for.
func withPackages(file string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		t.Helper()
		needTool(t, "node")
		needPackages(t)
		dir := t.TempDir()
		text, err := os.ReadFile(filepath.Join("..", "examples", file))
		if err != nil {
			t.Fatal(err)
		}
		packages, err := filepath.Abs("node/node_modules")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		script := filepath.Join(dir, file)
		if err := os.WriteFile(script, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"node", script}
	}
}

// TestExamplesAskForTheirPackages: what is tested is what a reader of examples/ installs.
func TestExamplesAskForTheirPackages(t *testing.T) {
	versions := func(file string) map[string]string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct{ Dependencies map[string]string }
		decode(t, string(text), &doc)
		return doc.Dependencies
	}
	tested := versions("node/package.json")
	for name, version := range versions("../examples/package.json") {
		if tested[name] != version {
			t.Errorf("examples/package.json has %s %s, and %q is tested", name, version, tested[name])
		}
	}
}

// execution is an example that was started.
type execution struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr *transcript
}

// begin starts the example; vars are its environment.
func (e *example) begin(t *testing.T, vars []string, args ...string) *execution {
	t.Helper()
	argv := append(e.argv(t), args...)
	r := &execution{t: t, cmd: exec.CommandContext(deadline(t), argv[0], argv[1:]...), stdout: newTranscript(), stderr: newTranscript()}
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = environment(t, vars), r.stdout, r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// mustPrint waits for its end and compares what it printed.
func (r *execution) mustPrint(want string) {
	r.t.Helper()
	r.mustEnd()
	r.compare(r.stdout.String(), want)
}

// mustEnd waits for its end, which has to be a good one.
func (r *execution) mustEnd() {
	r.t.Helper()
	if err := r.cmd.Wait(); err != nil {
		r.t.Fatalf("%s: %v\n%s%s", r.cmd.Args, err, r.stdout, r.stderr)
	}
}

func (r *execution) compare(got, want string) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s prints\n%s\nwant\n%s\n%s", r.cmd.Args, got, want, r.stderr)
	}
}

// mustFail waits for its end, which has to be an error that says why.
func (r *execution) mustFail(why string) {
	r.t.Helper()
	if err := r.cmd.Wait(); err == nil {
		r.t.Errorf("%s ends well:\n%s%s", r.cmd.Args, r.stdout, r.stderr)
	}
	said := r.stderr.String()
	mustMatch(r.t, said, why)
	for _, trace := range []string{"Traceback", "    at ", "goroutine "} {
		if strings.Contains(said, trace) {
			r.t.Errorf("%s dies instead of saying what is wrong:\n%s", r.cmd.Args, said)
		}
	}
}

// mustRefuse is mustFail at the first try: patience would help nothing. The SDK goes on
// all the same, because whoever puts it right must not have to start gateways again.
func (e *example) mustRefuse(r *execution, why string) {
	r.t.Helper()
	r.mustFail(why)
	if e.name != "go" && strings.Contains(r.stderr.String(), e.retries) {
		r.t.Errorf("it tries again what is refused:\n%s", r.stderr)
	}
}

// at is the environment of an example whose engine is there.
func at(natsURL, httpURL string, more ...string) []string {
	return append([]string{"QUOTA_STORE_NATS_URL=" + natsURL, "QUOTA_URL=" + httpURL}, more...)
}

// printed is what an example prints that is not disturbed.
func printed(name, last string) string {
	return strings.ReplaceAll(`NAME: published 2 events
NAME: allow (ok)
NAME: used 150 tokens, settled
NAME-again: allow (ok)
NAME-again: the provider failed, released
`, "NAME", name) + last + "\n"
}

// account makes a connection of 1,000 tokens a week, for one key.
func (p *process) account(key, connection string) {
	p.t.Helper()
	p.mustCall("PUT", "/api/quota/plans/"+connection, `{"dimensions": [{"unit": "tokens", "window": "weekly", "limit": 1000}]}`)
	p.mustCall("POST", "/api/quota/pools", fmt.Sprintf(
		`{"name": %q, "provider": "kimi", "connectionIds": [%q], "allocations": [{"apiKeyId": %q, "weight": 100}]}`, connection, connection, key))
}

// stands is what an example prints last, on an account of its own.
func stands(key, connection string) string {
	return key + " on " + connection + ": 250 of 1000 tokens weekly used, 0 held"
}

// now is a time for an example.
func now() string { return time.Now().UTC().Format(time.RFC3339) }

// TestExamples: every example does the same, and says the same. Run again it changes
// nothing; and what one has sent, another one may send again.
func TestExamples(t *testing.T) {
	p := up(t, t.TempDir())
	p.account("all", "shared")
	shared := now()
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			p.account(e.name, e.name)
			own := at(p.nats, p.http, "QUOTA_KEY="+e.name, "QUOTA_CONNECTION="+e.name)
			when := now()
			for range 2 {
				e.begin(t, own, "c-"+e.name, when).mustPrint(printed("c-"+e.name, stands(e.name, e.name)))
			}
			e.begin(t, at(p.nats, p.http, "QUOTA_KEY=all", "QUOTA_CONNECTION=shared"), "c-shared", shared).
				mustPrint(printed("c-shared", stands("all", "shared")))
			e.begin(t, at(p.nats, p.http, "QUOTA_KEY=nobody", "QUOTA_CONNECTION=none"), "c-free", shared).
				mustPrint(strings.ReplaceAll(printed("c-free", "nobody on none: nothing limits it (no-pool)"), "(ok)", "(no-pool)"))
		})
	}
	// 2 events and 1 of usage for each, once; and the headers, which are not counted here.
	if counts := p.at(0).Counts; counts.Rejected != 0 || counts.Late != 0 {
		t.Errorf("some of it is wrong: %+v", counts)
	}
}

// TestExamplesAreBlocked: what an example is told, it tells, and it makes no call.
func TestExamplesAreBlocked(t *testing.T) {
	p := up(t, t.TempDir())
	p.account("alice", "kimi-1")
	p.mustCall("PUT", "/api/quota/plans/kimi-1", `{"dimensions": [{"unit": "tokens", "window": "weekly", "limit": 50}, {"unit": "usd", "window": "daily"}]}`)
	used := 0
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			r := e.begin(t, at(p.nats, p.http), "c-"+e.name)
			used += 100
			r.mustEnd()
			want := strings.ReplaceAll(`^NAME: published 2 events
NAME: block \(global-saturated\)
NAME: 429, Provider kimi quota window is saturated; no shared capacity available: \d+ of 50 tokens per week used by all keys.* \(decision \S+\)
NAME-again: block \(global-saturated\)
NAME-again: 429, Provider kimi .*
alice on kimi-1: USED of 50 tokens weekly used, 0 held
alice on kimi-1: 0 of an unknown number of usd daily used, 0 held
$`, "NAME", "c-"+e.name)
			want = strings.ReplaceAll(want, "USED", fmt.Sprint(used))
			mustMatch(t, r.stdout.String(), want)
		})
	}
}

// TestExamplesSayWhatIsRefused: a key that is none is the fault of the event, and no
// example sends it again.
func TestExamplesSayWhatIsRefused(t *testing.T) {
	p := up(t, t.TempDir())
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			r := e.begin(t, at(p.nats, p.http, "QUOTA_KEY="+strings.Repeat("k", 257)))
			why := "apiKeyId has more than 256 bytes"
			if !e.nats {
				why = "event 1: " + why + "; event 2: " + why
			}
			e.mustRefuse(r, why)
		})
	}
}

func mustMatch(t *testing.T, text, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(text) {
		t.Errorf("%q is not in\n%s", pattern, text)
	}
}
