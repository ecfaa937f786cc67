package projector_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/saturation"
	view "github.com/quotashare/quotashare/usage"
)

// TestTranscripts runs testdata/transcripts/*.txt: what is published, and what then is so.
//
//	at 2026-09-22T10:00:00Z       the broker's clock, for what follows
//	publish <subject> [Header=v]  one message per line of input
//	ask key=… connection=…|pool=… [model=…] [time=…] [tokens=…] [requests=…] [reserve=<request>]
//	usage <pool>                  what its keys have of each dimension, and what providers say
//	plan <connection>             the plan in force and where it comes from
//	counts | pools | rejected | history | seen | config | records | meters | holds
//	restart                       commit, and load from the store
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		x := &transcript{t: t, store: memstore.New()}
		x.state = projector.NewState(x.store)
		datadriven.RunTest(t, path, x.run)
	})
}

type transcript struct {
	t     *testing.T
	store projector.Store
	state *projector.State
	clock int64
	seq   uint64
}

func (x *transcript) run(t *testing.T, d *datadriven.TestData) string {
	x.t = t
	switch d.Cmd {
	case "at":
		at, err := quota.ParseInstant(d.CmdArgs[0].Key)
		must(t, err)
		x.clock = at
		return ""
	case "publish":
		return x.publish(d)
	case "ask":
		return x.ask(d)
	case "restart":
		cut(t, x.state, x.store)
		x.state = load(t, x.store)
		return x.counts()
	case "counts":
		return x.counts()
	case "pools":
		return x.pools()
	case "usage":
		return x.usage(d.CmdArgs[0].Key)
	case "plan":
		return x.plan(d.CmdArgs[0].Key)
	}
	return x.look(d)
}

// look shows what only the store has.
func (x *transcript) look(d *datadriven.TestData) string {
	cut(x.t, x.state, x.store)
	var out []string
	switch d.Cmd {
	case "rejected":
		list, err := projector.Rejections(x.store, 100)
		must(x.t, err)
		for _, r := range list {
			out = append(out, fmt.Sprintf("%d.%d %s", r.Seq, r.Index, r.Value))
		}
	case "history":
		var err error
		out, err = x.state.HistoryRows(x.store)
		must(x.t, err)
	case "seen":
		days, err := projector.SeenDays(x.store)
		must(x.t, err)
		for _, n := range []int64{20718, 20719, 20725, 20726, 20727} {
			if days[n] > 0 {
				out = append(out, fmt.Sprintf("%s: %d", time.Unix(n*86400, 0).UTC().Format(time.DateOnly), days[n]))
			}
		}
	case "records":
		out = x.records("")
	case "meters":
		out = x.records("MK")
	case "holds":
		out = append(out, fmt.Sprintf("%d open", x.state.Holds().Open))
		out = append(out, x.records("HS")...)
	case "config":
		out = append(out, fmt.Sprintf("last change: %d", x.state.LastConfig()))
	default:
		d.Fatalf(x.t, "unknown command")
	}
	return strings.Join(out, "\n")
}

// records shows the records of these kinds, all when none are named.
func (x *transcript) records(kinds string) (out []string) {
	must(x.t, x.store.Scan([]byte{0}, []byte{0xff}, func(key, value []byte) error {
		if kinds == "" || strings.ContainsRune(kinds, rune(key[0])) {
			out = append(out, fmt.Sprintf("%c %x = %x", key[0], key[1:], value))
		}
		return nil
	}))
	return out
}

// publish folds a message per line and says what became of each.
func (x *transcript) publish(d *datadriven.TestData) string {
	header := map[string][]string{}
	for _, a := range d.CmdArgs[1:] {
		header[a.Key] = a.Vals
	}
	var out []string
	lines := strings.Split(d.Input, "\n") // no input: one empty body
	for _, line := range lines {
		x.seq++
		before := x.state.Counts()
		fold(x.t, x.state, []events.Message{{
			Subject: d.CmdArgs[0].Key, Header: header, Data: []byte(strings.TrimSpace(line)), Seq: x.seq, Time: x.clock,
		}}, 1)
		out = append(out, x.became(before))
	}
	return strings.Join(out, "\n")
}

