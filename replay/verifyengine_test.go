package replay_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/internal/enginetest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/livelog"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// town is a broker with real engines on it, and what lives from them.
type town struct {
	t    testing.TB
	nc   *nats.Conn
	js   jetstream.JetStream
	dir  string
	seed uint64
}

func newTown(t testing.TB) *town {
	t.Helper()
	c := &town{t: t, dir: t.TempDir()}
	c.nc, c.js = brokertest.Start(t).Log()
	return c
}

func (c *town) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// engine is a decider that runs until stop, which stores all that it recorded.
func (c *town) engine(name string) (e *decider.Engine, stop func()) {
	c.t.Helper()
	running := enginetest.Start(c.t, decider.Options{
		Conn: c.nc, Dir: filepath.Join(c.dir, name, "state"), Settings: plans.DefaultSettings(),
		SnapshotDir: c.snapshots(name), SnapshotKeep: 5,
	})
	return running.Engine, running.Stop
}

func (c *town) snapshots(name string) string { return filepath.Join(c.dir, name, "snapshots") }

func (c *town) start(name string) replay.Start {
	return starts.Local{Dir: snapdir.New(snapdir.Options{Dir: c.snapshots(name)})}
}

func (c *town) publish(subject, body string) uint64 {
	c.t.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(body)
	if len(subject) > len(events.ConfigPrefix) && subject[:len(events.ConfigPrefix)] == events.ConfigPrefix {
		m.Header.Set(events.HeaderConfig, events.ConfigPut)
	}
	ack, err := c.js.PublishMsg(c.t.Context(), m)
	c.must(err)
	return ack.Sequence
}

// The ways of sharing, as fields of a pool.
const (
	byThreshold = `"rule":"threshold"`
	byGuarantee = `"rule":"guarantee"`
	byHalf      = `"rule":"guarantee","reserve":50`
)

// configure writes what is in force: how much there is, what the second pool does with its
// decisions, and how both share.
func (c *town) configure(tokens, places int, mode, sharing string) {
	c.t.Helper()
	c.publish("quota.config.settings", `{"values":{"decisionSampleRate":{"value":1,"source":"stored"}}}`)
	for _, conn := range []string{"a", "b", "seen"} {
		c.publish("quota.config.plan."+conn, fmt.Sprintf(`{"connectionId":%q,"dimensions":[{"unit":"tokens","window":"hourly","limit":%d},{"unit":"percent","window":"5h","limit":100}]}`, conn, tokens))
	}
	c.publish("quota.config.pool.p", fmt.Sprintf(`{"id":"p","name":"P","provider":"kimi",%s,"connections":[{"connectionId":"a","weight":3,"maxConcurrent":%d},{"connectionId":"b","maxConcurrent":%d}],
		"allocations":[{"apiKeyId":"k0","weight":40},{"apiKeyId":"k1","weight":30,"policy":"soft"},{"apiKeyId":"k2","weight":10,"policy":"burst","caps":[{"unit":"requests","window":"hourly","value":40}]},{"apiKeyId":"*","weight":20}],
		"modelCaps":[{"apiKeyId":"k0","model":"m","capValue":900,"capUnit":"tokens"}]}`, sharing, places, places))
	c.publish("quota.config.pool.o", fmt.Sprintf(`{"id":"o","name":"O","provider":"kimi","mode":%q,%s,"connections":[{"connectionId":"seen"}],"allocations":[{"apiKeyId":"k0","weight":1},{"apiKeyId":"k1","weight":99}]}`, mode, sharing))
}

// gateway asks as one does, so many times, with all that may come of it.
func (c *town) gateway(e *decider.Engine, name string, seed uint64, asks int) {
	r := rand.New(rand.NewPCG(seed, 7))
	for i := 0; i < asks; i++ {
		qs := []questions.Question{wish(r, name, i)}
		for !qs[0].Routed() && r.IntN(3) > 0 { // several in one message see each other
			i++
			if q := wish(r, name, i); !q.Routed() {
				qs = append(qs, q)
			}
		}
		replies := make([]questions.Reply, len(qs))
		for i := range replies {
			replies[i].Reset()
		}
		e.Decide(context.Background(), qs, replies)
		for at := range qs {
			c.after(r, &qs[at], &replies[at], name, i)
		}
	}
}

// wish is a question of a gateway.
func wish(r *rand.Rand, name string, i int) questions.Question {
	q := questions.Question{APIKeyID: fmt.Sprint("k", r.IntN(5)), MaxWaitMs: 2000}
	q.Estimate[quota.Tokens] = quota.Amount(r.IntN(60)) * 1000
	if r.IntN(3) == 0 {
		q.Model = "m"
	}
	conn := []string{"a", "b", "seen", "none"}[r.IntN(4)]
	switch way := r.IntN(10); {
	case way < 2:
		q.ConnectionID = conn
	case way < 3:
		q.Pool = []string{"p", "o"}[r.IntN(2)]
	case way < 6:
		q.ConnectionID, q.Reserve = conn, true
	case way < 9:
		q.Pool, q.Reserve, q.MaxWaitMs = "p", true, int64(r.IntN(80))
	default:
		q.Candidates, q.Reserve = []questions.Candidate{{ConnectionID: "b", HasScore: true, Score: 500_000}, {ConnectionID: "seen"}, {ConnectionID: "none"}}, true
	}
	if q.Reserve {
		q.Estimate[quota.Requests] = 1000
		q.RequestID = fmt.Sprint(name, "-", i-r.IntN(2))
		q.LeaseMs = int64(1+r.IntN(4)) * 100
	}
	return q
}

