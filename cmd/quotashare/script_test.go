package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quotashare/quotashare/internal/program"
)

// TestMain lets scripts run this test binary as the program.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"quotashare": main, "curl": curl})
}

// curl does what README.md asks of it: machines that build us need not have it.
// It knows no other flags, so that a new one is noticed.
func curl() {
	flags := flag.NewFlagSet("curl", flag.ExitOnError)
	_ = flags.Bool("s", false, "silent")
	method := flags.String("X", "", "method")
	headers := http.Header{}
	flags.Func("H", "header", func(text string) error {
		name, value, _ := strings.Cut(text, ": ")
		headers.Set(name, value)
		return nil
	})
	body := flags.String("d", "", "body")
	flags.Func("data-binary", "- is standard input", func(text string) (err error) {
		*body, err = standardInput(text)
		return err
	})
	var urls []string
	for args := os.Args[1:]; len(args) > 0; args = flags.Args() {
		if !strings.HasPrefix(args[0], "-") {
			urls, args = append(urls, args[0]), args[1:]
		}
		_ = flags.Parse(args) // it exits
	}
	if *method == "" && *body != "" {
		*method = http.MethodPost
	}
	url := urls[0]
	if !strings.HasPrefix(url, "http://") {
		url = "http://" + url
	}
	req, err := http.NewRequest(*method, url, strings.NewReader(*body))
	if err != nil {
		log.Fatal(err)
	}
	req.Header = headers
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := io.Copy(os.Stdout, res.Body); err != nil {
		log.Fatal(err)
	}
}

func standardInput(name string) (string, error) {
	if name != "@-" {
		return "", errors.New("it is not read from a file here")
	}
	text, err := io.ReadAll(os.Stdin)
	return string(text), err
}

func TestScripts(t *testing.T) {
	testscript.Run(t, params("testdata/script"))
}

func params(dir string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Values[engineKey{}] = new(slot)
			// Else each command of a script waits a second for other reports of
			// races when it ends.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"up": cmdUp, "down": cmdDown, "http": cmdHTTP, "code": cmdCode, "await": cmdAwait, "rival": cmdRival, "gateway": cmdGateway,
			"store": cmdStore, "forget": cmdForget, "spoil": cmdSpoil,
		},
	}
}

// engine is a whole quotashare up inside the test.
type engine struct {
	stop context.CancelFunc
	code chan int
	out  *said
	log  *said
}

// slot is where a script keeps its engine, under engineKey.
type slot struct{ engine *engine }

type engineKey struct{}

// said collects what a program prints and tells when it has printed a text.
type said struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	want string
	seen chan struct{}
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf.Write(p)
	if s.want != "" && strings.Contains(s.buf.String(), s.want) {
		s.want = ""
		close(s.seen)
	}
	return len(p), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

var listening = regexp.MustCompile(`NATS +nats://(\S+)[^\n]*\n +HTTP +http://(\S+)`)

// cmdUp starts the engine on free ports in $WORK/data, waits until it answers,
// and sets the variables with which commands find it:
//
//	up [flags]
func cmdUp(ts *testscript.TestScript, neg bool, args []string) {
	mine := ts.Value(engineKey{}).(*slot)
	if neg || mine.engine != nil {
		ts.Fatalf("up: one engine at a time, and it must start")
	}
	ctx, stop := context.WithCancel(context.Background())
	e := &engine{stop: stop, code: make(chan int, 1)}
	e.out = &said{want: "Ctrl-C stops", seen: make(chan struct{})}
	e.log = &said{want: "answering questions", seen: make(chan struct{})}
	p := program.Process{
		Name: "quotashare", Stdout: e.out, Stderr: e.log,
		Args: append([]string{"up", "--data-dir", ts.MkAbs("data"), "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0"}, args...),
	}
	go func() { e.code <- run(ctx, p) }()
	for _, s := range []*said{e.out, e.log} {
		select {
		case <-s.seen:
		case code := <-e.code:
			ts.Fatalf("up: exit %d\n%s%s", code, e.out, e.log)
		}
	}
	ts.Logf("%s", e.out)
	addr := listening.FindStringSubmatch(e.out.String())
	if addr == nil {
		ts.Fatalf("up: it does not say where it listens")
	}
	ts.Setenv("QUOTA_NATS_ADDR", addr[1])
	ts.Setenv("QUOTA_HTTP_ADDR", addr[2])
	await(ts, "/readyz", "ok")
	ts.Check(os.WriteFile(ts.MkAbs("greeting"), []byte(e.out.String()), 0o600))
	mine.engine = e
	ts.Defer(func() { shutDown(ts) })
}

// await asks for a page until the answer has the text.
func await(ts *testscript.TestScript, path, text string) {
	var data []byte
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		res, err := http.Get("http://" + ts.Getenv("QUOTA_HTTP_ADDR") + path)
		ts.Check(err)
		data, err = io.ReadAll(res.Body)
		ts.Check(errors.Join(err, res.Body.Close()))
		if strings.Contains(string(data), text) {
			return
		}
	}
	ts.Fatalf("%s never says %q; at last %s", path, text, data)
}

// cmdAwait waits for what comes about by itself a moment later:
//
//	await PATH TEXT
func cmdAwait(ts *testscript.TestScript, _ bool, args []string) { await(ts, args[0], args[1]) }

// cmdDown stops the engine as a signal does, and leaves its log in $WORK/log.
func cmdDown(ts *testscript.TestScript, _ bool, _ []string) {
	if log, code := shutDown(ts); code != program.OK {
		ts.Fatalf("down: exit %d\n%s", code, log)
	}
}

func shutDown(ts *testscript.TestScript) (log string, code int) {
	mine := ts.Value(engineKey{}).(*slot)
	e := mine.engine
	if e == nil {
		return "", program.OK
	}
	mine.engine = nil
	e.stop()
	code = <-e.code
	ts.Check(os.WriteFile(ts.MkAbs("log"), []byte(e.log.String()), 0o600))
	return e.log.String(), code
}

// cmdHTTP sends one request and prints the status and the body to $WORK/answer:
//
//	http METHOD PATH [JSON]
func cmdHTTP(ts *testscript.TestScript, _ bool, args []string) {
	body := strings.Join(args[2:], " ")
	req, err := http.NewRequest(args[0], "http://"+ts.Getenv("QUOTA_HTTP_ADDR")+args[1], strings.NewReader(body))
	ts.Check(err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), append([]byte(res.Status+"\n"), data...), 0o600))
}

// cmdCode runs the program and checks its exit code:
//
//	code N ARGS...
func cmdCode(ts *testscript.TestScript, _ bool, args []string) {
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec("quotashare", args[1:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got := strconv.Itoa(code); got != args[0] {
		ts.Fatalf("exit %s, want %s", got, args[0])
	}
}

// repo is the root of the checkout.
func repo(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}