// became says what one message did to the counts.
func (x *transcript) became(old projector.Counts) string {
	now := x.state.Counts()
	var words []string
	for _, c := range []struct {
		n    uint64
		word string
	}{
		{now.Folded - old.Folded, "folded"},
		{now.Duplicates - old.Duplicates, "duplicate"},
		{now.Late - old.Late, "late"},
		{now.Clamped - old.Clamped, "clamped"},
		{now.FarResets - old.FarResets, "a reset too far ahead"},
		{now.Holds.Opened - old.Holds.Opened, "hold opened"},
		{now.Holds.Settled - old.Holds.Settled, "hold settled"},
		{now.Holds.Released - old.Holds.Released, "hold released"},
		{now.Holds.Expired - old.Holds.Expired, "hold expired"},
		{now.Holds.Replaced - old.Holds.Replaced, "hold replaced"},
		{now.Holds.Withdrawn - old.Holds.Withdrawn, "hold withdrawn"},
		{now.Holds.Refused - old.Holds.Refused, "hold refused"},
		{now.Holds.Late - old.Holds.Late, "hold too late"},
	} {
		if c.n > 0 {
			words = append(words, times(c.word, c.n))
		}
	}
	for i := range now.ByOutcome {
		if n := now.ByOutcome[i] - old.ByOutcome[i]; n > 0 {
			words = append(words, times(saturation.Outcome(i).String(), n))
		}
	}
	for i, problem := range projector.Problems {
		if n := now.ByProblem[i] - old.ByProblem[i]; n > 0 {
			words = append(words, times("bad "+string(problem), n))
		}
	}
	for i, reason := range projector.Reasons {
		if n := now.ByReason[i] - old.ByReason[i]; n > 0 {
			words = append(words, times("rejected "+string(reason), n))
		}
	}
	if v := x.state.Verdict(x.seq); v.Rejected != nil {
		words = append(words, "because "+v.Rejected.Message)
	}
	return strings.Join(words, ", ")
}

func times(word string, n uint64) string {
	if n == 1 {
		return word
	}
	return fmt.Sprintf("%s ×%d", word, n)
}

func (x *transcript) counts() string {
	c := x.state.Counts()
	return fmt.Sprintf("%d messages: %d folded, %d duplicates, %d late, %d clamped, %d rejected",
		c.Messages, c.Folded, c.Duplicates, c.Late, c.Clamped, c.Rejected)
}

