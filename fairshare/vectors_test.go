package fairshare

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
	"github.com/quotashare/quotashare/wire"
)

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func amount(t testing.TB, text string, u quota.Unit) quota.Amount {
	t.Helper()
	a, err := quota.ParseAmount(text, u)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return a
}

func unit(t testing.TB, name string) quota.Unit {
	t.Helper()
	u, ok := quota.ParseUnit(name)
	if !ok {
		t.Fatalf("unit %q", name)
	}
	return u
}

func window(t testing.TB, name string) quota.Window {
	t.Helper()
	w, ok := quota.ParseWindow(name)
	if !ok {
		t.Fatalf("window %q", name)
	}
	return w
}

// decisionCase is one case of decisions.json: the numbers are given, so only
// the judging of numbers is under test.
type decisionCase struct {
	Name, Policy, Threshold string
	Cap                     *struct{ Unit, Value string }
	Estimate                map[string]string
	Dimensions              []struct {
		Unit, Window, Limit, Share, Consumed, Total string
		ProviderUsed                                *string
	}
	Decision, Reason string
	Deprioritize     bool
	Binding          *int
}

func (c *decisionCase) numbers(t *testing.T) []numbers {
	var lines []numbers
	for _, d := range c.Dimensions {
		u := unit(t, d.Unit)
		n := numbers{
			limit: amount(t, d.Limit, u), share: amount(t, d.Share, u), shared: true, capReason: CapAbsolute,
			consumed: amount(t, d.Consumed, u), total: amount(t, d.Total, u), used: unknownUsed,
		}
		n.againstC = n.consumed
		if e, ok := c.Estimate[d.Unit]; ok {
			n.estimate = amount(t, e, u)
		}
		if c.Cap != nil && c.Cap.Unit == d.Unit {
			n.cap = amount(t, c.Cap.Value, u)
		}
		n.reported = product(int64(n.total), 1e8)
		if d.ProviderUsed != nil {
			n.used = 100 * amount(t, *d.ProviderUsed, quota.Percent)
			n.reported = product(int64(n.used), int64(n.limit))
		}
		lines = append(lines, n)
	}
	return lines
}

func TestDecisionVectors(t *testing.T) {
	var file struct{ Cases []decisionCase }
	readJSON(t, "testdata/decisions.json", &file)
	policies := map[string]plans.Policy{"soft": plans.Soft, "burst": plans.Burst} // else hard
	for _, c := range file.Cases {
		threshold, err := quota.ParseRatio(c.Threshold)
		if err != nil {
			t.Fatal(err)
		}
		policy := policies[c.Policy]
		r, line, above := judgeLines(c.numbers(t), policy, threshold)
		want := -1
		if c.Binding != nil {
			want = *c.Binding
		}
		deprioritize := above && policy == plans.Soft && !r.Blocks()
		if r.String() != c.Reason || r.Blocks() != (c.Decision == "block") || line != want || deprioritize != c.Deprioritize {
			t.Errorf("%s: %v at %d, deprioritize %v; want %s at %d, %v",
				c.Name, r, line, deprioritize, c.Reason, want, c.Deprioritize)
		}
	}
}

// scenario is one case of scenarios.json: a pool, what happened, and answers.
type scenario struct {
	Name   string
	Pool   json.RawMessage
	Plans  map[string]json.RawMessage
	Events []struct {
		APIKeyID, ConnectionID string
		Time                   int64
		Cost                   map[string]json.RawMessage
	}
	Asks []struct {
		APIKeyID, ConnectionID string
		At                     int64
		Estimate               map[string]json.RawMessage
		Want                   scenarioWant
	}
}

type scenarioWant struct {
	Decision, Reason string
	Deprioritize     bool
	RetryAfterMs     *int64
	Binding          *struct{ Unit, Window string }
	Dimensions       []struct{ Unit, Window, Limit, FairShare, Consumed, ConsumedTotal string }
}

