package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"strings"
	"testing"
	"time"
)

// clusterFor is for how long the processes of a cluster are killed. Each kind is killed
// once at least.
func clusterFor(t *testing.T) time.Duration {
	t.Helper()
	value := os.Getenv("QUOTASHARE_CLUSTER_FOR")
	if value == "" {
		return 40 * time.Second
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		t.Fatalf("QUOTASHARE_CLUSTER_FOR: %v", err)
	}
	return d
}

// Three nodes, two front doors and two deciders, of which one process after the other is
// killed, and comes back, while gateways publish and ask: nothing that was acknowledged
// is lost or counts twice, and there are answers throughout. Then all of it is stopped,
// and starts again.
func TestAClusterOutlivesEachOfItsProcesses(t *testing.T) {
	d, total := dice(t), clusterFor(t)
	x := startTopology(t)
	last := configure(t, x.js)
	for i := 1; i <= 2; i++ {
		x.decider(i).at(last)
	}
	l := startClusterLoad(x)
	l.log.await(t, 20)
	began := time.Now()
	for n := 0; n < len(victims) || time.Since(began) < total; n++ {
		x.awaitCopies() // of three nodes one at a time may be gone
		l.killed(victims[n%len(victims)](x, d))
		if n%len(victims) == 0 && total >= time.Minute {
			x.awaitCopies()
			l.frozen(x.leader())
		}
	}
	l.end()
	x.awaitCopies()
	x.awaitDrained()
	l.report(time.Since(began))
	l.mustHaveAll()

	x.down()
	x.up()
	x.awaitCopies()
	l.mustHaveAll()
	if total >= time.Minute {
		x.killAll()
		x.up()
		x.awaitCopies()
		l.mustHaveAll()
	}
	x.mustNotSay("setting the store aside", "messages are missing", "panic", "the log was replaced")
}

// victims choose who is killed, in turn.
var victims = []func(*topology, *rand.Rand) string{
	func(x *topology, _ *rand.Rand) string { return x.leader() },
	func(_ *topology, d *rand.Rand) string { return fmt.Sprint("front-", d.IntN(2)+1) },
	func(_ *topology, d *rand.Rand) string { return fmt.Sprint("decider-", d.IntN(2)+1) },
	func(_ *topology, d *rand.Rand) string { return fmt.Sprint("node-", d.IntN(3)+1) },
}

// killed kills a process, sees the others go on, and starts it again.
func (l *clusterLoad) killed(name string) {
	l.t.Helper()
	l.without("killed", name, l.x.kill, func(string) { l.x.up() })
}

// frozen lets a process stand still for as long as the others need to go on.
func (l *clusterLoad) frozen(name string) {
	l.t.Helper()
	l.without("frozen", name, l.x.freeze, l.x.thaw)
}

func (l *clusterLoad) without(what, name string, away, back func(string)) {
	l.t.Helper()
	leads := ""
	if name == l.x.leader() {
		leads = ", which leads the log"
	}
	away(name)
	answer := l.answers.await(l.t, 20)
	ack := l.log.await(l.t, 20)
	back(name)
	l.t.Logf("%s %s%s: an answer after %.2f s, an acknowledgement of the log %.2f s later", what, name, leads, answer.Seconds(), ack.Seconds())
}

// report prints what it was like.
func (l *clusterLoad) report(took time.Duration) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	events, degraded := l.doors.n+l.log.n, 0
	var kinds []string
	for kind, n := range l.degraded {
		degraded += n
		kinds = append(kinds, fmt.Sprint(kind, " ", n))
	}
	sort.Strings(kinds)
	answers := l.answers.n + l.holds.n
	l.t.Logf("%.0f s, %d events acknowledged, %.0f a second; sent again %d times", took.Seconds(), events, float64(events)/took.Seconds(), l.again)
	l.t.Logf("events by front doors: %v; %d of them spooled", l.doors, l.spooled)
	l.t.Logf("events by the log: %v", l.log)
	l.t.Logf("answers: %v; of questions that reserve: %v", l.answers, l.holds)
	l.t.Logf("degraded: %.1f %% of %d answers, %s", 100*float64(degraded)/float64(max(answers, 1)), answers, strings.Join(kinds, ", "))
}

// mustHaveAll compares what counts with what was acknowledged, and the deciders with
// each other and with one that begins with nothing.
func (l *clusterLoad) mustHaveAll() {
	l.t.Helper()
	nc := l.x.connect()
	seq := lastSeq(l.t, l.x.nodes())
	first, second := l.x.decider(1).at(seq), l.x.decider(2).at(seq)
	if first.Digest != second.Digest || first.AppliedSeq != second.AppliedSeq {
		l.t.Errorf("the deciders are at\n%+v, and\n%+v", first, second)
	}
	mustEqualFreshFold(l.t, nc, first.http())
	l.t.Logf("sequence %d, digest %s, %+v", first.AppliedSeq, first.Digest, first.Counts)
	for i := range numKeys {
		key := keyName(i)
		for n := 1; n <= 2; n++ {
			a := l.x.decider(n).explained(key)
			want := fmt.Sprint(l.consumed[key][0], " requests, ", l.consumed[key][1], " tokens")
			if got := fmt.Sprint(a.Dimensions[0].Consumed, " requests, ", a.Dimensions[1].Consumed, " tokens"); got != want {
				l.t.Errorf("decider %d: %s consumed %s, and %s were acknowledged", n, key, got, want)
			}
		}
	}
}

// explained asks about a key. All traffic is in the month that runs, and none in the one
// before, so that what counts is a plain sum.
func (p *process) explained(key string) answer {
	p.t.Helper()
	a := parseAnswer(p.t, []byte(p.mustCall("POST", "/api/quota/decide", fmt.Sprintf(
		`{"apiKeyId":%q,"connectionId":"conn:0","explain":true}`, key))))
	if len(a.Dimensions) != 2 {
		p.t.Fatalf("the answer about %s has no two dimensions: %+v", key, a)
	}
	return a
}
