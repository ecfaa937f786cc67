package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/ingest/natsusers"
	"github.com/quotashare/quotashare/ingest/natsusers/login"
	"github.com/quotashare/quotashare/internal/certtest"
)

// topology is what deploy/topology/up starts: three nodes, two front doors and two
// deciders.
type topology struct {
	t     *testing.T
	dir   string
	addrs map[string]string // by "node-1 nats"
	js    jetstream.JetStream
}

// upWithin is how long a cluster may take until it takes events: two elections, and
// everything that starts, on a machine that is busy.
const upWithin = 3 * time.Minute

func startTopology(t *testing.T) *topology {
	t.Helper()
	x := &topology{t: t, dir: t.TempDir(), addrs: map[string]string{}}
	t.Cleanup(x.killAll)
	x.secure()
	x.up()
	list, err := os.ReadFile(filepath.Join(x.dir, "addresses"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		x.addrs[words[0]+" "+words[1]] = words[2]
	}
	x.js = jetStream(t, x.connect("admin"))
	return x
}

// secure gives the log users, and the nodes a certificate.
func (x *topology) secure() {
	x.t.Helper()
	run(x.t, "quotashare", "nats-config", "--out", filepath.Join(x.dir, "users"))
	if err := os.Mkdir(filepath.Dir(x.ca()), 0o700); err != nil {
		x.t.Fatal(err)
	}
	made := certtest.In(x.t, filepath.Dir(x.ca()), "node")
	if err := os.Link(made.Cert, x.ca()); err != nil {
		x.t.Fatal(err)
	}
}

// login is the file of a user, and ca the one that certificates are checked with.
func (x *topology) login(user string) string {
	return filepath.Join(x.dir, "users", user+natsusers.LoginSuffix)
}
func (x *topology) ca() string { return filepath.Join(x.dir, "tls", "ca.pem") }

// connect connects a user as clients should that have several nodes: one that stands still
// is left for another one.
func (x *topology) connect(user string) *nats.Conn {
	x.t.Helper()
	opts, err := login.From(x.login(user))
	if err != nil {
		x.t.Fatal(err)
	}
	opts = append(opts, nats.RootCAs(x.ca()), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.PingInterval(2*time.Second), nats.MaxPingsOutstanding(1))
	nc, err := nats.Connect(x.nodes(), opts...)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(nc.Close)
	return nc
}

// names are those of the processes.
func (x *topology) names() []string {
	pids, _ := filepath.Glob(filepath.Join(x.dir, "*", "pid")) // the pattern is a good one
	names := make([]string, len(pids))
	for i, path := range pids {
		names[i] = filepath.Base(filepath.Dir(path))
	}
	return names
}

// run runs one of the scripts.
func (x *topology) run(script string) {
	x.t.Helper()
	for _, name := range []string{"ingest", "decider"} {
		program(x.t, name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), upWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join("..", "deploy", "topology", script), x.dir)
	// Snapshots are wanted while the test runs, and are copied among the nodes too.
	cmd.Env = environment(x.t, []string{"BIN=" + programs.dir, "QUOTA_SNAPSHOT_INTERVAL=5s"})
	if out, err := cmd.CombinedOutput(); err != nil {
		x.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func (x *topology) up()   { x.t.Helper(); x.run("up") }
func (x *topology) down() { x.t.Helper(); x.run("down") }

// signal sends one to a process, and returns its id.
func (x *topology) signal(name string, s syscall.Signal) (pid int) {
	x.t.Helper()
	text, err := os.ReadFile(filepath.Join(x.dir, name, "pid"))
	if err != nil {
		x.t.Fatal(err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
		x.t.Fatal(err)
	}
	_ = syscall.Kill(pid, s) // it may have ended
	return pid
}

// kill ends a process as a power cut would. It is no child of ours, so that its end is
// seen from outside.
func (x *topology) kill(name string) {
	x.t.Helper()
	pid := x.signal(name, syscall.SIGKILL)
	for ctx := deadline(x.t); ; {
		stat, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output() // fails when it is gone
		if len(stat) == 0 || stat[0] == 'Z' {
			return
		}
		if ctx.Err() != nil {
			x.t.Fatalf("%s does not end", name)
		}
	}
}

// freeze makes a process stand still, as a machine does that has no memory left, and thaw
// lets it go on.
func (x *topology) freeze(name string) { x.t.Helper(); x.signal(name, syscall.SIGSTOP) }
func (x *topology) thaw(name string)   { x.t.Helper(); x.signal(name, syscall.SIGCONT) }

// killAll kills what there is, as when a whole site has no power.
func (x *topology) killAll() {
	for _, name := range x.names() {
		x.kill(name)
	}
}

func (x *topology) url(name, kind string) string {
	scheme := "http"
	if kind == "nats" {
		scheme = "tls"
	}
	return scheme + "://" + x.addrs[name+" "+kind]
}

// nodes are their URLs, as clients take them.
func (x *topology) nodes() string {
	return x.url("node-1", "nats") + "," + x.url("node-2", "nats") + "," + x.url("node-3", "nats")
}

func (x *topology) decider(i int) *process {
	return &process{t: x.t, nats: x.nodes(), http: x.url(fmt.Sprint("decider-", i), "http")}
}

// lastSeq is the log's end.
func (x *topology) lastSeq() uint64 {
	x.t.Helper()
	s, err := x.js.Stream(deadline(x.t), "QUOTA")
	if err != nil {
		x.t.Fatal(err)
	}
	return s.CachedInfo().State.LastSeq
}

// leader is the node that leads the log.
func (x *topology) leader() string {
	x.t.Helper()
	for ctx := deadline(x.t); ctx.Err() == nil; {
		try, cancel := context.WithTimeout(ctx, time.Second) // a leader that was killed meanwhile does not answer
		s, err := x.js.Stream(try, "QUOTA")
		cancel()
		if err == nil && s.CachedInfo().Cluster.Leader != "" {
			return s.CachedInfo().Cluster.Leader
		}
	}
	x.t.Fatal("the log has no leader")
	return ""
}

// followers are the nodes that do not lead the log.
func (x *topology) followers() []string {
	x.t.Helper()
	leader := x.leader()
	return slices.DeleteFunc([]string{"node-1", "node-2", "node-3"}, func(name string) bool { return name == leader })
}

// awaitCopies returns when every stream there is has three copies, all of them whole.
func (x *topology) awaitCopies() {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), upWithin)
	defer cancel()
	for {
		lacks := x.copies(ctx)
		if lacks == "" {
			return
		}
		if ctx.Err() != nil {
			x.t.Fatal(lacks)
		}
	}
}

// copies says what lacks a copy.
func (x *topology) copies(ctx context.Context) (lacks string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	list := x.js.ListStreams(ctx)
	n := 0
	for info := range list.Info() {
		n++
		whole := 1 // the leader's
		if info.Cluster == nil {
			return fmt.Sprintf("stream %s is in no cluster", info.Config.Name)
		}
		for _, r := range info.Cluster.Replicas {
			if r.Current && !r.Offline {
				whole++
			}
		}
		if info.Config.Replicas != 3 || whole != 3 || info.Cluster.Leader == "" {
			lacks = fmt.Sprintf("stream %s is kept %d times, and %d copies are whole, leader %q", info.Config.Name, info.Config.Replicas, whole, info.Cluster.Leader)
		}
	}
	if err := list.Err(); err != nil {
		return fmt.Sprint("the streams are not listed: ", err)
	}
	if n < len(everyStream) {
		return fmt.Sprintf("%d streams are listed, want %s", n, everyStream)
	}
	return lacks
}

// everyStream are those of the engine.
var everyStream = []string{"QUOTA", "QUOTA_REJECTED", "QUOTA_DECISIONS", "KV_QUOTA_LEASES", "OBJ_QUOTA_SNAPSHOTS"}

// awaitDrained returns when the front doors keep nothing for the log any more.
func (x *topology) awaitDrained() {
	x.t.Helper()
	for _, name := range []string{"front-1", "front-2"} {
		for ctx := deadline(x.t); ; {
			_, figures := call(x.t, "GET", x.url(name, "http")+"/metrics", "", "")
			if strings.Contains(figures, "quotashare_spool_events 0\n") {
				break
			}
			if ctx.Err() != nil {
				x.t.Fatalf("%s still keeps events for the log", name)
			}
		}
	}
}

// mustNotSay fails if a process has logged that.
func (x *topology) mustNotSay(words ...string) {
	x.t.Helper()
	for _, name := range x.names() {
		log, err := os.ReadFile(filepath.Join(x.dir, name, "log"))
		if err != nil {
			x.t.Fatal(err)
		}
		for line := range bytes.Lines(log) {
			for _, w := range words {
				if bytes.Contains(line, []byte(w)) {
					x.t.Errorf("%s says: %s", name, line)
				}
			}
		}
	}
}
