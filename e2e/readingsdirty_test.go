package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// story is what a provider said, as people reported it, and what has to be made
// of it. Its lines are
//
//	<after> says <percent> [resets <after>]    a reading of the story's window
//	<after> <key> uses <tokens>
//	<after> is <percent>                       what a question at that time shows
//	<after> is unknown                         … and nobody is blocked for it
//	<after> <key> has <percent>
type story struct {
	name, window string
	lines        string
	outcomes     string // what the readings were taken for
}

var stories = []story{
	{"two windows in turn: never less than the fuller one", "weekly", `
		0s says 74 resets 22h
		0s is 74
		10s says 0 resets 70h
		10s is 74
		20s says 16 resets 70h
		20s is 74
		25s says 74 resets 22h
		25s is 74
		35s says 16 resets 70h
		35s is 74
		54.999s is 74
		55s is 16`, "first 1, moved 1, advance 1, rollover 2"},
	{"the same with requests: what was there before is nobody's", "weekly", `
		0s says 74 resets 22h
		5s alice uses 100
		10s says 0 resets 70h
		15s bob uses 100
		20s says 16 resets 70h
		22s alice uses 100
		25s says 74 resets 22h
		25s alice has 8
		25s bob has 8
		30s says 76 resets 22h
		30s alice has 9
		30s bob has 9`, "first 1, moved 1, advance 2, rollover 1"},
	{"the reset moves 339,760 s nearer", "weekly", `
		0s says 60 resets 500000s
		1m alice uses 900
		2m bob uses 100
		8m says 96 resets 160240s
		8m is 96
		8m alice has 32.4
		8m bob has 3.6
		160239.999s is 96
		160240s is unknown
		160240s alice has 0`, "first 1, moved 1"},
	{"resets that jitter", "5h", jittering(), "first 1, advance 1563"},
	{"answers that overtook each other", "5h", `
		0s says 10 resets 4h
		1s alice uses 10
		2s says 18 resets 4h
		3s bob uses 10
		4s says 15 resets 4h
		4s is 18
		5s says 18 resets 4h
		5s alice has 4
		6s says 19 resets 4h
		6s alice has 4.5
		6s bob has 4.5`, "first 1, advance 3, noise 1"},
	{"nobody says 15 any more", "weekly", `
		0s says 15 resets 70h
		1s alice uses 10
		20s says 3 resets 70h
		20s is 15
		4m says 3 resets 70h
		4m is 3
		5m bob uses 10
		8m says 4 resets 70h
		12m says 5 resets 70h
		12m is 5
		12m alice has 0
		12m bob has 1`, "first 1, advance 2, early-reset 1, noise 1"},
	{"back to 0 before the reset", "5h", `
		0s says 20 resets 4h
		1s alice uses 10
		2s says 28 resets 4h
		2s alice has 8
		3s says 0 resets 4h
		3s is 0
		3s alice has 0`, "first 1, advance 1, early-reset 1"},
	{"it falls to a point, or by twenty", "5h", `
		0s says 15 resets 4h
		1s says 1.000001 resets 4h
		1s is 15
		2s says 1 resets 4h
		2s is 1
		3s says 40 resets 4h
		4s says 20.000001 resets 4h
		4s is 40
		5s says 20 resets 4h
		5s is 20`, "first 1, advance 1, early-reset 2, noise 2"},
	{"an older window speaks in between", "weekly", `
		0s says 40 resets 70h
		5s says 20 resets 22h
		5s is 40
		10s says 0 resets 70h
		10s is 20
		34.999s is 20
		35s is 0`, "first 1, older-window 1, early-reset 1"},
	{"requests of the next window come before its first word", "5h", `
		0s says 40 resets 2h
		1s alice uses 10
		1h59m59.999s says 44 resets 2h
		1h59m59.999s alice has 4
		2h bob uses 10
		2h says 3 resets 7h
		2h alice has 0
		2h bob has 3`, "first 1, advance 1, rollover 1"},
	{"beyond all of it", "5h", `
		0s says 98 resets 4h
		1s alice uses 10
		2s says 104 resets 4h
		3s alice uses 10
		4s says 106 resets 4h
		5s says 104 resets 4h
		5s is 106
		5s alice has 8`, "first 1, advance 2, noise 1"},
	{"more than all of a window that is over", "5h", `
		0s says 104 resets -1m
		0s is unknown
		10s says 104 resets -1m
		10s is unknown`, "first 1, rollover 1"},
	{"no reset, and then nothing for an hour", "5h", `
		0s says 100
		29.999s is 100
		30s is unknown
		1h is unknown`, "first 1"},
}

