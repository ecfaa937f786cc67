package replay

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/replay/livelog"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, brokertest.LostChannel) }

// rig is a log with a broker of its own.
type rig struct {
	t   *testing.T
	js  jetstream.JetStream
	log Log
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t}
	nc, js := brokertest.Start(t).Log()
	r.js = js
	var err error
	r.log, err = livelog.NATSLog(livelog.NATSOptions{Conn: nc, PurgeAge: time.Hour})
	r.must(err)
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) within() context.Context {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	r.t.Cleanup(cancel)
	return ctx
}

// publish stores a message and returns its sequence.
func (r *rig) publish(subject, body string) uint64 {
	r.t.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(body)
	if len(subject) > 12 && subject[:13] == "quota.config." {
		m.Header.Set(events.HeaderConfig, events.ConfigPut)
	}
	ack, err := r.js.PublishMsg(r.within(), m)
	r.must(err)
	return ack.Sequence
}

func (r *rig) use(id, key string, tokens int) uint64 {
	r.t.Helper()
	return r.publish("quota.consumption", fmt.Sprintf(`{"id":%q,"apiKeyId":%q,"connectionId":"c","requestId":"r-%s","cost":{"tokens":%d}}`, id, key, id, tokens))
}

func (r *rig) hold(id, key string, tokens int) uint64 {
	r.t.Helper()
	return r.publish("quota.hold", fmt.Sprintf(
		`{"id":%q,"apiKeyId":%q,"requestId":"r-%s","connectionId":"c","estimate":{"tokens":%d,"requests":1},"leaseMs":300000,"decisionId":%q}`, id, key, id, tokens, id))
}

// history is a pool with a plan, and everything that may stand in a log: holds that
// pass and that do not, settled and open ones, duplicates, and what is no event.
func (r *rig) history() (last uint64) {
	r.t.Helper()
	r.publish("quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":1000}]}`)
	r.publish("quota.config.pool.p", `{"id":"p","name":"P","provider":"kimi","connections":[{"connectionId":"c"}],"allocations":[{"apiKeyId":"a","weight":50},{"apiKeyId":"b","weight":50}]}`)
	for i := range 12 {
		r.hold(fmt.Sprintf("h%d", i), string("ab"[i%2]), 100)
		if i%3 == 0 {
			r.use(fmt.Sprintf("h%d", i), string("ab"[i%2]), 70)
		}
		if i%4 == 0 {
			r.hold("h1", "b", 100) // it is there already
			r.publish("quota.consumption", `{"apiKeyId":`)
		}
		last = r.use(fmt.Sprintf("u%d", i/2), "a", 10)
	}
	return last
}

// messages reads the log as it is, one message at a time.
func (r *rig) messages() (list []events.Message) {
	r.t.Helper()
	s, err := r.js.Stream(r.within(), events.Stream)
	r.must(err)
	for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(r.within(), seq)
		if err != nil {
			continue // deleted
		}
		list = append(list, events.Message{Subject: m.Subject, Header: m.Header, Data: m.Data, Seq: m.Sequence, Time: m.Time.UnixMilli()})
	}
	return list
}

// fold is the state after messages, folded one by one, with its store.
func (r *rig) fold(list []events.Message) (*projector.State, *memstore.Store) {
	r.t.Helper()
	store := memstore.New()
	s := projector.NewState(store)
	for _, m := range list {
		var run projector.Run
		run.Add(m)
		r.must(s.Apply(&run))
	}
	b := store.NewBatch()
	r.must(s.Cut(b))
	r.must(store.Commit(b))
	s.Committed()
	return s, store
}

// digest is that of the state after messages.
func (r *rig) digest(list []events.Message) projector.Digest {
	r.t.Helper()
	s, _ := r.fold(list)
	d, err := s.Digest()
	r.must(err)
	return d
}

// snapshot keeps the state after messages in a directory.
func (r *rig) snapshot(dir *snapdir.Dir, list []events.Message) {
	r.t.Helper()
	_, store := r.fold(list)
	_, _, err := projected.Save(r.within(), dir, store)
	r.must(err)
}

// now is the time of the broker, epoch ms.
func (r *rig) now() int64 { return time.Now().UnixMilli() }

func inMemory() (projector.Store, error) { return memstore.New(), nil }

// open opens a player over the rig's log.
func (r *rig) open(o Options, notAfter uint64) *Player {
	r.t.Helper()
	o.Log = r.log
	if o.Store == nil {
		o.Store = inMemory
	}
	p, err := Open(r.within(), o, notAfter)
	r.must(err)
	r.t.Cleanup(func() { r.must(p.Close()) })
	return p
}

func (r *rig) digestOf(p *Player) projector.Digest {
	r.t.Helper()
	d, err := p.Digest()
	r.must(err)
	return d
}