func (x *transcript) pools() string {
	var out []string
	for _, p := range x.state.Pools() {
		line := fmt.Sprintf("%s %q revision %d created %s", p.Doc.ID, p.Doc.Name, p.Revision, quota.FormatInstant(p.Doc.CreatedAt))
		for _, c := range p.Doc.Connections {
			line += " " + c.ConnectionID
		}
		if p.Enforcing {
			line += " enforcing"
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func (x *transcript) plan(connection string) string {
	p := x.state.Plan(connection)
	out := fmt.Sprintf("%s, provider %q", p.Plan.Source, p.Provider)
	for _, l := range p.Plan.Dimensions {
		out += fmt.Sprintf(", %s/%s/%s", l.Unit, l.Window, l.Limit.Format(l.Unit))
	}
	return out
}

// usage shows what is consumed, a line for each dimension and each signal.
func (x *transcript) usage(pool string) string {
	u, ok := x.state.Usage(pool, x.clock)
	if !ok {
		x.t.Fatalf("no pool %s", pool)
	}
	out := []string{fmt.Sprintf("enforcing: %v", u.Enforcing)}
	for _, d := range u.Dimensions {
		line := fmt.Sprintf("%s/%s: %s %s,", d.Unit, d.Window, d.ConsumedTotal.Format(d.Unit), d.Mode)
		for i, use := range d.Uses {
			line += fmt.Sprintf(" %s %s", u.Keys[i].ID, use.Consumed.Format(d.Unit))
		}
		for _, c := range d.Connections {
			if c.HasProvider {
				line += fmt.Sprintf("; %s %s, said at %s: %s", c.ID, c.ProviderUsed.Format(quota.Percent),
					quota.FormatInstant(c.Observed), split(c.Split))
			}
		}
		out = append(out, line)
	}
	for i := range u.Signals {
		out = append(out, signal(&u.Signals[i]))
	}
	return strings.Join(out, "\n")
}

func signal(g *view.Signal) string {
	line := fmt.Sprintf("%s %s", g.ConnectionID, g.Window)
	if g.Scope != "" {
		line += " of " + g.Scope
	}
	if !g.Known {
		return line + ": no signal since " + quota.FormatInstant(g.Observed)
	}
	line += fmt.Sprintf(": %s %%, said at %s", g.Used.Format(quota.Percent), quota.FormatInstant(g.Observed))
	if g.ResetAt != 0 {
		line += ", until " + quota.FormatInstant(g.ResetAt)
	}
	if g.HasSplit {
		line += ": " + split(g.Split)
	}
	if g.HasDrift {
		line += ", drift " + g.Drift.Format(quota.Percent)
	}
	return line
}

func split(s view.Split) string {
	return fmt.Sprintf("%s of keys, %s of nobody", s.Attributed.Format(quota.Percent), s.Unattributed.Format(quota.Percent))
}

// ask asks at the broker's clock and shows the dimensions as they are.
func (x *transcript) ask(d *datadriven.TestData) string {
	q := questions.Question{}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "key":
			q.APIKeyID = a.Vals[0]
		case "connection":
			q.ConnectionID = a.Vals[0]
		case "pool":
			q.Pool = a.Vals[0]
		case "model":
			q.Model = a.Vals[0]
		case "time":
			at, err := quota.ParseInstant(a.Vals[0])
			must(x.t, err)
			q.At = at
		case "tokens", "requests":
			unit, _ := quota.ParseUnit(a.Key)
			amount, err := quota.ParseAmount(a.Vals[0], unit)
			must(x.t, err)
			q.Estimate[unit] = amount
		case "reserve":
			q.Reserve, q.RequestID = true, a.Vals[0]
		default:
			d.Fatalf(x.t, "unknown argument %s", a.Key)
		}
	}
	asked := make([]projector.Asked, 1)
	seq, _ := x.state.Gather([]questions.Question{q}, x.clock, asked)
	if q.At != 0 && asked[0].Facts.Later(q.At) {
		return "too old"
	}
	a := asked[0].Facts.Decide(asked[0].Now)
	out := fmt.Sprintf("%s at %s after message %d", a.Reason, quota.FormatInstant(asked[0].Now), seq)
	if a.Reason.Blocks() {
		out += fmt.Sprintf(": no room for this %s", a.Scope)
		if a.RetryMs >= 0 {
			out += fmt.Sprintf(", again at %s", quota.FormatInstant(asked[0].Now+a.RetryMs))
		}
		for _, conn := range a.Alternatives {
			out += ", free is " + asked[0].Pool.Connections[conn].ConnectionID
		}
	}
	if asked[0].Pool == nil {
		return out
	}
	for _, l := range asked[0].Facts.Explain(a.Connection, asked[0].Now, nil) {
		out += fmt.Sprintf("\n%s/%s: %s of %s by all, limit %s, share %s", l.Unit, l.Window,
			l.Consumed.Format(l.Unit), l.ConsumedTotal.Format(l.Unit), l.Limit.Format(l.Unit), l.FairShare.Format(l.Unit))
		if l.HeldTotal > 0 {
			out += fmt.Sprintf(", held %s of %s by all", l.Held.Format(l.Unit), l.HeldTotal.Format(l.Unit))
		}
		if l.HasProvider {
			out += fmt.Sprintf(", %s; the provider says %s %%", l.Mode, l.ProviderUsed.Format(quota.Percent))
			if l.ResetAt != 0 {
				out += " until " + quota.FormatInstant(l.ResetAt)
			}
		}
	}
	return out
}