// jittering is 1,564 readings of one window whose reset is off by up to 1.9 s. One
// request at their beginning is still alice's at their end.
func jittering() string {
	var b strings.Builder
	for i := range 1564 {
		if i == 1 {
			b.WriteString("1s alice uses 10\n")
		}
		fmt.Fprintf(&b, "%ds says %d.%03d resets %dms\n", 5*i, 40+i/1000, i%1000, 4*hours+int64(i*839%3800)-1900)
	}
	return b.String() + "7815s is 41.563\n7815s alice has 0.001"
}

// teller plays a story to an engine.
type teller struct {
	operator
	story   *story
	account string
	began   int64
	events  []object // not sent yet
}

func (p *teller) after(text string) int64 {
	p.t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.began + d.Milliseconds()
}

func (p *teller) line(words []string) {
	p.t.Helper()
	switch at := p.after(words[0]); {
	case words[1] == "says":
		reset := int64(0)
		if len(words) > 3 {
			reset = p.after(words[4])
		}
		p.events = append(p.events, reading(p.account, p.story.window, words[2], reset, at))
	case words[2] == "uses":
		p.events = append(p.events, used(words[1], p.account, "tokens", words[3], at))
	case words[1] == "is":
		p.send()
		p.mustBe(words[2], at)
	default:
		p.send()
		if d := p.dimensionOf(p.judge(words[1], account(p.account), at)); d.Consumed.String() != words[3] {
			p.t.Errorf("%s has %s", strings.Join(words, " "), d.Consumed)
		}
	}
}

func (p *teller) send() {
	p.t.Helper()
	if len(p.events) > 0 {
		p.consume(p.events...)
	}
	p.events = nil
}

// dimensionOf returns what the answer shows of the story's window.
func (p *teller) dimensionOf(v *judgement) judgedDimension {
	p.t.Helper()
	for _, d := range v.Dimensions {
		if d.Window == p.story.window {
			return d
		}
	}
	p.t.Fatalf("there is no %s in %+v", p.story.window, v)
	return judgedDimension{}
}

func (p *teller) mustBe(want string, at int64) {
	p.t.Helper()
	v := p.judge("alice", account(p.account), at)
	got := p.dimensionOf(v).ProviderUsed.String()
	if want == "unknown" {
		want = ""
		if v.Decision != "allow" {
			p.t.Errorf("at %s: %s for what is unknown", rfc(at), v)
		}
	}
	if got != want {
		p.t.Errorf("%s after %d ms, want %q", got, at-p.began, want)
	}
}

// readingsLine is one line of /metrics.
var readingsLine = regexp.MustCompile(`(?m)^quotashare_readings_total\{outcome="(.*)"\} (\d+)$`)

// outcomes returns how many readings were taken for what until now.
func (o operator) outcomes() map[string]int {
	o.t.Helper()
	counts := map[string]int{}
	for _, m := range readingsLine.FindAllStringSubmatch(o.mustCall("GET", "/metrics", ""), -1) {
		n := 0
		if _, err := fmt.Sscan(m[2], &n); err != nil {
			o.t.Fatal(err)
		}
		counts[m[1]] = n
	}
	return counts
}

func since(before, after map[string]int) string {
	var list []string
	for _, name := range []string{"stale", "first", "moved", "older-window", "advance", "early-reset", "noise", "rollover"} {
		if n := after[name] - before[name]; n > 0 {
			list = append(list, fmt.Sprint(name, " ", n))
		}
	}
	return strings.Join(list, ", ")
}

func TestWhatProvidersReallySay(t *testing.T) {
	o := newOperator(t)
	for i := range stories {
		s := &stories[i]
		t.Run(s.name, func(t *testing.T) {
			mine := *o.process
			mine.t = t
			p := &teller{operator: operator{&mine}, story: s, account: s.name, began: ago(3 * hours)}
			p.codexPool(s.name, []string{p.account}, "alice 50", "bob 50")
			before := p.outcomes()
			for line := range strings.Lines(s.lines) {
				if words := strings.Fields(line); len(words) > 0 {
					p.line(words)
				}
			}
			if got := since(before, p.outcomes()); got != s.outcomes {
				t.Errorf("the readings are %s; want %s", got, s.outcomes)
			}
		})
	}
}
