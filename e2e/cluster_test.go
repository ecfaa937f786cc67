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

// clusterFor is for how long the processes of a cluster are killed and frozen. Each of
// the troubles comes once at least.
func clusterFor(t *testing.T) time.Duration {
	t.Helper()
	value := os.Getenv("QUOTASHARE_CLUSTER_FOR")
	if value == "" {
		return 0
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		t.Fatalf("QUOTASHARE_CLUSTER_FOR: %v", err)
	}
	return d
}

// Three nodes, two front doors and two deciders, of which one process after the other is
// killed or stands still, and comes back, while gateways publish and ask: nothing that was
// acknowledged is lost or counts twice, and on each way there are answers throughout, also
// without a leader of the log. Then all of it is stopped, and starts again.
func TestAClusterOutlivesEachOfItsProcesses(t *testing.T) {
	d, total := dice(t), clusterFor(t)
	x := startTopology(t)
	last := configure(t, x.js)
	for i := 1; i <= 2; i++ {
		x.decider(i).at(last)
	}
	l := startClusterLoad(x)
	l.goesOn()
	began := time.Now()
	for n := 0; n < len(troubles) || time.Since(began) < total; n++ {
		x.awaitCopies() // of three nodes one at a time may be gone
		troubles[n%len(troubles)](l, d)
	}
	l.end()
	x.awaitCopies()
	x.awaitDrained()
	l.report(time.Since(began))
	l.mustHaveGoneOn()
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
	x.mustNotSay("setting the store aside", "messages are missing", "panic", "the log was replaced", "Violation")
}

// troubles come in turn.
var troubles = []func(*clusterLoad, *rand.Rand){
	func(l *clusterLoad, _ *rand.Rand) { l.killed(l.x.leader()) },
	func(l *clusterLoad, d *rand.Rand) { l.killed(fmt.Sprint("front-", d.IntN(2)+1)) },
	func(l *clusterLoad, _ *rand.Rand) { l.frozen(l.x.leader()) },
	func(l *clusterLoad, d *rand.Rand) { l.killed(fmt.Sprint("decider-", d.IntN(2)+1)) },
	func(l *clusterLoad, _ *rand.Rand) { l.withoutQuorum() },
	func(l *clusterLoad, d *rand.Rand) { l.killed(fmt.Sprint("node-", d.IntN(3)+1)) },
}

// killed kills a process, sees the others go on, and starts it again.
func (l *clusterLoad) killed(name string) {
	l.t.Helper()
	l.without("killed", name, overNATSWithin, l.x.kill, func(string) { l.x.up() })
}

// frozen lets a process stand still for as long as the others need to go on.
func (l *clusterLoad) frozen(name string) {
	l.t.Helper()
	l.without("frozen", name, frozenWithin, l.x.freeze, l.x.thaw)
}

// report prints what it was like.
func (l *clusterLoad) report(took time.Duration) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	events, degraded, answers := l.doors.n+l.log.n, 0, 0
	var kinds []string
	for kind, n := range l.degraded {
		degraded += n
		kinds = append(kinds, fmt.Sprint(kind, " ", n))
	}
	sort.Strings(kinds)
	l.t.Logf("%.0f s, %d events acknowledged, %.0f a second; sent again %d times", took.Seconds(), events, float64(events)/took.Seconds(), l.again)
	l.t.Logf("%v; %d of them spooled", l.doors, l.spooled.n)
	l.t.Log(l.log)
	for _, by := range l.ways {
		answers += by.n
		l.t.Log(by)
	}
	l.t.Logf("degraded: %.1f %% of %d answers, %s", 100*float64(degraded)/float64(max(answers, 1)), answers, strings.Join(kinds, ", "))
}

// mustHaveAll compares what counts with what was acknowledged, and the deciders with
// each other and with one that begins with nothing. None was rejected.
func (l *clusterLoad) mustHaveAll() {
	l.t.Helper()
	nc := l.x.connect("decider")
	seq := l.x.lastSeq()
	first, second := l.x.decider(1).at(seq), l.x.decider(2).at(seq)
	if first.Digest != second.Digest || first.AppliedSeq != second.AppliedSeq {
		l.t.Errorf("the deciders are at\n%+v, and\n%+v", first, second)
	}
	if first.Counts.Rejected != 0 {
		l.t.Errorf("%d events were rejected", first.Counts.Rejected)
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