// after is what a gateway tells of a call.
func (c *town) after(r *rand.Rand, q *questions.Question, reply *questions.Reply, name string, i int) {
	conn := q.ConnectionID
	if reply.ConnectionID != "" {
		conn = reply.ConnectionID
	}
	if !reply.Allow || conn == "" {
		return
	}
	request := ""
	if q.Reserve {
		request = fmt.Sprintf(`,"requestId":%q`, reply.RequestID)
	}
	switch r.IntN(8) {
	case 0:
		c.publish("quota.release", fmt.Sprintf(`{"apiKeyId":%q,"requestId":%q}`, q.APIKeyID, name+fmt.Sprint("-", i)))
	case 1: // its lease ends it
	case 2:
		c.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":%q%s,"partial":true,"cost":{"tokens":3}}`, q.APIKeyID, conn, request))
	case 3:
		c.publish("quota.saturation", fmt.Sprintf(`{"connectionId":%q,"provider":"kimi","readings":[{"window":"5h","usedPercent":%d}]}`, conn, r.IntN(101)))
	default:
		c.publish("quota.consumption", fmt.Sprintf(`{"id":"%s-%d","apiKeyId":%q,"connectionId":%q,"model":"m"%s,"cost":{"tokens":%d}}`, name, i, q.APIKeyID, conn, request, r.IntN(40)))
	}
}

// live is a history of two engines and six gateways: configuration changes in the
// middle, one engine is started anew, and snapshots are taken.
func (c *town) live(asks int) {
	c.t.Helper()
	c.configure(3000, 2, "observe", byThreshold)
	first, stopFirst := c.engine("first")
	second, stopSecond := c.engine("second")
	c.many(asks, first, second)
	_, err := first.Snapshot(c.t.Context())
	c.must(err)
	c.configure(2000, 1, "enforce", byGuarantee)
	c.many(asks, first, second)
	stopSecond()
	second, stopSecond = c.engine("second")
	_, err = second.Snapshot(c.t.Context())
	c.must(err)
	c.configure(4000, 3, "observe", byHalf)
	c.many(asks, first, second)
	_, err = first.Snapshot(c.t.Context())
	c.must(err)
	c.many(asks/4, first, second)
	stopFirst()
	stopSecond()
}

func (c *town) many(asks int, engines ...*decider.Engine) {
	var all sync.WaitGroup
	for i := range 6 {
		c.seed++
		name := fmt.Sprint("g", c.seed)
		seed := c.seed
		all.Go(func() { c.gateway(engines[i%len(engines)], name, seed, asks) })
	}
	all.Wait()
}

func inMemory() (projector.Store, error) { return memstore.New(), nil }

func (c *town) log() replay.Log {
	c.t.Helper()
	log, err := livelog.NATSLog(livelog.NATSOptions{Conn: c.nc, PurgeAge: time.Hour})
	c.must(err)
	return log
}

func (c *town) rows() replay.Rows {
	c.t.Helper()
	rows, err := livelog.NATSRows(c.nc, slog.New(slog.NewTextHandler(io.Discard, nil)))
	c.must(err)
	return rows
}

// verify verifies, and shows what differs.
func (c *town) verify(o replay.VerifyOptions) (*replay.Verification, []replay.Difference) {
	c.t.Helper()
	o.Log, o.Store = c.log(), inMemory
	var list []replay.Difference
	o.Told = func(d *replay.Difference) { list = append(list, *d) }
	v, err := replay.Verify(c.t.Context(), o)
	c.must(err)
	return v, list
}

func show(t testing.TB, list []replay.Difference) {
	t.Helper()
	for i := range list[:min(len(list), 20)] {
		d := &list[i]
		t.Errorf("%d[%d] hold=%v %s %s: %+v", d.Seq, d.Index, d.Hold, d.DecisionID, questions.AppendQuestion(nil, &d.Question), d.Fields)
	}
	if len(list) > 20 {
		t.Errorf("and %d more", len(list)-20)
	}
}

func TestEverythingThatEnginesAnsweredFollowsFromTheLog(t *testing.T) {
	c := newTown(t)
	c.live(120)
	all, list := c.verify(replay.VerifyOptions{Rows: c.rows()})
	show(t, list)
	t.Logf("%+v", *all)
	if r := all.Rows; r.Rows < 500 || r.Same < r.Answers*9/10 || r.Same+r.Local+r.Unproved != r.Answers || r.Answers < r.Rows || r.Unproved > 0 {
		t.Errorf("rows: %+v", r)
	}
	if h := all.Holds; h.Agreed < h.Verdicts/3 || h.Waiting == 0 || h.Agreed+h.Alone != h.Verdicts {
		t.Errorf("holds: %+v", h)
	}
}
