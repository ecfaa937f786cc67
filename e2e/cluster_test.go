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
// killed or stands still, and comes back, and then all at once, while gateways publish and
// ask: nothing that was acknowledged is lost or counts twice, and on each way there are
// answers throughout, also without a leader of the log.
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
		troubles[n%len(troubles)](l, d)
	}
	l.end()
	x.awaitCopies()
	x.awaitDrained()
	l.report(time.Since(began))
	l.mustHaveGoneOn()
	l.mustHaveAll()
	x.down()
	if total >= time.Minute {
		x.up()
		x.awaitCopies()
		l.mustHaveAll()
	}
	x.mustNotSay("setting the store aside", "messages are missing", "panic", "the log was replaced", "Violation")
}

// troubles come in turn. Of three nodes one at a time may be gone, so that those of nodes
// wait until the others have all there is; all may be killed when two are behind. A decider
// that does the shared work is missed there for as long as its lease runs, so that none is
// killed before the first snapshot is shared.
var troubles = []func(*clusterLoad, *rand.Rand){
	func(l *clusterLoad, d *rand.Rand) { l.killed(fmt.Sprint("front-", d.IntN(2)+1)) },
	func(l *clusterLoad, d *rand.Rand) { l.x.awaitCopies(); l.killed(l.x.followers()[d.IntN(2)]) },
	func(l *clusterLoad, _ *rand.Rand) { l.x.awaitCopies(); l.killed(l.x.leader()) },
	func(l *clusterLoad, d *rand.Rand) { l.killed(fmt.Sprint("decider-", d.IntN(2)+1)) },
	func(l *clusterLoad, _ *rand.Rand) { l.x.awaitCopies(); l.frozen(l.x.leader()) },
	func(l *clusterLoad, d *rand.Rand) { l.x.awaitCopies(); l.withoutQuorum(l.x.followers()[d.IntN(2)]) },
	func(l *clusterLoad, _ *rand.Rand) { l.allKilled() },
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
// each other and with one that begins with nothing.
func (l *clusterLoad) mustHaveAll() {
	l.t.Helper()
	nc := l.x.connect("decider")
	seq := l.x.lastSeq()
	first, second := l.x.decider(1).at(seq), l.x.decider(2).at(seq)
	if first.Digest != second.Digest || first.AppliedSeq != second.AppliedSeq {
		l.t.Errorf("the deciders are at\n%+v, and\n%+v", first, second)
	}
	l.mustRejectConflictsAlone(first.Counts.Rejected)
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

// mustRejectConflictsAlone fails if an event was rejected that says its time. One that does
// not is given the time of its coming by a front door that keeps it, and is another event
// than the one that had been sent to the log in vain: if that one comes there after all, as
// when a node goes on that stood still, it counts, and the other one does not (see the
// record of decisions 16).
func (l *clusterLoad) mustRejectConflictsAlone(n uint64) {
	l.t.Helper()
	var page struct {
		Rejected []struct {
			Reason, Message string
			Data            []byte
		}
		Total uint64
	}
	decode(l.t, l.x.decider(1).mustCall("GET", "/api/quota/rejected?limit=1000", ""), &page)
	if page.Total != n || len(page.Rejected) != int(min(n, 1000)) {
		l.t.Errorf("%d events were rejected; %d are kept, and %d listed", n, page.Total, len(page.Rejected))
	}
	for _, r := range page.Rejected {
		if r.Reason != "id-conflict" || !strings.Contains(r.Message, `"`+timeless) {
			l.t.Errorf("rejected, %s: %s: %s", r.Reason, r.Message, r.Data)
		}
	}
	l.t.Logf("%d events without a time were kept by a front door though the log had them", n)
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