// costs reads amounts that are JSON numbers or strings.
func costs(t *testing.T, raw map[string]json.RawMessage) (a quota.Amounts) {
	for name, v := range raw {
		text := string(v)
		if text[0] == '"' {
			text = text[1 : len(text)-1]
		}
		u := unit(t, name)
		a[u] = amount(t, text, u)
	}
	return a
}

func (s *scenario) resolve(t *testing.T) *plans.Resolved {
	doc, err := wire.ParseJSON(s.Pool)
	if err != nil {
		t.Fatal(err)
	}
	pool, faults := plans.ParsePool("", doc)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return plans.Resolve(pool, func(conn string) plans.Plan {
		raw, ok := s.Plans[conn]
		if !ok {
			return plans.PlanOf(nil, pool.Provider)
		}
		doc, err := wire.ParseJSON([]byte(`{"dimensions":` + string(raw) + `}`))
		if err != nil {
			t.Fatal(err)
		}
		dimensions, faults := plans.ParsePlan(doc)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		return plans.PlanOf(&plans.Plan{Dimensions: dimensions}, pool.Provider)
	})
}

// book counts the events for one asker. A request is 1 when its cost does not say.
func (s *scenario) book(t *testing.T, p *plans.Resolved, key string) *book {
	b := newBook(len(p.Pool.Connections))
	for _, e := range s.Events {
		cost := costs(t, e.Cost)
		if _, ok := e.Cost["requests"]; !ok {
			cost[quota.Requests] = amount(t, "1", quota.Requests)
		}
		for conn, c := range p.Pool.Connections {
			if c.ConnectionID == e.ConnectionID {
				b.conns[conn].add(e.APIKeyID == key, cost, e.Time)
			}
		}
	}
	return b
}

func (c *bookConn) add(own bool, cost quota.Amounts, time int64) {
	for u := range quota.Unit(quota.NumUnits) {
		for w := range quota.Window(quota.NumWindows) {
			bucket, _ := windows.Bucket(time, w.Millis())
			c.total[u][w].Add(bucket, cost[u])
			if own {
				c.key[u][w].Add(bucket, cost[u])
			}
		}
	}
}

func TestScenarioVectors(t *testing.T) {
	var file struct{ Cases []scenario }
	readJSON(t, "testdata/scenarios.json", &file)
	for _, s := range file.Cases {
		p := s.resolve(t)
		for _, a := range s.Asks {
			conn := -1
			for i, c := range p.Pool.Connections {
				if c.ConnectionID == a.ConnectionID {
					conn = i
				}
			}
			q := ask(p, a.APIKeyID, conn)
			q.Estimate = costs(t, a.Estimate)
			f := gather(q, s.book(t, p, a.APIKeyID), a.At)
			if diff := cmp.Diff(a.Want, scenarioAnswer(f, conn, a.At)); diff != "" {
				t.Errorf("%s, %s on %s: -want +got\n%s", s.Name, a.APIKeyID, a.ConnectionID, diff)
			}
		}
	}
}

func scenarioAnswer(f *Facts, conn int, at int64) (w scenarioWant) {
	a := f.Decide(at)
	w.Decision, w.Reason, w.Deprioritize = "allow", a.Reason.String(), a.Deprioritize
	if !a.Allowed() {
		w.Decision, w.RetryAfterMs = "block", &a.RetryMs
	}
	if u, win, _, ok := f.Binding(a.Verdict); ok {
		w.Binding = &struct{ Unit, Window string }{u.String(), win.String()}
	}
	for _, d := range f.Explain(conn, at, nil) {
		w.Dimensions = append(w.Dimensions, struct{ Unit, Window, Limit, FairShare, Consumed, ConsumedTotal string }{
			d.Unit.String(), d.Window.String(), d.Limit.Format(d.Unit), d.FairShare.Format(d.Unit),
			d.Consumed.Format(d.Unit), d.ConsumedTotal.Format(d.Unit),
		})
	}
	return w
}
