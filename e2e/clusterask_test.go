package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// How long there may be no answer, and no acknowledgement. What is normal is far below,
// but for the log (see the record of decisions 18); an outage of 10 s is not.
const (
	// Between a question over HTTP and a decider that lives there is nothing that dies.
	overHTTPWithin = 9 * time.Second
	// A question over NATS may be lost with a process, and is waited for.
	overNATSWithin = 9 * time.Second
	// A node that stands still is left by programs and by other nodes after 9 s, and has
	// taken the questions of its connections until then.
	frozenWithin = 25 * time.Second
	// A front door keeps after 2 s what the log does not take.
	doorsWithin = 9 * time.Second
	// Another leader is elected after 4 to 9 s, and more when votes are split.
	logWithin = 30 * time.Second
)

// answers are the questions that are answered on one way.
type answers struct {
	*pulse
	decider int  // over HTTP, the one that is asked; 0 = over NATS, any
	reserve bool // they do
}

func newWays() []*answers {
	var list []*answers
	for _, reserve := range []bool{false, true} {
		kind := map[bool]string{false: "answers", true: "answers that reserve"}[reserve]
		list = append(list, &answers{newPulse(kind+" over NATS", overNATSWithin), 0, reserve})
		for i := 1; i <= 2; i++ {
			list = append(list, &answers{newPulse(fmt.Sprintf("%s of decider %d over HTTP", kind, i), overHTTPWithin), i, reserve})
		}
	}
	return list
}

// ask asks on one way until the load ends. What reserves is settled with what it used.
func (l *clusterLoad) ask(by *answers, asker int, question func(string) ([]byte, error)) {
	d := rand.New(rand.NewPCG(uint64(asker), uint64(by.decider)))
	for k := 0; l.ctx.Err() == nil; k++ {
		use := traffic(d, fmt.Sprintf("asks-%d-%d-%t-%d-", by.decider, asker, by.reserve, k), 1)[0]
		use.RequestID = use.ID
		q := object{"apiKeyId": use.APIKeyID, "connectionId": use.ConnectionID, "requestId": use.ID}
		if by.reserve {
			q["reserve"] = true
		}
		there, leaderless := by.present(), l.leaderless.Load()
		said, err := question(text(l.t, q))
		if err != nil {
			if there && by.present() { // all the time
				by.fail()
			}
			<-time.After(pauseOfGateways)
			continue // a gateway lets the call pass
		}
		l.answered(said, by, leaderless && l.leaderless.Load())
		if by.reserve {
			select {
			case l.used <- use:
			case <-l.ctx.Done(): // the lease ends
			}
		}
	}
}

// overNATS asks any decider.
func overNATS(nc *nats.Conn) func(string) ([]byte, error) {
	return func(q string) ([]byte, error) {
		m, err := nc.Request("quota.decide", []byte(q), gatewayWaits)
		if err != nil {
			return nil, err
		}
		return m.Data, nil
	}
}

// overHTTP asks a decider.
func overHTTP(url string) func(string) ([]byte, error) {
	return func(q string) ([]byte, error) {
		answer, err := doorClient.Post(url+"/api/quota/decide", "application/json", strings.NewReader(q))
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		said, err := io.ReadAll(answer.Body)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", answer.Status, said)
		}
		return said, err
	}
}

// answered takes in an answer, which was asked for and came while the log had no leader,
// or not.
func (l *clusterLoad) answered(said []byte, by *answers, leaderless bool) {
	var r reply
	if err := json.Unmarshal(said, &r); err != nil || r.Decision != "allow" || by.reserve && leaderless && len(r.Degraded) == 0 {
		l.t.Errorf("%s: the answer is %s; the log had no leader: %t", by.what, said, leaderless)
	}
	l.mu.Lock()
	if len(r.Degraded) > 0 {
		l.degraded[strings.Join(r.Degraded, "+")]++
	}
	l.mu.Unlock()
	if by.reserve && slices.Contains(r.Degraded, "no-hold") {
		l.noHold.beat(1)
	}
	by.beat(1)
}

// settle publishes what requests used that reserved. They do not wait for it.
func (l *clusterLoad) settle(nc *nats.Conn) {
	for {
		select {
		case use := <-l.used:
			if !l.store(nc, []usage{use}) {
				return
			}
		case <-l.ctx.Done():
			return // the leases of the others end
		}
	}
}

// answersEach returns when every way that should have answers has some, and says how long
// that took.
func (l *clusterLoad) answersEach() time.Duration {
	l.t.Helper()
	began := time.Now()
	for _, by := range l.ways {
		if by.present() {
			by.await(l.t, 3)
		}
	}
	return time.Since(began)
}

