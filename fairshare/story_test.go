package fairshare

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// TestStories plays the transcripts in testdata: pools, what happened in them,
// and what is answered. The sentences they may use are those of story.pool,
// story.happens and story.ask below.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		s := &story{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				out.WriteString(s.line(d, strings.TrimSpace(line)))
			}
			return out.String()
		})
	})
}

// story is one pool and all that happened in it.
type story struct {
	t      *testing.T
	doc    *plans.Pool
	plans  map[string][]plans.Dimension
	uses   []use
	saws   []saw
	holds  []heldBy
	room   int64            // for one more hold
	places map[string]int64 // … on a connection
}

type use struct {
	key, conn, model string
	cost             quota.Amounts
	time             int64
}

type saw struct {
	conn, scope, key string // key: it is that key's part
	window           quota.Window
	level            Level
}

type heldBy struct {
	key, model string
	hold       Hold
}

func (s *story) line(d *datadriven.TestData, line string) string {
	switch d.Cmd {
	case "pool":
		if s.doc == nil || strings.HasPrefix(line, "the pool is") {
			*s = story{t: s.t, doc: &plans.Pool{Name: "team", Provider: "codex"}, plans: map[string][]plans.Dimension{}}
		}
		s.pool(line)
		return ""
	case "happens":
		s.happens(line)
		return ""
	}
	return s.ask(d.Cmd, line)
}

// say matches a line with a sentence, whose <words> may be anything without a
// space, and returns them.
func say(line, sentence string) []string {
	pattern := regexp.MustCompile(`<\w+>`).ReplaceAllString(regexp.QuoteMeta(sentence), `(\S+)`)
	m := regexp.MustCompile("^" + pattern + "$").FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	return m[1:]
}

func (s *story) pool(line string) {
	p := s.doc
	if m := say(line, "the pool is in mode <mode>"); m != nil {
		p.Mode = map[string]plans.Mode{"enforce": plans.Enforce, "observe": plans.Observe, "off": plans.Off}[m[0]]
	} else if m := say(line, "the pool keeps promises, with a reserve of <reserve> percent"); m != nil {
		p.Rule = plans.Guarantee
		p.Reserve, _ = strconv.ParseInt(m[0], 10, 64)
	} else if m := say(line, "connection <conn> has no plan"); m != nil {
		p.Connections = append(p.Connections, plans.Connection{ConnectionID: m[0]})
	} else if m := say(line, "connection <conn> may use <amount> <unit> per <window>"); m != nil {
		if _, ok := s.plans[m[0]]; !ok {
			p.Connections = append(p.Connections, plans.Connection{ConnectionID: m[0]})
		}
		u := unit(s.t, m[2])
		s.plans[m[0]] = append(s.plans[m[0]], plans.Dimension{Unit: u, Window: window(s.t, m[3]), Limit: amount(s.t, m[1], u)})
	} else if m := say(line, "key <key> has weight <weight>, <policy>"); m != nil {
		w, _ := quota.ParseRatio(m[1])
		policy := map[string]plans.Policy{"hard": plans.Hard, "soft": plans.Soft, "burst": plans.Burst}[m[2]]
		p.Allocations = append(p.Allocations, plans.Allocation{APIKeyID: m[0], Weight: w, Policy: policy})
	} else if m := say(line, "key <key> is suspended"); m != nil {
		s.allocation(m[0]).Suspended = true
	} else if m := say(line, "key <key> is capped at <amount> <unit> in every window"); m != nil {
		a, u := s.allocation(m[0]), unit(s.t, m[2])
		a.CapUnit, a.CapValue = u, amount(s.t, m[1], u)
	} else if m := say(line, "key <key> is capped at <amount> <unit> per <window>"); m != nil {
		a, u := s.allocation(m[0]), unit(s.t, m[2])
		a.Caps = append(a.Caps, plans.Cap{Unit: u, Window: window(s.t, m[3]), Value: amount(s.t, m[1], u)})
	} else if m := say(line, "key <key> is capped at <amount> <unit> of <model>"); m != nil {
		u := unit(s.t, m[2])
		p.ModelCaps = append(p.ModelCaps, plans.ModelCap{APIKeyID: m[0], Model: m[3], CapUnit: u, CapValue: amount(s.t, m[1], u)})
	} else if line != "the pool" {
		s.t.Fatalf("not a sentence about a pool: %s", line)
	}
}

func (s *story) allocation(key string) *plans.Allocation {
	for i := range s.doc.Allocations {
		if s.doc.Allocations[i].APIKeyID == key {
			return &s.doc.Allocations[i]
		}
	}
	s.t.Fatalf("%s has no weight yet", key)
	return nil
}

