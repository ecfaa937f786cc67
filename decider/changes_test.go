package decider

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// write stores a message as somebody does who does not ask us.
func (r *running) write(subject, body string, headers ...string) uint64 {
	r.t.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(body)
	for i := 0; i < len(headers); i += 2 {
		m.Header.Set(headers[i], headers[i+1])
	}
	ack, err := r.js.PublishMsg(r.within(), m)
	r.must(err)
	_, err = r.State(r.within(), ack.Sequence, false)
	r.must(err)
	return ack.Sequence
}

// changes lists all changes, in pages, as text.
func (r *running) changes(page int) (out []string) {
	r.t.Helper()
	for after := uint64(0); ; {
		list, next, err := r.Changes(r.within(), after, page)
		r.must(err)
		if len(list) > page || next != 0 && len(list) != page {
			r.t.Fatalf("%d changes on a page of %d, next %d", len(list), page, next)
		}
		for _, c := range list {
			s := fmt.Sprintf("%s %q %s by %q because %q: %.40s", c.Kind, c.ID, c.Do, c.Actor, c.Reason, c.Document)
			if c.Rejected != nil {
				s += fmt.Sprintf(" (%s)", c.Rejected.Reason)
			}
			if c.Time == 0 || c.Seq <= after {
				r.t.Errorf("%s: at %d, event %d after %d", s, c.Time, c.Seq, after)
			}
			out, after = append(out, s), c.Seq
		}
		if next == 0 {
			return out
		}
		if next != after {
			r.t.Fatalf("next is %d, the last was %d", next, after)
		}
	}
}

// TestChangesAreTheHistory of the configuration, what was refused too, in pages
// of any size, and the same after a restart, when the state remembers no
// verdicts.
func TestChangesAreTheHistory(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	_, err := r.putPool(r.within(), team("a/1", "c"), httpapi.Meta{Actor: "ops", Reason: "a start"})
	r.must(err)
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	_, err = r.PutPlan(r.within(), "c", []plans.Dimension{{Unit: quota.Tokens, Window: quota.Daily}}, httpapi.Meta{})
	r.must(err)
	_, err = r.ChangeSettings(r.within(), func(s plans.Settings) (plans.Settings, error) {
		s[plans.MaxLagMs] = plans.SettingValue{N: 9_000, Origin: plans.Stored}
		return s, nil
	}, httpapi.Meta{Actor: "ops"})
	r.must(err)
	const other = `{"id":"b","name":"b","provider":"kimi","connectionIds":["c"]}`
	r.write("quota.config.pool.b", other, events.HeaderConfig, "put", events.HeaderActor, "eve")
	r.write("quota.config.pool.b", other, events.HeaderReason, "no mark")
	r.write("quota.config.pool.b", `[1]`, events.HeaderConfig, "put")
	r.write("quota.config.pool.b", `{`, events.HeaderConfig, "delete")
	r.write("quota.config.stray", "stray", events.HeaderConfig, "put")
	r.write("quota.config.plan.c", "\x81\xa1x\x01", events.HeaderConfig, "put")
	r.must(r.DeletePool(r.within(), "a/1", httpapi.Meta{Actor: "ops", Reason: "an end"}))
	want := []string{
		`pool "a/1" put by "ops" because "a start": {"id":"a/1","name":"a/1","provider":"kim`,
		`plan "c" put by "" because "": {"connectionId":"c","dimensions":[{"unit`,
		`settings "" put by "ops" because "": {"values":{"maxLagMs":{"value":9000,"sou`,
		`pool "b" put by "eve" because "": {"id":"b","name":"b","provider":"kimi"," (config-invalid)`,
		`pool "b"  by "" because "no mark": {"id":"b","name":"b","provider":"kimi"," (config-unmarked)`,
		`pool "b" put by "" because "": [1] (config-invalid)`,
		`pool "b" delete by "" because "": `,
		` "" put by "" because "":  (unknown-subject)`,
		`plan "c" put by "" because "": {"x":1} (config-invalid)`,
		`pool "a/1" delete by "ops" because "an end": `,
	}
	for _, page := range []int{1, 2, 5, 10, 11} {
		if diff := cmp.Diff(want, r.changes(page)); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%s", page, diff)
		}
	}
	r.rejected(5)
	r.stop()
	r = start(t, nc, r.dir, nil)
	if diff := cmp.Diff(want, r.changes(100)); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
}

// TestChangesLeaveOutWhatTheLogForgot, and end where the state does.
func TestChangesLeaveOutWhatTheLogForgot(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	var seqs [3]uint64
	for i := range seqs {
		p, err := r.putPool(r.within(), team(fmt.Sprint(i), fmt.Sprint(i)), httpapi.Meta{})
		r.must(err)
		seqs[i] = p.Revision
	}
	log, err := r.js.Stream(r.within(), events.Stream)
	r.must(err)
	r.must(log.DeleteMsg(r.within(), seqs[1]))
	list, next, err := r.Changes(r.within(), 0, 1000)
	if err != nil || next != 0 || len(list) != 2 || list[0].Seq != seqs[0] || list[1].Seq != seqs[2] {
		t.Errorf("changes %+v, next %d, %v; want those of %v without the second", list, next, err, seqs)
	}
	if list, next, err := r.Changes(r.within(), math.MaxUint64, 1); len(list) != 0 || next != 0 || err != nil {
		t.Errorf("beyond the end: %v, %d, %v", list, next, err)
	}
	if last, change := r.Folded(); last != seqs[2] || change != seqs[2] {
		t.Errorf("folded %d, changed %d, want %d", last, change, seqs[2])
	}
}

