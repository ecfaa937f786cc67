package e2e

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	sdk "github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/ingest/natsusers"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/internal/enginetest"
	"github.com/quotashare/quotashare/projector/pebblestore"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/livelog"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots/objects"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// atWork are users at work: a gateway, and all that is needed for it.
type atWork struct {
	operator // at the decider
	b        *brokertest.Users
	want     natsusers.Want
	admin    jetstream.JetStream
	said     *transcript // by deciders
}

// TestUsersHaveTheRightsThatTheyNeed, and no others: the broker refuses nobody anything
// who does his work, and every right is one that somebody used.
func TestUsersHaveTheRightsThatTheyNeed(t *testing.T) {
	for name, want := range map[string]natsusers.Want{
		"one gateway":      {Gateways: []string{"gateway"}},
		"gateways":         {Gateways: []string{"omni"}},
		"isolated gateway": {Gateways: []string{"omni"}, Isolate: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAtWork(t, want)
			w.gateway()
			w.waits()
			w.noHolds()
			w.snapshots()
			w.rejections()
			w.looks()
			w.verify()
			if said := w.b.Complaints(); len(said) > 0 {
				t.Errorf("the broker says:\n%s", strings.Join(said, "\n"))
			}
			w.mustUseAll()
		})
	}
}

func newAtWork(t *testing.T, want natsusers.Want) *atWork {
	t.Helper()
	w := &atWork{want: want, b: brokertest.StartUsers(t, want), said: newTranscript()}
	w.process = &process{t: t, nats: w.b.URL}
	w.admin = jetStream(t, w.b.As("admin"))
	w.streams()
	w.publishAll(w.b.As("ingest"))
	w.change(func(c *jetstream.StreamConfig) { c.MaxAge = 90 * 24 * time.Hour }) // as an earlier version had it
	w.decide()
	return w
}

func (w *atWork) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// streams makes the streams, and brings them up to date.
func (w *atWork) streams() {
	w.t.Helper()
	js := jetStream(w.t, w.b.As("ingest"))
	earlier := ingest.Configs(14, 1)
	for i := range earlier {
		earlier[i].Duplicates = time.Minute
	}
	for _, c := range [][]jetstream.StreamConfig{earlier, ingest.Configs(14, 1)} {
		_, err := ingest.EnsureStreams(deadline(w.t), js, c)
		w.must(err)
	}
}

// publishAll publishes events of every kind over a connection, as the HTTP API does, and
// returns the sequence of the last one.
func (w *atWork) publishAll(nc *nats.Conn) (seq uint64) {
	w.t.Helper()
	in := enginetest.Intake(w.t, nc)
	for _, kind := range []string{"consumption", "saturation", "adjustment", "release"} {
		r, err := in.Publish(deadline(w.t), "quota."+kind, fmt.Appendf(nil, `[{"id":%q}]`, rand.Text()), 1)
		w.must(err)
		seq = r.Seq
	}
	return seq
}

// change changes the log's stream.
func (w *atWork) change(how func(*jetstream.StreamConfig)) {
	w.t.Helper()
	c := ingest.Configs(14, 1)[0]
	how(&c)
	_, err := w.admin.UpdateStream(deadline(w.t), c)
	w.must(err)
}

// decide starts one more decider, and asks it from now on.
func (w *atWork) decide() {
	w.t.Helper()
	nc := w.b.As("decider")
	log := slog.New(slog.NewTextHandler(w.said, nil))
	e := enginetest.Start(w.t, decider.Options{Conn: nc, SnapshotDir: filepath.Join(w.t.TempDir(), "snapshots"), SnapshotKeep: 1, Log: log})
	h, err := httpapi.New(httpapi.Config{Engine: e.Engine, Publisher: enginetest.Intake(w.t, nc), Registry: prometheus.NewRegistry(), Log: log})
	w.must(err)
	s := httptest.NewServer(h)
	w.t.Cleanup(s.Close)
	w.http = s.URL
	w.publishAll(nc)
}

