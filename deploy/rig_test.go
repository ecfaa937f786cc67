package deploy

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// patience is how long what should come at once is waited for: the machine may be busy.
const patience = 2 * time.Minute

// composed is docker-compose.yml as plain processes: the programs, arguments and
// variables are those of the file, and folders and addresses those of this machine.
type composed struct {
	t        *testing.T
	ctx      context.Context
	dir      string
	services map[string]*service
	host     map[string]string // "node-1:4222" = where that is here
	bearer   string
}

// built is where the programs are, which are built once.
var built = struct {
	sync.Once
	dir string
}{}

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(built.dir)
	os.Exit(code)
}

// programs returns the directory of our programs, built as make build does, which has
// compiled it all.
func programs(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		dir, err := os.MkdirTemp("", "quotashare-deploy-")
		if err != nil {
			t.Fatal(err)
		}
		build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", dir+"/", "../cmd/...")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
		built.dir = dir
	})
	return built.dir
}

// begin has the programs, and nothing that runs.
func begin(t *testing.T) *composed {
	t.Helper()
	bin := programs(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	c := &composed{t: t, ctx: ctx, dir: t.TempDir(), services: compose(t), host: map[string]string{}}
	c.must(os.Symlink(bin, filepath.Join(c.dir, "bin")))
	return c
}

// launch makes users and tokens as the file says, and starts all that it would start.
func launch(t *testing.T) *composed {
	t.Helper()
	c := begin(t)
	c.choose()
	for _, dir := range []string{"users", "tokens"} {
		c.must(os.Mkdir(filepath.Join(c.dir, dir), 0o700))
	}
	c.once("users")
	c.bearer = c.once("tokens", "add", "--name", "prometheus", "--role", "admin")
	for name, s := range c.services {
		if s.ours() && s.Profiles == nil {
			c.start(name)
		}
	}
	return c
}

func (c *composed) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// choose finds a place for every address that is named in the file.
func (c *composed) choose() {
	for name, s := range c.services {
		for _, port := range []string{"4222", "6222", "8480"} {
			if s.ours() && s.Profiles == nil {
				c.host[name+":"+port] = brokertest.FreeAddr(c.t)
			}
		}
	}
}

// here writes a value of the file as it is on this machine, for one service. What listens
// for all does so for this machine alone.
func (c *composed) here(name, value string) string {
	for at, addr := range c.host {
		host, port, _ := strings.Cut(at, ":")
		value = strings.ReplaceAll(value, at, addr)
		if host == name {
			value = strings.ReplaceAll(value, "0.0.0.0:"+port, addr)
		}
	}
	switch top, rest, _ := strings.Cut(strings.TrimPrefix(value, "/"), "/"); {
	case value == "/data":
		return filepath.Join(c.dir, name)
	case slices.Contains([]string{"bin", "users", "tokens"}, top) && value[0] == '/':
		return filepath.Join(c.dir, top, rest)
	}
	return value
}

// command is what a service runs, or what its health check does.
func (c *composed) command(name string, argv ...string) *exec.Cmd {
	for i := range argv {
		argv[i] = c.here(name, argv[i])
	}
	variables := environment(c.t)
	maps.Copy(variables, c.services[name].Environment)
	cmd := exec.CommandContext(c.ctx, argv[0], argv[1:]...)
	for variable, value := range variables {
		cmd.Env = append(cmd.Env, variable+"="+c.here(name, value))
	}
	cmd.Dir = c.dir
	return cmd
}

// once runs a service that ends, and returns the one line that it prints, or all.
func (c *composed) once(name string, args ...string) string {
	c.t.Helper()
	cmd := c.command(name, append(slices.Clone(c.services[name].Entrypoint), args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("%s: %v\n%s%s", name, err, out, errs.String())
	}
	return strings.TrimSpace(string(out))
}

// text is what a process prints, which others may read meanwhile.
type text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

// start starts a service that stays, and ends it with the test as Docker would.
func (c *composed) start(name string) {
	c.t.Helper()
	cmd, said := c.command(name, slices.Clone(c.services[name].Entrypoint)...), new(text)
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	c.must(os.MkdirAll(c.here(name, "/data"), 0o700))
	c.must(cmd.Start())
	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()                          // a signal is an error too
		if c.t.Failed() {
			c.t.Logf("%s said:\n%s", name, said)
		}
	})
}

// healthy waits until the health check of a service succeeds.
func (c *composed) healthy(name string) {
	c.t.Helper()
	check := c.services[name].Healthcheck.Test
	for {
		out, err := c.command(name, slices.Clone(check[1:])...).CombinedOutput()
		if err == nil {
			return
		}
		if c.ctx.Err() != nil {
			c.t.Fatalf("%s does not get healthy: %s", name, out)
		}
	}
}

// call sends a request to a service by the name that it has among the others, and
// returns the answer, which must be one of success.
func (c *composed) call(method, name, path, body string) string {
	c.t.Helper()
	status, answer := c.send(method, name, path, body)
	if status/100 != 2 {
		c.t.Fatalf("%s %s of %s: %d\n%s", method, path, name, status, answer)
	}
	return answer
}

func (c *composed) send(method, name, path, body string) (status int, answer string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.ctx, method, "http://"+c.host[name+":8480"]+path, strings.NewReader(body))
	c.must(err)
	if c.services[name].ours() { // what these answer to beside loopback is in the file
		req.Host = name + ":8480"
	}
	req.Header.Set("Authorization", "Bearer "+c.bearer)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	c.must(err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	c.must(err)
	return res.StatusCode, string(data)
}

// gateway starts one with the login that is made for it. It shows its figures to
// Prometheus as deploy/prometheus says: to the token that it was given.
func (c *composed) gateway() {
	c.t.Helper()
	c.host["gateway:8480"] = brokertest.FreeAddr(c.t)
	decider := c.services["decider-1"]
	c.services["gateway"] = &service{Entrypoint: []string{"/bin/gateway"}, Healthcheck: decider.Healthcheck, Environment: map[string]string{
		"QUOTA_STORE_NATS_URL": decider.Environment["QUOTA_STORE_NATS_URL"], "QUOTA_STORE_NATS_USER": "/users/gateway.user", "QUOTA_API_TOKEN": c.bearer,
		"QUOTA_GATEWAY_CONNECTIONS": `[{"id": "kimi-1", "provider": "kimi", "url": "http://127.0.0.1:1/v1", "credential": "c"}]`,
	}}
	c.start("gateway")
}