// allowing is how long there may be nothing while a process is away, or several are.
func (l *clusterLoad) allowing(natsWithin, logWithin time.Duration, away ...string) {
	for _, by := range l.ways {
		switch {
		case by.decider == 0:
			by.allow(natsWithin)
		case slices.Contains(away, fmt.Sprint("decider-", by.decider)):
			by.allow(gone)
		default:
			by.allow(overHTTPWithin)
		}
	}
	l.log.allow(logWithin)
}

// without sees that all goes on while a process is away, and when it is back.
func (l *clusterLoad) without(what, name string, natsWithin time.Duration, away, back func(string)) {
	l.t.Helper()
	leads := ""
	if name == l.x.leader() {
		leads = ", which leads the log"
	}
	l.allowing(natsWithin, logWithin, name)
	began := time.Now()
	away(name)
	ack := l.log.await(l.t, 20)
	answer := l.answersEach()
	back(name)
	l.goesOn()
	l.t.Logf("%s %s%s: acknowledgements of the log after %.2f s, then answers on each way in %.2f s; all is back after %.1f s",
		what, name, leads, ack.Seconds(), answer.Seconds(), time.Since(began).Seconds())
}

// allKilled kills all there is, and starts it again. Meanwhile nothing goes on.
func (l *clusterLoad) allKilled() {
	l.t.Helper()
	l.allowing(gone, gone, "decider-1", "decider-2")
	l.doors.allow(gone)
	l.x.killAll()
	killed := time.Now()
	l.x.up()
	up := time.Since(killed)
	l.goesOn()
	l.t.Logf("killed all: up after %.1f s, and all goes on after %.1f s", up.Seconds(), time.Since(killed).Seconds())
}

// goesOn is for when everything is back.
func (l *clusterLoad) goesOn() {
	l.t.Helper()
	l.allowing(overNATSWithin, logWithin)
	l.doors.allow(doorsWithin)
	for _, by := range l.ways {
		by.await(l.t, 1)
	}
	l.log.await(l.t, 1)
	l.doors.await(l.t, 1)
}

// withoutQuorum lets the leader of the log stand still, and one more of the three nodes,
// so that there surely is no leader: decisions go on, and say so if they reserve, and
// front doors keep events.
func (l *clusterLoad) withoutQuorum(follower string) {
	l.t.Helper()
	two := []string{l.x.leader(), follower}
	l.allowing(frozenWithin, gone, two...)
	began := time.Now()
	for _, name := range two {
		l.x.freeze(name)
	}
	l.noHold.await(l.t, 1) // what the nodes had said before that is read
	l.leaderless.Store(true)
	stored := l.log.count()
	l.noHold.await(l.t, 50)
	l.spooled.await(l.t, 20)
	answer := l.answersEach()
	if n := l.log.count(); n != stored {
		l.t.Errorf("one of three nodes acknowledged %d events", n-stored)
	}
	l.leaderless.Store(false)
	for _, name := range two {
		l.x.thaw(name)
	}
	thawed := time.Now()
	ack := l.log.await(l.t, 20)
	l.goesOn()
	l.t.Logf("%v frozen, without a leader of the log for %.1f s: answers on each way in %.2f s; acknowledgements of the log %.2f s after the end",
		two, thawed.Sub(began).Seconds(), answer.Seconds(), ack.Seconds())
}

// startAsking starts two askers for each way over NATS, and one for those over HTTP.
func (l *clusterLoad) startAsking() {
	for _, by := range l.ways {
		if by.decider != 0 {
			l.all.Go(func() { l.ask(by, 0, overHTTP(l.x.decider(by.decider).http)) })
			continue
		}
		for asker := range 2 {
			nc := l.x.connect("gateway")
			l.all.Go(func() { l.ask(by, asker, overNATS(nc)) })
		}
	}
}

// end stops the load once all of it has been seen to go on. All that was sent is
// acknowledged then.
func (l *clusterLoad) end() {
	l.t.Helper()
	l.goesOn()
	l.stop()
	l.all.Wait()
}

// mustHaveGoneOn fails if anything stood still for too long, or a decider that was there
// did not answer over HTTP.
func (l *clusterLoad) mustHaveGoneOn() {
	l.t.Helper()
	l.doors.mustHaveGoneOn(l.t)
	l.log.mustHaveGoneOn(l.t)
	for _, by := range l.ways {
		by.mustHaveGoneOn(l.t)
		if by.decider != 0 && by.failed > 0 {
			l.t.Errorf("%v, by a decider that was there", by)
		}
	}
}
