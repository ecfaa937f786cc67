package decider

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

const (
	dayMs = int64(86_400_000)
	month = 30 * dayMs
)

// oldLog is a log on a disk, whose messages were stored when the test says.
type oldLog struct {
	t   *testing.T
	dir string
	nc  *nats.Conn // while it runs
	end func()
}

func (l *oldLog) start() {
	srv, err := ingest.Start(ingest.Options{Dir: l.dir, Addr: "127.0.0.1:-1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		l.t.Fatal(err)
	}
	if l.nc, err = nats.Connect(srv.ClientURL()); err != nil {
		l.t.Fatal(err)
	}
	makeStreams(l.t, l.nc)
	l.end = func() {
		l.nc.Close()
		came(l.t, returned(func() { srv.Shutdown() }), "the end of the broker")
	}
}

// at stores messages as if the broker had taken them at that time, and goes on.
func (l *oldLog) at(time int64, messages ...*nats.Msg) {
	l.t.Helper()
	l.start()
	js, err := jetstream.New(l.nc)
	if err != nil {
		l.t.Fatal(err)
	}
	first := uint64(0)
	for _, m := range messages {
		ack, err := js.PublishMsg(l.t.Context(), m)
		if err != nil {
			l.t.Fatal(err)
		}
		if first == 0 {
			first = ack.Sequence
		}
	}
	l.end()
	l.date(first, time)
	l.start()
}

// date changes the timestamps of the messages from a sequence on, in the files of the
// broker: it takes none from who publishes.
func (l *oldLog) date(from uint64, time int64) {
	l.t.Helper()
	dir := filepath.Join(l.dir, "jetstream", "$G", "streams", events.Stream, "msgs")
	if err := os.Remove(filepath.Join(dir, "index.db")); err != nil { // it is made again from the blocks
		l.t.Fatal(err)
	}
	blocks, err := filepath.Glob(filepath.Join(dir, "*.blk"))
	if err != nil || len(blocks) == 0 {
		l.t.Fatal(blocks, err)
	}
	for _, name := range blocks {
		var index int
		if _, err := fmt.Sscanf(filepath.Base(name), "%d.blk", &index); err != nil {
			l.t.Fatal(err)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			l.t.Fatal(err)
		}
		dateBlock(l.t, data, index, from, time)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
}

// dateBlock goes along the records of a block: length, of which the highest bit says
// that there are headers, sequence, timestamp in ns, length of the subject; subject,
// length of the headers and headers, message, hash.
func dateBlock(t *testing.T, data []byte, index int, from uint64, time int64) {
	t.Helper()
	key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", events.Stream, index))
	h, err := highwayhash.New64(key[:])
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	const headers, tombstone = 1 << 31, 1 << 63
	for len(data) > 0 {
		length := le.Uint32(data)
		r := data[:length&^headers]
		data = data[len(r):]
		if seq := le.Uint64(r[4:]); seq&tombstone != 0 || seq < from {
			continue
		}
		le.PutUint64(r[12:], uint64(time)*1e6)
		body := r[22 : len(r)-8]
		subject, rest := body[:le.Uint16(r[20:])], body[le.Uint16(r[20:]):]
		if length&headers != 0 {
			rest = rest[4:]
		}
		h.Reset()
		for _, part := range [][]byte{r[4:20], subject, rest} {
			if _, err := h.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		copy(r[len(r)-8:], h.Sum(nil))
	}
}

func message(subject, body string) *nats.Msg {
	return &nats.Msg{Subject: subject, Data: []byte(body), Header: nats.Header{}}
}

func configured(subject, body string) *nats.Msg {
	m := message(subject, body)
	m.Header.Set(events.HeaderConfig, events.ConfigPut)
	m.Header.Set(events.HeaderTTL, events.TTLNever)
	return m
}

func tokens(key string, n int) *nats.Msg {
	return message("quota.consumption", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":"c","model":"m","cost":{"tokens":%d}}`, key, n))
}

// newest is the end of the story: an instant of the last month at which usage of 45
// days ago is in the bucket before, wherever in its month today is.
func newest() int64 {
	now := time.Now().UnixMilli()
	if now%month < 16*dayMs {
		return now - now%month - 6*dayMs
	}
	return now
}

// story is a log with usage 65, 45 and 20 days old and of today, over which an engine
// ran at each of these times and stored a snapshot.
type story struct {
	*oldLog
	now    int64
	state  string // the directory of the store
	change func(*Engine)
}

func tell(t *testing.T) *story {
	s := &story{oldLog: &oldLog{t: t, dir: t.TempDir()}, state: t.TempDir() + "/state"}
	end := newest()
	s.change = func(e *Engine) {
		sharing(e)
		now := s.now
		e.now = func() int64 { return now }
	}
	for _, step := range []struct {
		ago      int64
		messages []*nats.Msg
	}{
		{65, []*nats.Msg{
			configured("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connectionIds":["c"],"allocations":[{"apiKeyId":"k","weight":100}]}`),
			tokens("gone", 7), tokens("k", 1_000),
			configured("quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"tokens","window":"monthly","limit":1000000}]}`),
		}},
		{45, []*nats.Msg{tokens("k", 600)}},
		{20, []*nats.Msg{tokens("k", 300)}},
	} {
		s.now = end - step.ago*dayMs
		s.at(s.now, step.messages...)
		s.run(func(r *running) { r.storedShared() })
		s.end()
	}
	s.now = end
	s.at(end, tokens("k", 50))
	return s
}

// run runs an engine over the log as it is, until do returns.
func (s *story) run(do func(r *running)) {
	s.t.Helper()
	r := start(s.t, s.nc, s.state, s.change)
	do(r)
	r.stop()
}

// weighs is what usage of the month weighs: the sum of two buckets, the older one for
// the part of it that is still in the window.
func (s *story) weighs() quota.Amount {
	var curr, prev int64
	for ago, n := range map[int64]int64{65: 1_000, 45: 600, 20: 300, 0: 50} {
		switch s.now/month - (s.now-ago*dayMs)/month {
		case 0:
			curr += n * 1_000
		case 1:
			prev += n * 1_000
		}
	}
	return quota.Amount(curr + prev*(month-s.now%month)/month)
}

func (r *running) monthly() quota.Amount {
	r.t.Helper()
	a := r.ask(questions.Question{APIKeyID: "k", ConnectionID: "c", Explain: true})
	if len(a.Dimensions) != 1 {
		r.t.Fatalf("%+v", a)
	}
	return a.Dimensions[0].Consumed
}

// retained runs the retention of an engine once it does the shared work.
func (r *running) retained() outcomeOfPlan {
	r.t.Helper()
	r.awaitSaid("this process does the work that deciders share")
	r.retention.retain(r.within(), r.current.Load())
	return r.retention.outcome()
}

func (s *story) sequences() (first, last, n uint64) {
	s.t.Helper()
	js, err := jetstream.New(s.nc)
	if err != nil {
		s.t.Fatal(err)
	}
	stream, err := js.Stream(s.t.Context(), events.Stream)
	if err != nil {
		s.t.Fatal(err)
	}
	x := stream.CachedInfo().State
	return x.FirstSeq, x.LastSeq, x.Msgs
}

// TestMonthlyWindowsSurviveRetention: usage 20 and 45 days old still weighs as it must
// under a retention of 14 days, after a collection, a purge of the log and a start
// from a snapshot; whichever it is.
func TestMonthlyWindowsSurviveRetention(t *testing.T) {
	s := tell(t)
	defer func() { s.end() }()
	want := s.weighs()
	if prev := s.now/month - (s.now-45*dayMs)/month; prev != 1 || want <= 50_000 {
		t.Fatalf("usage of 45 days ago is %d buckets back, and all weighs %d", prev, want)
	}
	var digest string
	s.run(func(r *running) {
		if got := r.monthly(); got != want {
			t.Errorf("before: %d, want %d", got, want)
		}
		digest = r.digest()
		x := r.retained()
		if !x.Finished || x.Error != "" {
			t.Errorf("%+v", x)
		}
		if got := r.digest(); got != digest {
			t.Errorf("after the retention the digest is %s, before %s", got, digest)
		}
		if keys := r.current.Load().state.Keys(); len(keys) != 1 || keys[0].ID != "k" {
			t.Errorf("of the keys %v only k used anything in two months", keys)
		}
		rows := 0
		r.must(r.current.Load().store.Scan([]byte("h"), []byte("i"), func(_, _ []byte) error { rows++; return nil }))
		if rows != 2 {
			t.Errorf("%d rows of history are left, want today's of the key and of all", rows)
		}
		for cutoff, want := range map[int64]uint64{s.now - 45*dayMs: 5, s.now - 45*dayMs + 1: 6} {
			if x, err := r.retention.lookAtLog(r.within(), cutoff); x.Young != want || err != nil {
				t.Errorf("the first message that is not older than %d is %d, %v, want %d", cutoff, x.Young, err, want)
			}
		}
		r.snapshot()
	})
	// The pool, the plan and what came after 65 days; the usage of then is gone.
	if first, last, n := s.sequences(); first != 1 || last != 7 || n != 5 {
		t.Errorf("the log has %d messages from %d to %d", n, first, last)
	}
	for _, kept := range []string{"as it is", "the newest snapshot", "the oldest snapshot"} {
		switch kept {
		case "the newest snapshot":
			mustRemove(t, s.state)
		case "the oldest snapshot":
			mustRemove(t, s.state)
			list, err := filepath.Glob(filepath.Join(filepath.Dir(s.state), "snapshots", "*.snapshot"))
			if err != nil || len(list) != 4 {
				t.Fatal(list, err)
			}
			for _, name := range list[1:] {
				mustRemove(t, name)
			}
		}
		s.run(func(r *running) {
			if got := r.monthly(); got != want {
				t.Errorf("%s: %d, want %d", kept, got, want)
			}
			if got := r.digest(); got != digest {
				t.Errorf("%s: the digest is %s, want %s", kept, got, digest)
			}
		})
	}
}

func mustRemove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// limit is the age limit of the log, and limitTo changes it.
func (s *story) limit() time.Duration {
	s.t.Helper()
	js, err := jetstream.New(s.nc)
	if err != nil {
		s.t.Fatal(err)
	}
	stream, err := js.Stream(s.t.Context(), events.Stream)
	if err != nil {
		s.t.Fatal(err)
	}
	return stream.CachedInfo().Config.MaxAge
}

func (s *story) limitTo(age time.Duration) {
	s.t.Helper()
	js, err := jetstream.New(s.nc)
	if err != nil {
		s.t.Fatal(err)
	}
	c := ingest.Configs(14, 1)[0]
	c.MaxAge = age
	if _, err = js.UpdateStream(s.t.Context(), c); err != nil {
		s.t.Fatal(err)
	}
}

// TestConfigurationSurvivesTheBrokersStart: a broker that opens a log deletes what is
// older than the age limit, whatever it is. An engine takes the limit away that earlier
// versions set, as soon as it runs; so a pool of long ago is there when the broker has
// started again, and in a state that is folded from the log alone.
func TestConfigurationSurvivesTheBrokersStart(t *testing.T) {
	s := &story{oldLog: &oldLog{t: t, dir: t.TempDir()}, state: t.TempDir() + "/state"}
	s.start()
	s.run(func(r *running) {
		for _, m := range []*nats.Msg{
			configured("quota.config.pool.p", `{"id":"p","name":"P","provider":"custom","connectionIds":["c"],"allocations":[{"apiKeyId":"k","weight":100}]}`),
			configured("quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"tokens","window":"monthly","limit":1000000}]}`),
		} {
			_, err := r.js.PublishMsg(r.within(), m)
			r.must(err)
		}
	})
	s.limitTo(90 * 24 * time.Hour)
	s.change = func(e *Engine) { e.retention.turn.Lock() } // not with the first plan
	s.run(func(r *running) {
		defer r.retention.turn.Unlock()
		for ctx := r.within(); s.limit() != 0; {
			if ctx.Err() != nil {
				t.Fatal("the limit is not lifted")
			}
		}
	})
	s.end()
	s.date(1, time.Now().UnixMilli()-200*dayMs)
	s.start()
	defer func() { s.end() }()
	if first, last, n := s.sequences(); first != 1 || last != 2 || n != 2 {
		t.Fatalf("the log has %d messages from %d to %d", n, first, last)
	}
	mustRemove(t, s.state)
	s.change = nil
	s.run(func(r *running) {
		if a := r.ask(questions.Question{APIKeyID: "k", ConnectionID: "c", Explain: true}); a.Reason != "ok" || len(a.Dimensions) != 1 {
			t.Errorf("folded from the log alone: %+v", a)
		}
	})
}

// TestALimitOfSomebodyElse is left, said once, counted and shown; what may go goes.
func TestALimitOfSomebodyElse(t *testing.T) {
	const limit = 40 * 24 * time.Hour
	s := &story{oldLog: &oldLog{t: t, dir: t.TempDir()}, state: t.TempDir() + "/state", change: sharing}
	s.start()
	defer func() { s.end() }()
	s.limitTo(limit)
	s.run(func(r *running) {
		const why = "max age: the log has one of 960h0m0s: when the broker starts again it deletes all that is older, pools, plans and settings too"
		for range 2 {
			if x := r.retained(); !x.Finished || !strings.HasPrefix(x.Error, why) || s.limit() != limit {
				t.Errorf("the limit is %s: %+v", s.limit(), x)
			}
		}
		if n := strings.Count(r.said.String(), why); n != 1 {
			t.Errorf("said %d times", n)
		}
		if state, err := r.State(r.within(), 0, false); err != nil || !strings.HasPrefix(state.Retention.Problem, why) {
			t.Errorf("the state shows %+v, %v", state.Retention, err)
		}
		if got := r.gauge("quotashare_retention_max_age_seconds"); got != limit.Seconds() {
			t.Errorf("the metric is %v", got)
		}
		s.limitTo(0)
		if x, got := r.retained(), r.gauge("quotashare_retention_max_age_seconds"); !x.Finished || x.Error != "" || got != 0 {
			t.Errorf("it is taken away, and the metric is %v: %+v", got, x)
		}
	})
}

// TestAPlanFollowsTheSetting at once, and not an hour of log time later.
func TestAPlanFollowsTheSetting(t *testing.T) {
	s := &story{oldLog: &oldLog{t: t, dir: t.TempDir()}, state: t.TempDir() + "/state", change: sharing}
	s.start()
	defer func() { s.end() }()
	s.run(func(r *running) { r.usage(1) }) // the first plan has a log time
	s.run(func(r *running) {
		r.awaitSaid("retention: done")
		r.set(plans.ConsumptionRetentionDays, 200)
		ctx := r.within()
		for kept := ""; kept != "history is kept for 200 days"; {
			select {
			case <-r.said.grew:
			case <-ctx.Done():
				t.Fatalf("the state says %q", kept)
			}
			state, err := r.State(ctx, 0, false)
			r.must(err)
			kept = state.Retention.Steps[len(state.Retention.Steps)-1].Why
		}
	})
}

// TestWithoutTheLeaseTheLogIsLeft, and all else is done.
func TestWithoutTheLeaseTheLogIsLeft(t *testing.T) {
	s := tell(t)
	defer func() { s.end() }()
	s.change = func(e *Engine) { keeping(e) } // and shares nothing
	s.run(func(r *running) {
		r.retention.retain(r.within(), r.current.Load())
		if x := r.retention.outcome(); !x.Finished || !r.retention.left.Load() {
			t.Errorf("%+v", x)
		}
		if keys := r.current.Load().state.Keys(); len(keys) != 1 {
			t.Errorf("keys %v", keys)
		}
	})
	if _, _, n := s.sequences(); n != 7 {
		t.Errorf("the log has %d messages, want all 7", n)
	}
}

// TestADamagedSnapshotIsNotCountedOn: with one too few nothing of the log goes.
func TestADamagedSnapshotIsNotCountedOn(t *testing.T) {
	s := tell(t)
	defer func() { s.end() }()
	list, err := filepath.Glob(filepath.Join(filepath.Dir(s.state), "snapshots", "*.snapshot"))
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	for _, name := range list[1:] {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)-40] ^= 1
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.run(func(r *running) {
		if x := r.retained(); !x.Finished || len(x.Plan.Keep) != 1 {
			t.Errorf("%+v", x)
		}
	})
	if _, _, n := s.sequences(); n != 7 {
		t.Errorf("the log has %d messages, want all 7", n)
	}
}