// gateway is one that has the Go client, and one that has none.
func (w *atWork) gateway() {
	w.t.Helper()
	w.send("PUT", apiPath("settings"), object{"decisionSampleRate": 1})
	w.poolOf("team", []string{"kimi"}, "alice 50", "bob 50")
	c, err := sdk.New(sdk.Options{URL: w.b.URL, User: w.b.Login(w.want.Gateways[0]), FailClosed: true, Timeout: ample * time.Millisecond, Logger: slog.New(slog.NewTextHandler(w.said, nil))})
	w.must(err)
	hold, err := c.Decide(deadline(w.t), sdk.Question{APIKeyID: "alice", ConnectionID: "kimi", RequestID: "1", Reserve: true})
	w.must(err)
	if !hold.Allow || len(hold.Degraded) > 0 {
		w.t.Errorf("the answer is %+v", hold)
	}
	w.must(c.Close(deadline(w.t)))
	nc := w.other()
	js := jetStream(w.t, nc)
	for _, kind := range []string{"consumption", "saturation", "adjustment", "release"} {
		for _, behind := range []string{"", ".eu"} {
			_, err := js.Publish(deadline(w.t), "quota."+kind+behind, []byte(`{"id":"none"}`))
			w.must(err)
		}
	}
	for _, ask := range []*nats.Conn{nc, w.b.As("admin")} {
		m, err := ask.RequestWithContext(deadline(w.t), "quota.route", []byte(`{"apiKeyId":"alice","pool":"team"}`))
		w.must(err)
		if !strings.Contains(string(m.Data), `"decision":"allow"`) {
			w.t.Errorf("the answer is %s", m.Data)
		}
	}
	_, err = w.b.As("admin").RequestWithContext(deadline(w.t), "$SRV.PING.quotashare", nil)
	w.must(err)
}

// other is a gateway with a client that is not ours. It is told of an inbox where it has to
// be.
func (w *atWork) other() *nats.Conn {
	w.t.Helper()
	name := w.want.Gateways[0]
	if w.want.Isolate || name == "gateway" {
		return w.b.As(name, nats.CustomInboxPrefix("_INBOX")) // which is every client's
	}
	return w.b.As(name)
}

// waits is a call that waits until time has gone by in the log.
func (w *atWork) waits() {
	w.t.Helper()
	w.narrow("p", 1, "a")
	first := toRoute("alice", "p", "first")
	first["leaseMs"] = 2000
	w.route(first)
	if r := w.route(toRoute("alice", "p", "second")); r.Decision != "allow" {
		w.t.Errorf("after the lease: %+v", r)
	}
}

// noHolds is a log that takes none: deciders tell each other.
func (w *atWork) noHolds() {
	w.t.Helper()
	w.change(func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1 })
	defer w.change(func(*jetstream.StreamConfig) {})
	got := w.send("POST", apiPath("decide"), object{"apiKeyId": "alice", "connectionId": "kimi", "requestId": "told", "reserve": true, "maxWaitMs": 1})
	if !strings.Contains(got, "no-hold") {
		w.t.Errorf("the answer is %s", got)
	}
}

// snapshots are stored in the broker, where one makes room for the next, and another
// decider begins from it.
func (w *atWork) snapshots() {
	w.t.Helper()
	for range 3 { // the oldest and the newest stay
		w.at(w.publishAll(w.b.As("ingest")))
		var answer struct{ Snapshot struct{ Seq uint64 } }
		decode(w.t, w.mustCall("POST", apiPath("snapshots"), ""), &answer)
		w.said.await(deadline(w.t), w.t, fmt.Sprintf("stored a snapshot in the broker\" seq=%d ", answer.Snapshot.Seq))
	}
	w.awaitDone("decider", "PUB $JS.API.STREAM.PURGE.OBJ_QUOTA_SNAPSHOTS")
	// Of what is old enough for it the engine purges the log as its user may; here nothing is.
	log, err := jetStream(w.t, w.b.As("decider")).Stream(deadline(w.t), "QUOTA")
	w.must(err)
	w.must(log.Purge(deadline(w.t), jetstream.WithPurgeSubject("quota.saturation")))
	w.decide()
}

// awaitDone waits until a user has done that.
func (w *atWork) awaitDone(user, what string) {
	w.t.Helper()
	for ctx := deadline(w.t); !slices.Contains(w.b.Did(user), what); {
		if ctx.Err() != nil {
			w.t.Fatalf("%s never did %s:\n%s", user, what, w.said)
		}
		runtime.Gosched()
	}
}

