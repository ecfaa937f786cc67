package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// programs is where the programs are built, once per run of the tests and
// without the race detector: they are what a user runs.
var programs = struct {
	sync.Mutex
	dir   string
	built map[string]bool
}{built: map[string]bool{}}

func removePrograms() { os.RemoveAll(programs.dir) }

// program returns the path of a program of ours.
func program(t *testing.T, name string) string {
	t.Helper()
	return compiled(t, name, "../cmd/"+name)
}

// compiled returns the path of the program of that name, which is in the package.
func compiled(t *testing.T, name, pkg string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	if programs.dir == "" {
		dir, err := os.MkdirTemp("", "quotashare-e2e-")
		if err != nil {
			t.Fatal(err)
		}
		programs.dir = dir
	}
	path := filepath.Join(programs.dir, name)
	if !programs.built[name] {
		if out, err := exec.Command("go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", name, err, out)
		}
		programs.built[name] = true
	}
	return path
}

// process is a program of ours that runs.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *transcript
	stderr *transcript
	exited chan struct{}
	err    error // of its end, once exited is closed

	nats, http string // URLs it listens on
}

// start runs a program that serves, and returns when it says where.
func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	return startWith(t, nil, name, args...)
}

// environment is what a program is given: the variables of whoever runs the tests
// are not for it.
func environment(t *testing.T, vars []string) []string {
	t.Helper()
	return append([]string{"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}, vars...)
}

// startWith is start with variables such as QUOTA_MAX_LAG=5s.
func startWith(t *testing.T, vars []string, name string, args ...string) *process {
	t.Helper()
	p := launch(t, vars, name, args...)
	p.awaitListening(&p.nats, &p.http)
	return p
}

// launch starts a program and waits for nothing.
func launch(t *testing.T, vars []string, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, stdout: newTranscript(), stderr: newTranscript(), exited: make(chan struct{})}
	p.cmd = exec.Command(program(t, name), args...)
	p.cmd.Env = environment(t, vars)
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(p.kill)
	return p
}

var listening = regexp.MustCompile(`(?m)^  (NATS|HTTP) +(\S+)`)

// awaitListening returns when the program has said these of its URLs.
func (p *process) awaitListening(urls ...*string) {
	p.t.Helper()
	ctx := deadline(p.t)
	missing := func(url *string) bool { return *url == "" }
	for {
		text, turn := p.stdout.now()
		for _, m := range listening.FindAllStringSubmatch(text, -1) {
			if m[1] == "NATS" {
				p.nats = m[2]
			} else {
				p.http = m[2]
			}
		}
		if !slices.ContainsFunc(urls, missing) {
			return
		}
		select {
		case <-turn:
		case <-p.exited:
			p.t.Fatalf("%s ended early: %v\n%s%s", p.cmd.Path, p.err, text, p.stderr)
		case <-ctx.Done():
			p.t.Fatalf("%s does not say where it listens:\n%s%s", p.cmd.Path, text, p.stderr)
		}
	}
}

// caughtUp is what a decider logs when it begins to answer.
const caughtUp = "answering questions"

// awaitReady returns when the process answers questions.
func (p *process) awaitReady() {
	p.t.Helper()
	p.stderr.await(deadline(p.t), p.t, caughtUp)
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
}

// stop ends the process as an operator would.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-deadline(p.t).Done():
		p.t.Fatalf("it does not stop:\n%s", p.stderr)
	}
	if p.err != nil {
		p.t.Errorf("it ended with: %v\n%s", p.err, p.stderr)
	}
}

// up runs everything in one process over the data directory.
func up(t *testing.T, dir string) *process {
	t.Helper()
	p := upAt(t, dir, "127.0.0.1:0", "127.0.0.1:0")
	p.awaitReady()
	return p
}

// upAt is up at addresses of the caller's, without waiting for the fold. Nobody
// cuts the power here, and syncs every 100 ms save the machine thousands.
func upAt(t *testing.T, dir, natsAddr, httpAddr string) *process {
	t.Helper()
	return start(t, "quotashare", "up", "--data-dir", dir, "--nats-addr", natsAddr, "--http-addr", httpAddr, "--sync", "100ms")
}

// run runs a program to its end and returns what it prints.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	path := program(t, name) // which may have to be built, and has no deadline
	cmd := exec.CommandContext(deadline(t), path, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

// call asks the HTTP API, and returns the status and the body.
func (p *process) call(method, path, contentType, body string) (int, string) {
	p.t.Helper()
	return call(p.t, method, p.http+path, contentType, body)
}

// mustCall is call for what has to succeed.
func (p *process) mustCall(method, path, body string) string {
	p.t.Helper()
	status, answer := p.call(method, path, "application/json", body)
	if status/100 != 2 {
		p.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return answer
}

// state is what GET /api/quota/state says.
type state struct {
	AppliedSeq, LastSeq uint64
	Digest              string
	Counts              struct{ Folded, Duplicates, Rejected, Late, Clamped uint64 }
}

// at returns the state, with digest, once the sequence is folded.
func (p *process) at(seq uint64) state {
	p.t.Helper()
	var s state
	decode(p.t, p.mustCall("GET", fmt.Sprintf("/api/quota/state?digest=true&minSeq=%d", seq), ""), &s)
	return s
}