// clock reads 10:30 or 10:30:00.001 of the story's day, the first of August
// 2026; a number before it, as in 3d10:30, is days later.
func (s *story) clock(text string) int64 {
	day := 1
	if i := strings.Index(text, "d"); i > 0 {
		fmt.Sscanf(text[:i], "%d", &day)
		day, text = day+1, text[i+1:]
	}
	if strings.Count(text, ":") == 1 {
		text += ":00"
	}
	at, err := time.Parse(time.RFC3339, fmt.Sprintf("2026-08-%02dT%sZ", day, text))
	if err != nil {
		s.t.Fatal(err)
	}
	return at.UnixMilli()
}

func (s *story) happens(line string) {
	cost := func(n, u string) (a quota.Amounts) {
		a[unit(s.t, u)] = amount(s.t, n, unit(s.t, u))
		return a
	}
	level := func(percent, until string) Level {
		end := s.clock(until)
		return Level{Used: amount(s.t, percent, quota.Percent), Until: end, ResetAt: end}
	}
	reading := func(w string) quota.Window {
		window, _ := quota.ParseReadingWindow(w)
		return window
	}
	if m := say(line, "<time> <key> uses <amount> <unit> on <conn>"); m != nil {
		s.uses = append(s.uses, use{m[1], m[4], "", cost(m[2], m[3]), s.clock(m[0])})
	} else if m := say(line, "<time> <key> uses <amount> <unit> of <model> on <conn>"); m != nil {
		s.uses = append(s.uses, use{m[1], m[5], m[4], cost(m[2], m[3]), s.clock(m[0])})
	} else if m := say(line, "<conn> reports <percent> percent per <window> until <time>"); m != nil {
		s.saws = append(s.saws, saw{m[0], "", "", reading(m[2]), level(m[1], m[3])})
	} else if m := say(line, "<conn> reports <percent> percent per <window> for <scope> until <time>"); m != nil {
		s.saws = append(s.saws, saw{m[0], m[3], "", reading(m[2]), level(m[1], m[4])})
	} else if m := say(line, "<key> has <percent> percent of that per <window> on <conn> until <time>"); m != nil {
		s.saws = append(s.saws, saw{m[3], "", m[0], reading(m[2]), level(m[1], m[4])})
	} else if m := say(line, "<key> holds <amount> <unit> until <time>"); m != nil {
		s.holds = append(s.holds, heldBy{m[0], "", Hold{Amounts: cost(m[1], m[2]), End: s.clock(m[3])}})
	} else if m := say(line, "<key> holds <amount> <unit> of <model> until <time>"); m != nil {
		s.holds = append(s.holds, heldBy{m[0], m[3], Hold{Amounts: cost(m[1], m[2]), End: s.clock(m[4])}})
	} else if m := say(line, "all <n> places of <conn> are taken until <time>"); m != nil {
		s.takePlaces(m[1], m[0], m[2])
	} else if m := say(line, "the engine has no room for a hold until <time>"); m != nil {
		s.room = s.clock(m[0])
	} else {
		s.t.Fatalf("not a sentence about what happens: %s", line)
	}
}

func (s *story) takePlaces(conn, n, until string) {
	if s.places == nil {
		s.places = map[string]int64{}
	}
	s.places[conn] = s.clock(until)
	for i := range s.doc.Connections {
		if c := &s.doc.Connections[i]; c.ConnectionID == conn {
			c.MaxConcurrent, _ = strconv.ParseInt(n, 10, 64)
		}
	}
}

// listed tells whether the key has an allocation of its own.
func (s *story) listed(key string) bool {
	for _, a := range s.doc.Allocations {
		if a.APIKeyID == key {
			return true
		}
	}
	return false
}

// allocationOf is by which allocation the key is judged, -1 = by none.
func (s *story) allocationOf(key string) int {
	of := func(id string) int {
		return slices.IndexFunc(s.doc.Allocations, func(a plans.Allocation) bool { return a.APIKeyID == id })
	}
	if own := of(key); own >= 0 {
		return own
	}
	return of(quota.AllOthers)
}

// count is the counter of what the uses that are meant add up to.
func (s *story) count(u quota.Unit, w quota.Window, meant func(use) bool) (c windows.Counter) {
	for _, x := range s.uses {
		if meant(x) {
			bucket, _ := windows.Bucket(x.time, w.Millis())
			c.Add(bucket, x.cost[u])
		}
	}
	return c
}
