package e2e

import (
	"encoding/json"
	"io"
	"os/exec"
	"testing"
	"time"
)

// sdks are the SDKs of OpenAI and Anthropic in a process of Node.
type sdks struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.Closer
	in     *json.Encoder
	out    *json.Decoder
	stderr *transcript
}

// sdkCall is a call that a user of an SDK makes; see node/sdk.mjs.
type sdkCall struct {
	SDK        string            `json:"sdk"`
	URL        string            `json:"url"`
	Token      string            `json:"token"`
	Bearer     bool              `json:"bearer,omitempty"`
	MaxRetries int               `json:"maxRetries"`
	Headers    map[string]string `json:"headers,omitempty"`
	Method     string            `json:"method"`
	Params     any               `json:"params,omitempty"`
	StopAfter  int               `json:"stopAfter,omitempty"`
	Leave      bool              `json:"leave,omitempty"`
}

// sdkOutcome is what the user gets.
type sdkOutcome struct {
	Wait     *float64 // ms; it is no outcome yet
	Waits    []float64
	Attempts []sdkAttempt
	Result   any
	Events   []any
	Final    any
	Error    *sdkError
}

type sdkAttempt struct {
	Status  int
	Headers map[string]string
}

type sdkError struct {
	Class, Message, Type, Code string
	Status                     int
	Body                       any
}

func startSDKs(t *testing.T) *sdks {
	t.Helper()
	needPackages(t)
	s := &sdks{t: t, cmd: exec.Command("node", "sdk.mjs"), stderr: newTranscript()}
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = "node", environment(t, nil), s.stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stdin, s.in, s.out = in, json.NewEncoder(in), json.NewDecoder(out)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// stop has the process end by itself. Its connections go with it: after a stream that
// is left Node opens a new one ahead, and a server that stops would wait for its first
// request.
func (s *sdks) stop() {
	if s.stdin == nil {
		return
	}
	_ = s.stdin.Close()
	s.stdin = nil
	defer time.AfterFunc(patience, s.kill).Stop()
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("node sdk.mjs ended with: %v\n%s", err, s.stderr)
	}
}

func (s *sdks) kill() { _ = s.cmd.Process.Kill() }

// make makes a call. Where the SDK waits before it tries again, meanwhile happens,
// and the wait is over; so it does before a user leaves.
func (s *sdks) make(c sdkCall, meanwhile ...func()) sdkOutcome {
	s.t.Helper()
	defer time.AfterFunc(patience, s.kill).Stop()
	s.say(c)
	var waits []float64
	for {
		var o sdkOutcome
		if err := s.out.Decode(&o); err != nil {
			s.t.Fatalf("no outcome of %+v: %v\n%s", c, err, s.stderr)
		}
		if o.Wait == nil {
			o.Waits = waits
			return o
		}
		waits = append(waits, *o.Wait)
		for _, f := range meanwhile {
			f()
		}
		s.say("go on")
	}
}

func (s *sdks) say(line any) {
	s.t.Helper()
	if err := s.in.Encode(line); err != nil {
		s.t.Fatalf("node sdk.mjs takes nothing any more: %v\n%s", err, s.stderr)
	}
}

// statuses are those of all attempts.
func (o *sdkOutcome) statuses() (list []int) {
	for _, a := range o.Attempts {
		list = append(list, a.Status)
	}
	return list
}

// mustTry compares the statuses of the attempts.
func (o *sdkOutcome) mustTry(t *testing.T, want ...int) {
	t.Helper()
	if got := text(t, o.statuses()); got != text(t, want) {
		t.Fatalf("the attempts were answered %s, want %s: %+v", got, text(t, want), o.Error)
	}
}
