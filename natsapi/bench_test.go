package natsapi

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

const inFlight = 256

var benchQuestion = []byte(`{"apiKeyId":"key-0017","connectionId":"codex-main","model":"gpt-5-codex","estimate":{"requests":1,"tokens":1800}}`)

// allowing is a Decider that decides nothing, so that what is measured is ours.
type allowing struct{}

func (allowing) Applied() uint64 { return 1 << 20 }

func (allowing) Decide(_ context.Context, qs []questions.Question, rs []questions.Reply) {
	for i := range qs {
		r := &rs[i]
		r.DecisionID = "d-01JD9Q8ZK3W0"
		r.Allow, r.Reason = true, "ok"
		r.ScoreFactor = quota.RatioOne
		r.HTTPStatus = 200
		r.AsOf = questions.AsOf{Seq: 123456, Time: 1_790_000_000_123}
		r.RequestID = qs[i].RequestID
	}
}

func (d allowing) Begin(qs []questions.Question, rs []questions.Reply, _ func()) bool {
	d.Decide(context.Background(), qs, rs)
	return true
}

func (allowing) Hurry() {}

func (allowing) Release([]questions.Question, []questions.Reply) {}

// asker has inFlight goroutines that ask one question after the other, over one
// connection and one subscription.
type asker struct {
	conn    *nats.Conn
	prefix  string
	answers [inFlight]chan struct{}
}

func newAsker(tb testing.TB, conn *nats.Conn) *asker {
	a := &asker{conn: conn, prefix: nats.NewInbox() + "."}
	for i := range a.answers {
		a.answers[i] = make(chan struct{}, 1)
	}
	_, err := conn.Subscribe(a.prefix+"*", func(m *nats.Msg) {
		i, _ := strconv.Atoi(m.Subject[len(a.prefix):])
		a.answers[i] <- struct{}{}
	})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// figures of one slice.
type figures struct {
	perSecond float64
	cpu       float64 // ns of the whole process for one question
}

// ask asks each times from every goroutine.
func (a *asker) ask(tb testing.TB, subject string, each int) figures {
	var group sync.WaitGroup
	start, cpu := time.Now(), cpuTime(tb)
	for i := range a.answers {
		inbox := a.prefix + strconv.Itoa(i)
		group.Go(func() {
			for range each {
				if err := a.conn.PublishRequest(subject, inbox, benchQuestion); err != nil {
					tb.Error(err)
					return
				}
				<-a.answers[i]
			}
		})
	}
	group.Wait()
	n := float64(each * inFlight)
	return figures{n / time.Since(start).Seconds(), float64(cpuTime(tb)-cpu) / n}
}

func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDecide compares questions with a bare echo of the same sizes, in
// slices by turns, and prints the medians and the median of the ratios.
func BenchmarkDecide(b *testing.B) {
	ns := runServer(b, nil)
	served := connect(b, ns)
	replies := make([]questions.Reply, 1)
	allowing{}.Decide(b.Context(), make([]questions.Question, 1), replies)
	body := questions.AppendReply(nil, wire.JSON, &replies[0])
	if _, err := served.Subscribe("echo", func(m *nats.Msg) { _ = served.Publish(m.Reply, body) }); err != nil {
		b.Fatal(err)
	}
	s := New(Config{Conn: served, Decider: allowing{}, Version: "1.0.0"})
	if err := s.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	a := newAsker(b, connect(b, ns))
	a.ask(b, "echo", 20)
	a.ask(b, questions.Subject, 20)
	for b.Loop() {
		var echo, decide, ratio, cpuEcho, cpuDecide []float64
		for range 31 {
			e, d := a.ask(b, "echo", 40), a.ask(b, questions.Subject, 40)
			echo, decide, ratio = append(echo, e.perSecond), append(decide, d.perSecond), append(ratio, d.perSecond/e.perSecond)
			cpuEcho, cpuDecide = append(cpuEcho, e.cpu), append(cpuDecide, d.cpu)
		}
		b.ReportMetric(median(echo), "echo/s")
		b.ReportMetric(median(decide), "decide/s")
		b.ReportMetric(median(ratio), "ratio")
		b.ReportMetric(median(cpuEcho), "echo-cpu-ns")
		b.ReportMetric(median(cpuDecide), "decide-cpu-ns")
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
