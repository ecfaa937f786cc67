package saturation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quotashare/quotashare/quota"
)

// TestTranscripts runs testdata/meter: what one provider said about a
// connection, what was used on it, and what the meter made of that. A signal
// lives 30 s. The command is the window; there is one meter for each, and a
// line is one of
//
//	Sep 14 10:00:00 says 74 %[, resets Sep 15 08:00:00][, with a request in flight]
//	Sep 14 10:00:01 alice uses 900 tokens[, 2 requests][, 0.5 usd][, at Sep 15 08:00:01]
//	Sep 14 10:00:02 is looked at
//
// A reading is answered with what it was taken for and the value right after.
// With times= one reading is repeated every= ms, a thousandth of a point higher
// each time and every other time with a reset jitter= ms later.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/meter", func(t *testing.T, path string) {
		x := &transcript{meters: map[quota.Window]*Meter{}}
		datadriven.RunTest(t, path, x.run)
	})
}

type transcript struct {
	t      *testing.T
	meters map[quota.Window]*Meter
	keys   []string
}

func (x *transcript) run(t *testing.T, d *datadriven.TestData) string {
	x.t = t
	w, ok := quota.ParseReadingWindow(d.Cmd)
	if !ok {
		t.Fatalf("%s: no window %q", d.Pos, d.Cmd)
	}
	if x.meters[w] == nil {
		x.meters[w] = NewMeter(w)
	}
	if d.HasArg("times") {
		return x.many(x.meters[w], d)
	}
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		line = strings.TrimSpace(line)
		fmt.Fprintf(&out, "%s\n%s", line, x.line(x.meters[w], line))
	}
	return out.String()
}

// line does one line and returns what it shows.
func (x *transcript) line(m *Meter, line string) string {
	at, rest := x.instant(line)
	clauses := strings.Split(rest, ", ")
	verb := strings.Fields(clauses[0])
	switch {
	case verb[0] == "says":
		as, tooFar := m.Read(x.observation(at, clauses), vectorTTL)
		out := "  " + as.String()
		if tooFar {
			out += " (no instant of this window, ignored)"
		}
		return out + ": " + x.level(m, at) + "\n"
	case verb[1] == "uses":
		x.use(m, at, verb[0], clauses)
		return ""
	default:
		return x.show(m, at)
	}
}

func (x *transcript) observation(at int64, clauses []string) Observation {
	o := Observation{At: at, Used: amount(x.t, strings.Fields(clauses[0])[1], quota.Percent)}
	for _, c := range clauses[1:] {
		if reset, ok := strings.CutPrefix(c, "resets "); ok {
			o.ResetAt, _ = x.instant(reset)
		} else {
			o.HoldOpen = c == "with a request in flight"
		}
	}
	return o
}

func (x *transcript) use(m *Meter, at int64, key string, clauses []string) {
	cost, priced := quota.Amounts{}, false
	clauses[0] = strings.TrimPrefix(clauses[0], key+" uses ")
	for _, c := range clauses {
		if when, ok := strings.CutPrefix(c, "at "); ok {
			at, _ = x.instant(when)
			continue
		}
		number, name, _ := strings.Cut(c, " ")
		u, ok := quota.ParseUnit(name)
		if !ok {
			x.t.Fatalf("unit %q", name)
		}
		cost[u] = amount(x.t, number, u)
		priced = priced || u == quota.USD
	}
	m.Use(x.key(key), at, &cost, priced)
}

func (x *transcript) key(id string) uint32 {
	if i := slices.Index(x.keys, id); i >= 0 {
		return uint32(i)
	}
	x.keys = append(x.keys, id)
	return uint32(len(x.keys) - 1)
}

// show says the level and who has which part of it.
func (x *transcript) show(m *Meter, at int64) string {
	out := "  " + x.level(m, at)
	if at < m.PartsUntil() {
		for i, id := range x.keys {
			if part := m.Part(m.Local(uint32(i))); part != 0 {
				out += fmt.Sprintf("; %s %s", id, part.Format(quota.Percent))
			}
		}
	}
	if points, ok := m.Unattributed(at, vectorTTL); ok {
		out += "; of nobody " + points.Format(quota.Percent)
	}
	return out + "\n"
}

func (x *transcript) level(m *Meter, at int64) string {
	l, ok := m.At(at, vectorTTL)
	switch {
	case !ok && m.Number == 0:
		return "no signal"
	case !ok:
		return "unknown, the last word was at " + stamp(m.Observed)
	}
	return l.Used.Format(quota.Percent) + " % until " + stamp(l.Until)
}

// many repeats a reading and counts what it was taken for.
func (x *transcript) many(m *Meter, d *datadriven.TestData) string {
	var times, every, jitter int64
	d.ScanArgs(x.t, "times", &times)
	d.ScanArgs(x.t, "every", &every)
	d.ScanArgs(x.t, "jitter", &jitter)
	at, rest := x.instant(d.Input)
	o := x.observation(at, strings.Split(rest, ", "))
	counts := make([]int, len(outcomes))
	for i := range times {
		next := o
		next.At += i * every
		next.Used += quota.Amount(i) * 1_000
		next.ResetAt += jitter * (i % 2)
		as, _ := m.Read(next, vectorTTL)
		counts[as]++
	}
	var out []string
	for as, n := range counts {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, outcomes[as]))
		}
	}
	return strings.Join(out, ", ") + "\n" + x.show(m, at+(times-1)*every)
}

const stampLayout = "2006 Jan 2 15:04:05.999"

// instant reads the time in front of a line, in 2026, and returns the rest.
func (x *transcript) instant(line string) (ms int64, rest string) {
	words := strings.SplitN(line, " ", 4)
	at, err := time.Parse(stampLayout, "2026 "+strings.Join(words[:3], " "))
	if err != nil {
		x.t.Fatal(err)
	}
	if len(words) > 3 {
		rest = words[3]
	}
	return at.UnixMilli(), rest
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(stampLayout)[len("2026 "):] }