// TestChangesEndWhereTheStateDoes: what is not folded may still be refused.
func TestChangesEndWhereTheStateDoes(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	_, err := r.putPool(r.within(), team("p", "c"), httpapi.Meta{})
	r.must(err)
	r.publish("quota.consumption", `{"apiKeyId":"alice","connectionId":"c"}`)
	fold := r.paused()
	_, err = r.js.Publish(r.within(), "quota.config.pool.q", []byte(`{"id":"q"}`))
	r.must(err)
	before := r.changes(10)
	fold()
	last, err := r.lastSeq(r.within())
	r.must(err)
	_, err = r.State(r.within(), last, false)
	r.must(err)
	if after := r.changes(10); len(before) != 1 || len(after) != 2 {
		t.Errorf("%q, and when all is folded %q", before, after)
	}
}

// TestAPageOfLargeChangesIsShort, and nothing is left out between pages.
func TestAPageOfLargeChangesIsShort(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	const n = 12
	for i := range n {
		r.write("quota.config.pool.p", fmt.Sprintf(`{"id":"p","n":%d,"pad":%q}`, i, strings.Repeat("x", 900_000)), events.HeaderConfig, "put")
	}
	seen, sizes := 0, []int{}
	for after, next := uint64(0), uint64(1); next != 0; after = next {
		list, more, err := r.Changes(r.within(), after, 1000)
		r.must(err)
		for _, c := range list {
			if !strings.Contains(string(c.Document), fmt.Sprintf(`"n":%d,`, seen)) {
				t.Errorf("change %d is %.40s", seen, c.Document)
			}
			seen++
		}
		sizes, next = append(sizes, len(list)), more
	}
	if seen != n || len(sizes) != 2 || sizes[0] != maxChanges/900_000+1 {
		t.Errorf("%d changes in pages of %v", seen, sizes)
	}
}

// TestARefusalOfAnotherLogIsNone: the list of rejected events may have one of a
// log that was rolled back, at the same place.
func TestARefusalOfAnotherLogIsNone(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	p, err := r.putPool(r.within(), team("p", "c"), httpapi.Meta{})
	r.must(err)
	c, _, err := r.Changes(r.within(), 0, 1)
	r.must(err)
	r.stop()
	r = start(t, nc, r.dir, nil) // it remembers no verdicts
	for _, other := range []events.Rejected{
		{Seq: p.Revision, Time: c[0].Time + 1, Subject: c[0].Subject, Reason: events.ConfigInvalid},
		{Seq: p.Revision, Time: c[0].Time, Subject: "quota.config.pool.q", Reason: events.ConfigInvalid},
		{Seq: p.Revision, Time: c[0].Time, Subject: c[0].Subject, Reason: events.ConfigInvalid},
	} {
		rejected, err := r.js.Stream(r.within(), events.RejectedStream)
		r.must(err)
		r.must(rejected.Purge(r.within()))
		_, err = r.js.Publish(r.within(), events.RejectedSubject(p.Revision, 0), other.AppendJSON(nil))
		r.must(err)
		list, _, err := r.Changes(r.within(), 0, 1)
		r.must(err)
		if same := other.Time == c[0].Time && other.Subject == c[0].Subject; same != (list[0].Rejected != nil) {
			t.Errorf("%s of %d: %+v", other.Subject, other.Time, list[0].Rejected)
		}
	}
}

// TestNoRefusalIsShownAsAChange: more were refused at once than the state keeps
// verdicts of, and the stream of rejected events has them only later.
func TestNoRefusalIsShownAsAChange(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	_, err := r.putPool(r.within(), team("p", "c"), httpapi.Meta{})
	r.must(err)
	const refused = 900
	acks := make([]jetstream.PubAckFuture, refused)
	for i := range acks {
		m := nats.NewMsg("quota.config.pool.q")
		m.Data = []byte(`{"id":"q","name":"q","provider":"kimi","connectionIds":["c"]}`)
		m.Header.Set(events.HeaderConfig, events.ConfigPut)
		acks[i], err = r.js.PublishMsgAsync(m)
		r.must(err)
	}
	last := uint64(0)
	for _, a := range acks {
		last = r.acked(a)
	}
	r.must(r.current.Load().loop.Wait(r.within(), last))
	list, next, err := r.Changes(r.within(), 1, 1000)
	if err != nil || next != 0 || len(list) != refused {
		t.Fatalf("%d changes, next %d, %v; want %d and no more", len(list), next, err, refused)
	}
	shown := 0
	for _, c := range list {
		if c.Rejected == nil {
			shown++
		}
	}
	if shown > 0 {
		t.Errorf("%d of %d refused changes are shown as if they were in force", shown, refused)
	}
}
