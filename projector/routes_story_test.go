package projector_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// TestRouteStories plays testdata/routes/*.txt: what is written to the log, a message
// a line, and what those are told who asked. The sentences are those of routeStory.say.
//
//	happens      the messages, and after each what somebody is told
//	queue        who waits, and when time brings something; what the pools owe
//	restart      commit, and load from the store; nobody is told anything after it
func TestRouteStories(t *testing.T) {
	datadriven.Walk(t, "testdata/routes", func(t *testing.T, path string) {
		s := &routeStory{scene: newScene(t), told: map[string]*projector.Expected{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.TB = t
			switch d.Cmd {
			case "happens":
				var out strings.Builder
				for line := range strings.Lines(d.Input) {
					line = strings.TrimSpace(line)
					out.WriteString(line + "\n")
					s.say(line)
					s.answers(&out)
				}
				return out.String()
			case "restart":
				cut(t, s.State, s.store)
				s.State = load(t, s.store)
				clear(s.told)
			case "queue":
				return s.queue()
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return ""
		})
	})
}

// routeStory is a log, and who waits for an answer, by the name of his question.
type routeStory struct {
	*scene
	told  map[string]*projector.Expected
	order []string
}

// say writes what a sentence says, which begins with the time of day.
func (s *routeStory) say(line string) {
	words := strings.Fields(line)
	at, err := time.Parse("15:04:05.999", words[0])
	must(s, err)
	s.now = start - start%day + int64(at.Sub(at.Truncate(24*time.Hour))/time.Millisecond)
	words = words[1:]
	switch {
	case words[0] == "pool":
		s.putPool(words[1], words[2:])
	case words[0] == "plan":
		s.plan(words[1], words[3], words[4], words[2])
	case words[0] == "settings": // settings strict from 0.9
		s.publish("quota.config.settings", `{"values":{"saturationThreshold":{"value":`+words[3]+`,"source":"stored"}}}`)
	case words[0] == "due":
		s.publish("quota.due", "{}")
	case words[1] == "releases":
		s.publish("quota.release", fmt.Sprintf(`{"apiKeyId":%q,"requestId":%q}`, words[0], words[2]))
	case words[1] == "used": // alice used 5 tokens on c by r, and of which model
		model := append(words, "of", "any")[9]
		s.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":%q,"requestId":%q,"model":%q,"cost":{%q:%s}}`,
			words[0], words[5], words[7], model, words[3], words[2]))
	case words[1] == "corrects": // alice corrects -5 tokens on c
		s.publish("quota.adjustment", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":%q,"reason":"a bill","cost":{%q:%s}}`, words[0], words[5], words[3], words[2]))
	case words[1] == "reports": // c reports 100 percent of 5h, for some models alone
		scope := ""
		if len(words) > 6 {
			scope = `,"scope":"` + words[6] + `"`
		}
		s.publish("quota.saturation", fmt.Sprintf(`{"connectionId":%q,"readings":[{"window":%q,"usedPercent":%s%s}]}`, words[0], words[5], words[2], scope))
	default:
		s.want(words)
	}
}

// putPool puts a pool: "p is c1 weight 2 takes 1, c2 and alice 30, bob 10 observe", of a
// key's model "caps alice gpt at 1 requests", or deletes it: "p is gone".
func (s *routeStory) putPool(id string, words []string) {
	if words[1] == "gone" {
		s.publish("quota.config.pool."+id, "")
		return
	}
	text, mode := strings.Join(words[1:], " "), "enforce"
	if of, ok := strings.CutSuffix(text, " observe"); ok {
		text, mode = of, "observe"
	}
	text, capped, _ := strings.Cut(text, " caps ")
	connections, keys, _ := strings.Cut(text, " and ")
	var list, allocations []string
	caps := "[]"
	if of := strings.Fields(capped); len(of) > 0 {
		caps = fmt.Sprintf(`[{"apiKeyId":%q,"model":%q,"capValue":%s,"capUnit":%q}]`, of[0], of[1], of[3], of[4])
	}
	for c := range strings.SplitSeq(connections, ", ") {
		c = strings.NewReplacer(" weight ", `","weight":`, " takes ", `","maxConcurrent":`).Replace(c)
		if n := strings.Count(c, `"`); n == 0 {
			c += `"`
		} else if n == 4 { // both
			c = strings.Replace(c, `","max`, `,"max`, 1)
		}
		list = append(list, `{"connectionId":"`+c+`}`)
	}
	for k := range strings.SplitSeq(keys, ", ") {
		if key, weight, ok := strings.Cut(k, " "); ok {
			weight, soft := strings.CutSuffix(weight, " soft")
			policy := map[bool]string{false: "hard", true: "soft"}[soft]
			allocations = append(allocations, fmt.Sprintf(`{"apiKeyId":%q,"weight":%s,"policy":%q}`, key, weight, policy))
		}
	}
	s.publish("quota.config.pool."+id, fmt.Sprintf(`{"id":%q,"name":"P","provider":"custom","mode":%q,"connections":[%s],"allocations":[%s],"modelCaps":%s}`,
		id, mode, strings.Join(list, ","), strings.Join(allocations, ","), caps))
}

