package replay_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/replay"
)

// TestTimesChooseByWhenItWasAnswered: parts by time have the same decisions as the list
// of them, and together the verdicts of the whole, each once.
func TestTimesChooseByWhenItWasAnswered(t *testing.T) {
	c := newTown(t)
	c.live(30)
	list := c.recorded()
	all, _ := c.verify(replay.VerifyOptions{Rows: list})
	first, last := list[0].Time, list[0].Time
	for i := range list {
		first, last = min(first, list[i].Time), max(last, list[i].Time)
	}
	var rows uint64
	var holds replay.HoldCounts
	step := (last - first) / 7
	for from := int64(1); from <= last; {
		to := max(first, from) + step
		want := uint64(0)
		for i := range list {
			if list[i].Time >= from && list[i].Time <= to {
				want++
			}
		}
		v, found := c.verify(replay.VerifyOptions{Rows: list, FromTime: from, ToTime: to})
		show(t, found)
		if v.Rows.Answers != want || v.Rows.Same+v.Rows.Local != want {
			t.Errorf("from %d to %d: %+v, want %d", from, to, v.Rows, want)
		}
		rows += v.Rows.Answers
		holds.Verdicts += v.Holds.Verdicts
		holds.Waiting += v.Holds.Waiting
		holds.Agreed += v.Holds.Agreed
		from = to + 1
	}
	if h := all.Holds; rows != all.Rows.Answers || holds.Verdicts != h.Verdicts || holds.Waiting != h.Waiting || holds.Agreed != h.Agreed {
		t.Errorf("parts have %d and %+v, the whole %+v", rows, holds, *all)
	}
}

// TestAnswersOfAQuietLog: while nothing is logged, all answers are of the last message,
// however much later they are. Where there are none either, nothing differs.
func TestAnswersOfAQuietLog(t *testing.T) {
	c := newTown(t)
	c.live(10)
	list := c.recorded()
	var later given
	for _, row := range list {
		if row.Index == questions.FromView {
			row.Time += time.Hour.Milliseconds()
			later = append(later, row)
		}
	}
	rows := append(slices.Clone(later), list...)
	at := time.Now().Add(30 * time.Minute).UnixMilli()
	v, found := c.verify(replay.VerifyOptions{Rows: rows, FromTime: at})
	show(t, found)
	n := uint64(len(later))
	if n < 10 || v.Rows.Answers != n || v.Rows.Same+v.Rows.Local != n || v.Holds != (replay.HoldCounts{}) || v.From != v.To+1 {
		t.Errorf("%d later: %+v", n, *v)
	}
	last := v.To
	for i := range later { // by a clock that is an hour behind
		later[i].Time -= 2 * time.Hour.Milliseconds()
	}
	v, found = c.verify(replay.VerifyOptions{Rows: later, ToTime: list[len(list)/2].Time})
	show(t, found)
	if v.Rows.Answers != n || v.Rows.Same+v.Rows.Local != n || v.To == 0 || v.To >= last {
		t.Errorf("%d earlier: %+v", n, *v)
	}
	for _, o := range []replay.VerifyOptions{
		{FromTime: at + 2*time.Hour.Milliseconds()}, {ToTime: 1}, {From: last + 1}, {FromTime: 5, ToTime: 6},
	} {
		o.Rows = rows
		if v, _ := c.verify(o); v.Rows.Answers != 0 || v.Messages != 0 {
			t.Errorf("from %d to %d: %+v", o.FromTime, o.ToTime, *v)
		}
	}
}

// TestDecisionsThatAreGoneAreSaid: they are kept for a shorter time than the log.
func TestDecisionsThatAreGoneAreSaid(t *testing.T) {
	c := newTown(t)
	began := time.Now().UnixMilli()
	c.live(10)
	late := c.publish("quota.due", "{}")
	if v, _ := c.verify(replay.VerifyOptions{Rows: c.rows()}); v.NotKept != 0 {
		t.Errorf("all are there: not before %d", v.NotKept)
	}
	s, err := c.js.Stream(t.Context(), ingest.DecisionsStream)
	c.must(err)
	c.must(s.Purge(t.Context(), jetstream.WithPurgeSequence(2)))
	since := time.Now().UnixMilli()
	if first, err := s.GetMsg(t.Context(), 2); err == nil {
		since = first.Time.UnixMilli()
	}
	for _, part := range []struct {
		name string
		o    replay.VerifyOptions
		want int64
	}{
		{"all", replay.VerifyOptions{}, since},
		{"from a time", replay.VerifyOptions{FromTime: began}, since},
		{"from before the log began", replay.VerifyOptions{FromTime: 1}, since},
		{"from the first that is there", replay.VerifyOptions{FromTime: since}, 0},
		{"just before", replay.VerifyOptions{FromTime: since - 1}, since},
		{"a message behind", replay.VerifyOptions{From: late}, 0},
	} {
		part.o.Rows = c.rows()
		if v, _ := c.verify(part.o); v.NotKept != part.want {
			t.Errorf("%s: not before %d, want %d", part.name, v.NotKept, part.want)
		}
	}
	c.must(s.Purge(t.Context()))
	if v, _ := c.verify(replay.VerifyOptions{Rows: c.rows()}); v.NotKept <= since || v.Rows.Answers != 0 {
		t.Errorf("all are gone: not before %d, %+v", v.NotKept, v.Rows)
	}
}

// TestDecisionsThatNobodyStored: the stream is younger than the log.
func TestDecisionsThatNobodyStored(t *testing.T) {
	c := newTown(t)
	log, err := c.js.Stream(t.Context(), events.Stream)
	c.must(err)
	m, err := log.GetMsg(t.Context(), c.publish("quota.due", "{}"))
	c.must(err)
	for time.Now().UnixMilli() <= m.Time.UnixMilli() { // what is of the same millisecond may be older
		runtime.Gosched()
	}
	c.must(c.js.DeleteStream(t.Context(), ingest.DecisionsStream))
	if v, _ := c.verify(replay.VerifyOptions{Rows: c.rows()}); v.NotKept == 0 {
		t.Error("there is no stream, and it is not said")
	}
	_, err = ingest.EnsureStreams(t.Context(), c.js, ingest.Configs(14, 1))
	c.must(err)
	if v, _ := c.verify(replay.VerifyOptions{Rows: c.rows()}); v.NotKept == 0 {
		t.Error("what was before the stream is missing, and not said")
	}
}