// rejections are those of an event, and one that takes the place of another's, as after a
// log was rolled back.
func (w *atWork) rejections() {
	w.t.Helper()
	log, err := w.admin.Stream(deadline(w.t), "QUOTA")
	w.must(err)
	next := log.CachedInfo().State.LastSeq + 1
	_, err = w.admin.Publish(deadline(w.t), fmt.Sprintf("quota.rejected.%d.0", next), []byte("of another log"))
	w.must(err)
	ack, err := jetStream(w.t, w.other()).Publish(deadline(w.t), "quota.consumption", []byte(`{}`))
	w.must(err)
	if ack.Sequence != next {
		w.t.Fatalf("stored as %d, want %d", ack.Sequence, next)
	}
	rejected, err := w.admin.Stream(deadline(w.t), "QUOTA_REJECTED")
	w.must(err)
	for ctx := deadline(w.t); ; {
		m, err := rejected.GetLastMsgForSubject(ctx, fmt.Sprintf("quota.rejected.%d.0", next))
		if err == nil && strings.Contains(string(m.Data), "consumption") {
			return
		}
		if ctx.Err() != nil {
			w.t.Fatalf("the rejection is %v", err)
		}
	}
}

// looks are those of an operator.
func (w *atWork) looks() {
	w.t.Helper()
	w.awaitDone("decider", "PUB quota.decisions.kimi")
	for _, path := range []string{"rejected", "rejected?order=newest", "changes", "decisions", "state", "pools/team/usage", "explain?apiKeyId=alice&connectionId=kimi&seq=20"} {
		w.mustCall("GET", "/api/quota/"+path, "")
	}
}

// verify derives again what is in the log, as the viewer.
func (w *atWork) verify() {
	w.t.Helper()
	nc := w.b.As("viewer")
	log, err := livelog.NATSLog(livelog.NATSOptions{Conn: nc, PurgeAge: decider.DefaultPurgeAge})
	w.must(err)
	rows, err := livelog.NATSRows(nc, nil)
	w.must(err)
	shared, err := objects.New(objects.Options{Conn: nc})
	w.must(err)
	into := snapdir.New(snapdir.Options{Dir: filepath.Join(w.t.TempDir(), "fetched")})
	made, err := replay.Verify(deadline(w.t), replay.VerifyOptions{Rows: rows, Options: replay.Options{
		Log: log, Start: starts.Shared{Broker: shared, Into: into}, Store: pebblestore.Temporary(w.t.TempDir(), slog.New(slog.DiscardHandler)),
	}})
	w.must(err)
	if made.Differs() {
		w.t.Errorf("it differs: %+v", made)
	}
}

// ofSeveralCopies is the right that who reads needs of a log of several copies alone: it
// asks their leader.
const ofSeveralCopies = "PUB $JS.API.STREAM.MSG.GET.QUOTA"

// mustUseAll compares what users did with what they may.
func (w *atWork) mustUseAll() {
	w.t.Helper()
	o, err := server.ProcessConfigFile(w.b.File())
	w.must(err)
	for _, u := range o.Users {
		if u.Username == "admin" {
			continue
		}
		did := w.b.Did(u.Username)
		if u.Username == "viewer" {
			did = append(did, ofSeveralCopies)
		}
		for _, right := range slices.Concat(operations("PUB", u.Permissions.Publish), operations("SUB", u.Permissions.Subscribe)) {
			prefix, wild := strings.CutSuffix(right, ">")
			if prefix, wild = cutStar(prefix, wild); !slices.ContainsFunc(did, func(d string) bool { return d == right || wild && strings.HasPrefix(d, prefix) }) {
				w.t.Errorf("%s never needs the right %s", u.Username, right)
			}
		}
	}
}

func cutStar(prefix string, wild bool) (string, bool) {
	if wild {
		return prefix, true
	}
	return strings.CutSuffix(prefix, "*")
}

func operations(what string, p *server.SubjectPermission) (all []string) {
	for _, s := range p.Allow {
		all = append(all, what+" "+s)
	}
	return all
}