// want asks for a connection: "alice wants r1 of p", or of c1,c2, or on c1, and then
// "for 60s", its lease; "within 30s", how long it waits; "with 100 tokens" and "by gpt",
// its model, as wished.
func (s *routeStory) want(words []string) {
	name := words[0] + " " + words[2]
	id := fmt.Sprint("h", s.seq+1)
	of := fmt.Sprintf(`"pool":%q`, words[4])
	switch {
	case words[3] == "on":
		of = fmt.Sprintf(`"connectionId":%q`, words[4])
	case strings.HasPrefix(words[4], "c"):
		of = `"candidates":[`
		for i, c := range strings.Split(words[4], ",") {
			id, score, scored := strings.Cut(c, "=")
			of += strings.Repeat(",", min(i, 1)) + fmt.Sprintf(`{"connectionId":%q`, id)
			if scored {
				of += `,"score":` + score
			}
			of += "}"
		}
		of += "]"
	}
	lease, wait, estimate, model := time.Minute, time.Duration(0), "", ""
	for rest := words[5:]; len(rest) > 0; rest = rest[2:] {
		var err error
		switch rest[0] {
		case "for":
			lease, err = time.ParseDuration(rest[1])
		case "within":
			wait, err = time.ParseDuration(rest[1])
		case "by":
			model = fmt.Sprintf(`"model":%q,`, rest[1])
		case "with":
			estimate, rest = `"tokens":`+rest[1], rest[1:]
		}
		must(s, err)
	}
	for old := range s.told { // a second one of a request is told as such
		if old == name {
			name += " again"
		}
	}
	s.told[name], s.order = expect(s.State, id), append(s.order, name)
	s.publish("quota.hold", fmt.Sprintf(`{"id":%q,"apiKeyId":%q,"requestId":%q,%s,%s"leaseMs":%d,"maxWaitMs":%d,"estimate":{%s},"decisionId":%[1]q}`,
		id, words[0], words[2], of, model, lease.Milliseconds(), wait.Milliseconds(), estimate))
}

// answers writes what somebody is told now, in the order of their questions.
func (s *routeStory) answers(out *strings.Builder) {
	for _, name := range s.order {
		x := s.told[name]
		if x == nil || len(x.Done) == 0 {
			continue
		}
		delete(s.told, name)
		fmt.Fprintf(out, "  %s: %s\n", name, s.answer(x))
	}
}

func (s *routeStory) answer(x *projector.Expected) string {
	a, r := x.Asked.Facts.Decide(x.Asked.Now), &x.Route
	free := max(r.FreeAt, x.Asked.FreeAt)
	switch {
	case x.Asked.UnknownPool:
		return "there is no such pool"
	case r.PoolDeleted:
		return fmt.Sprintf("%s, its pool was deleted (allowed %t, waited %t)", a.Reason, a.Allowed(), r.Waited)
	}
	out := r.ConnectionID
	switch {
	case out == "" && a.Reason.Blocks():
		out = fmt.Sprintf("%s (%s, %s)", a.Reason, a.Scope, x.Asked.Pool.Connections[a.Connection].ConnectionID)
	case out == "":
		out = "allowed"
	case a.WouldBlock():
		out += " though " + a.Reason.String()
	}
	switch {
	case free == routing.Never:
		out += ", room never by itself"
	case free != 0:
		out += ", room at " + clock(free)
	case a.Reason.Blocks() && a.RetryMs >= 0:
		out += ", again at " + clock(x.Asked.Now+a.RetryMs)
	}
	if r.Waited {
		out += ", having waited"
	}
	var list []string
	for _, c := range r.Candidates {
		of := strings.TrimSpace(c.ConnectionID + " " + c.Gate)
		if c.HasScore {
			of += " scored " + c.Score.String()
		}
		list = append(list, of)
	}
	if len(list) > 1 {
		out += "; " + strings.Join(list, ", ")
	}
	if x.Held != (r.ConnectionID != "") && len(r.Candidates) > 0 {
		out += fmt.Sprintf(" (held %t)", x.Held)
	}
	return out
}

func clock(at int64) string { return strings.TrimSuffix(quota.FormatInstant(at)[11:23], ".000") }

func (s *routeStory) queue() string {
	var out []string
	for _, b := range s.Backlogs(s.now) {
		out = append(out, fmt.Sprintf("%s: %d of %s since %s", b.Pool, b.Waiting, b.APIKeyID, clock(b.Since)))
	}
	if due := s.Due(); due != routing.Never {
		out = append(out, "due at "+clock(due))
	}
	for _, p := range s.Pools() {
		out = append(out, fmt.Sprintf("%s: credits %d", p.Doc.ID, s.Credits(p.Doc.ID)))
	}
	s.InFlight(func(connection string, n, most int64) bool {
		out = append(out, fmt.Sprintf("%s: %d in flight of %d", connection, n, most))
		return true
	})
	return strings.Join(out, "\n") + "\n"
}
