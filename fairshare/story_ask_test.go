package fairshare

import (
	"fmt"
	"strings"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// asker is a story as one key with one model sees it.
type asker struct {
	*story
	key, model string
}

// together reports whether the asker is judged as one of all the others.
func (a asker) together() bool { return !a.listed(a.key) && a.listed(quota.AllOthers) }

func (a asker) conn(i int) string { return a.doc.Connections[i].ConnectionID }

func (a asker) Key(conn int, u quota.Unit, w quota.Window) windows.Counter {
	of := func(key string) windows.Counter {
		return a.count(u, w, func(x use) bool { return x.conn == a.conn(conn) && x.key == key })
	}
	if !a.together() {
		return of(a.key)
	}
	var listed []windows.Counter
	for _, l := range a.doc.Allocations {
		listed = append(listed, of(l.APIKeyID))
	}
	return windows.Others(a.Total(conn, u, w), listed...)
}

func (a asker) Total(conn int, u quota.Unit, w quota.Window) windows.Counter {
	return a.count(u, w, func(x use) bool { return x.conn == a.conn(conn) })
}

func (a asker) Model(conn int, u quota.Unit) windows.Counter {
	return a.count(u, quota.Hourly, func(x use) bool {
		return x.conn == a.conn(conn) && x.key == a.key && x.model == a.model
	})
}

func (a asker) Reading(conn int, w quota.Window) (r Reading) {
	for _, s := range a.saws {
		switch {
		case s.conn != a.conn(conn) || s.window != w || s.scope != "":
		case s.key == "":
			r.Current = s.level
		case s.key == a.key || s.key == quota.AllOthers && a.together():
			r.Part, r.PartUntil = s.level.Used, s.level.Until
		}
	}
	return r
}

func (a asker) As(i int) Counters {
	if a.key = a.doc.Allocations[i].APIKeyID; a.key == quota.AllOthers {
		a.key = "" // as somebody without one of its own
	}
	return a
}

func (a asker) Scoped(conn int, w quota.Window, dst []Level) []Level {
	for _, s := range a.saws {
		if s.conn == a.conn(conn) && s.window == w && s.scope != "" && strings.Contains(a.model, s.scope) {
			dst = append(dst, s.level)
		}
	}
	return dst
}

func (a asker) Held(u quota.Unit, most quota.Amount, whose Whose, now int64) quota.Amount {
	return heldOf(a.Holds(nil), u, most, whose, now)
}

func (a asker) Holds(dst []Hold) []Hold {
	for _, h := range a.holds {
		hold := h.hold
		hold.Key = h.key == a.key || a.together() && !a.listed(h.key)
		hold.Model = h.key == a.key && h.model == a.model
		hold.Allocation = a.allocationOf(h.key)
		dst = append(dst, hold)
	}
	return dst
}

// ask answers "<time> <key> on <conn>", then "with <model>", "for <amount>
// <unit>" and at last "to hold it" as wished. The command says how much of the
// answer is shown.
func (s *story) ask(cmd, line string) string {
	question, reserves := strings.CutSuffix(line, " to hold it")
	words := strings.Fields(question)
	now, key, conn := s.clock(words[0]), words[1], words[3]
	r := plans.Resolve(s.doc, func(c string) plans.Plan { return plans.Plan{Dimensions: s.plans[c]} })
	q := ask(r, key, AnyConnection)
	q.Explain = cmd == "explain"
	for i := range s.doc.Connections {
		if s.doc.Connections[i].ConnectionID == conn {
			q.Connection = i
		}
	}
	for rest := words[4:]; len(rest) > 1; rest = rest[2:] {
		if rest[0] == "with" {
			q.Model = rest[1]
			continue
		}
		u := unit(s.t, rest[2])
		q.Estimate[u] = amount(s.t, rest[1], u)
		rest = rest[1:]
	}
	if conn == "nothing" {
		q.Pool = nil
	}
	if reserves {
		q.RoomAt = s.room
		if q.Pool != nil && s.places != nil {
			for _, c := range s.doc.Connections {
				q.PlaceAt = append(q.PlaceAt, s.places[c.ConnectionID])
			}
		}
	}
	var f Facts
	f.Gather(q, asker{s, key, q.Model}, now)
	a := f.Decide(now)
	switch cmd {
	case "message":
		if text := f.AppendMessage(nil, &a, now, "d-1"); len(text) > 0 {
			return string(text) + "\n"
		}
		return "(no message)\n"
	case "explain":
		return s.explain(&f, &a, now)
	}
	return line + "\n  " + s.answer(&f, &a, now) + "\n"
}

func (s *story) answer(f *Facts, a *Answer, now int64) string {
	out := "block"
	if a.Allowed() {
		out = "allow"
	}
	out += ": " + a.Reason.String()
	if a.Detail != "" {
		out += ", " + a.Detail
	}
	if a.WouldBlock() {
		out += " (would block)"
	}
	if a.Deprioritize {
		out += ", deprioritized to " + a.ScoreFactor.String()
	}
	if u, w, model, ok := f.Binding(a.Verdict); ok {
		out += strings.TrimRight(fmt.Sprintf(" by %v per %v %s", u, w, model), " ")
	}
	if a.Scope != "" {
		out += fmt.Sprintf(" (%s)", a.Scope)
	}
	switch {
	case a.RetryMs > 0:
		out += ", free at " + quota.FormatInstant(now + a.RetryMs)[8:]
	case a.RetryMs < 0:
		out += ", never free"
	}
	if len(s.doc.Connections) > 1 && a.Connection >= 0 {
		out += "; answered for " + s.doc.Connections[a.Connection].ConnectionID + ", alternatives:"
		for _, i := range a.Alternatives {
			out += " " + s.doc.Connections[i].ConnectionID
		}
	}
	return out
}

func (s *story) explain(f *Facts, a *Answer, now int64) string {
	var out strings.Builder
	for _, d := range f.Explain(a.Connection, now, nil) {
		show := func(name string, v quota.Amount, known bool) {
			if known {
				fmt.Fprintf(&out, ", %s %s", name, v.Format(d.Unit))
			}
		}
		fmt.Fprintf(&out, "%v per %v: %s", d.Unit, d.Window, d.Mode)
		show("limit", d.Limit, d.Limit > 0)
		show("consumed", d.Consumed, true)
		show("held", d.Held, d.Held > 0)
		show("fair share", d.FairShare, d.HasFairShare)
		show("deficit", d.Deficit, d.HasFairShare)
		show("remaining", d.Remaining, d.HasRemaining)
		show("total", d.ConsumedTotal, true)
		show("total held", d.HeldTotal, d.HeldTotal > 0)
		show("promised", d.Promised, d.HasPromise)
		show("kept", d.Kept, d.HasPromise)
		show("headroom", d.Headroom, d.HasPromise)
		for _, k := range d.KeptFor {
			show("for "+k.APIKeyID, k.Amount, true)
		}
		if d.Borrowing {
			out.WriteString(", borrowing")
		}
		if d.HasProvider {
			fmt.Fprintf(&out, ", provider says %s percent until %s", d.ProviderUsed.Format(quota.Percent), quota.FormatInstant(d.ResetAt)[8:])
		}
		out.WriteByte('\n')
	}
	return out.String()
}
