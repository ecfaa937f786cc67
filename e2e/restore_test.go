package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// A copy of a running engine's directory, made as docs/OPERATIONS.md has it, is put in the
// place of one that is lost: what was acknowledged before the copy began is there, and the
// state is that of its log.
func TestACopyOfARunningEngineIsRestored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p := up(t, dir)
	operator{p}.poolOf("team", []string{"c"}, "k0 50", "k1 50")
	c := startCallers(t, 4, p.http)
	c.await(&c.accepted, 200)
	p.mustCall("POST", "/api/quota/snapshots", "")
	before := c.accepted.Load()
	backup := t.TempDir()
	copied(t, backup, filepath.Join(dir, "snapshots"), filepath.Join(dir, "nats"))
	c.await(&c.accepted, 200) // what is not in the copy
	c.end()
	p.kill()

	looked := t.TempDir()
	copied(t, looked, filepath.Join(backup, "snapshots"), filepath.Join(backup, "nats"))
	restored := up(t, backup)
	s := restored.at(1)
	s = restored.at(s.LastSeq)
	if got := int64(s.Counts.Folded); got < before || s.Counts.Rejected != 0 {
		t.Errorf("%d events were acknowledged before the copy, and %+v are in it", before, s.Counts)
	}
	var said struct {
		Points []struct {
			Seq    uint64
			Digest string
			Equal  *bool
		}
	}
	decode(t, run(t, "quotashare", "replay", "--data-dir", looked, "--at", fmt.Sprint(s.LastSeq), "--json"), &said)
	last := said.Points[len(said.Points)-1]
	if last.Seq != s.LastSeq || last.Digest != s.Digest {
		t.Errorf("the restored engine is at %+v, and its log says %+v", s, last)
	}
	for _, point := range said.Points {
		if point.Equal != nil && !*point.Equal {
			t.Errorf("a snapshot of the backup is of another log: %+v", point)
		}
	}
	if answer := restored.mustCall("GET", "/api/quota/pools/team", ""); !strings.Contains(answer, `"apiKeyId":"k1"`) {
		t.Errorf("the pool is %s", answer)
	}
}

// copied copies directories as an operator would.
func copied(t *testing.T, to string, from ...string) {
	t.Helper()
	if out, err := exec.Command("cp", append(append([]string{"-a"}, from...), to)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// The stream alone, backed up over the broker's API while the engine runs as nats stream
// backup does, and restored into another broker, gives a new decider the same state.
func TestABackupOfTheStreamIsRestored(t *testing.T) {
	p := up(t, t.TempDir())
	operator{p}.poolOf("team", []string{"c"}, "alice 50", "bob 50")
	operator{p}.plan("c", "tokens/daily 1000")
	for i := range 30 {
		p.mustCall("POST", "/api/quota/events", fmt.Sprintf(`{"id":"e-%d","apiKeyId":"alice","connectionId":"c","cost":{"tokens":%d}}`, i, 10+i))
	}
	p.mustReply(hold("bob", "c", "requestId", "open", "leaseMs", 3_600_000), "allow ok")
	want := p.at(lastSeq(t, p.nats))
	chunks, described := backedUp(t, brokertest.Connect(t, p.nats), "QUOTA")
	p.kill()

	other := brokertest.Start(t)
	restore(t, other.Connect(), "QUOTA", chunks, described)
	brokertest.Streams(t, other.Connect()) // the others, as an ingest makes them
	d := start(t, "decider", "--data-dir", t.TempDir(), "--store-nats-url", other.URL(), "--http-addr", "127.0.0.1:0")
	d.awaitReady()
	if got := d.at(want.AppliedSeq); got != want {
		t.Errorf("restored it is at %+v, was at %+v", got, want)
	}
}

// backedUp reads a stream as nats stream backup does.
func backedUp(t *testing.T, nc *nats.Conn, stream string) (chunks [][]byte, described []byte) {
	t.Helper()
	inbox := nc.NewRespInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := nc.Request("$JS.API.STREAM.SNAPSHOT."+stream, []byte(`{"deliver_subject":"`+inbox+`","no_consumers":true}`), patience)
	if err != nil {
		t.Fatal(err)
	}
	described = answer.Data
	for {
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Data) == 0 {
			return chunks, described
		}
		chunks = append(chunks, m.Data)
		if m.Reply != "" {
			_ = m.Respond(nil) // the next one is sent then
		}
	}
}

// restore makes the stream in another broker, as nats stream restore does.
func restore(t *testing.T, nc *nats.Conn, stream string, chunks [][]byte, described []byte) {
	t.Helper()
	var of struct{ Config, State json.RawMessage }
	decode(t, string(described), &of)
	ask := func(subject string, body []byte) []byte {
		m, err := nc.Request(subject, body, patience)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(m.Data), `"error"`) {
			t.Fatalf("%s: %s", subject, m.Data)
		}
		return m.Data
	}
	var to struct {
		Subject string `json:"deliver_subject"`
	}
	decode(t, string(ask("$JS.API.STREAM.RESTORE."+stream, fmt.Appendf(nil, `{"config":%s,"state":%s}`, of.Config, of.State))), &to)
	for _, c := range append(chunks, nil) {
		ask(to.Subject, c)
	}
}
