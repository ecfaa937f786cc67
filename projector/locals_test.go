package projector_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// heldBeside is what an explained question says of the only dimension of its pool.
func heldBeside(s *scene, q questions.Question) (key, total, limit quota.Amount) {
	asked := make([]projector.Asked, 1)
	q.Explain, q.ConnectionID = true, "c"
	s.Gather([]questions.Question{q}, s.now, asked)
	d := asked[0].Facts.Explain(0, asked[0].Now, nil)[0]
	return d.Held, d.HeldTotal, d.Limit
}

// heldIn adds up the list as it counts for a question at that instant.
func heldIn(list map[[2]string]projector.LocalHold, q questions.Question, now int64, limit quota.Amount) (key, total quota.Amount) {
	for _, h := range list {
		if h.End <= now || q.Reserve && h.APIKeyID == q.APIKeyID && h.RequestID == q.RequestID {
			continue
		}
		amount := min(h.Amounts[quota.Tokens], limit)
		total += amount
		if h.APIKeyID == q.APIKeyID || unlisted(q.APIKeyID) && unlisted(h.APIKeyID) {
			key += amount
		}
	}
	return key, total
}

func unlisted(key string) bool { return key == "carol" || key == "dave" }

// TestLocalHoldsBesideAList compares with a list of them, one for each request: of
// every key, before and after their ends, larger than the limit and not, and for
// questions that would replace one.
func TestLocalHoldsBesideAList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newScene(t)
		s.Locals = new(projector.Locals)
		s.plan("c", "tokens", "hourly", "10")
		s.plan("d", "tokens", "hourly", "5")
		s.pool(`"c","d"`, `,"allocations":[{"apiKeyId":"alice","weight":1},{"apiKeyId":"bob","weight":1},{"apiKeyId":"*","weight":1}]`)
		s.Locals.Add(&projector.LocalHold{ID: "z", APIKeyID: "zoe", ConnectionID: "elsewhere", RequestID: "z", Amounts: quota.Amounts{quota.Tokens: 9}, End: s.now + 1e9}, s.now)
		list := map[[2]string]projector.LocalHold{}
		key := rapid.SampledFrom([]string{"alice", "bob", "carol", "dave"})
		request := rapid.SampledFrom([]string{"r1", "r2", "r3", "r4"})
		name := func(t *rapid.T) (k, r string) { return key.Draw(t, "key"), request.Draw(t, "request") }
		n := 0
		rt.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				n++
				h := projector.LocalHold{ID: fmt.Sprint(n), ConnectionID: rapid.SampledFrom([]string{"c", "d"}).Draw(t, "connection"), End: s.now + rapid.Int64Range(1, 30).Draw(t, "lease")}
				h.APIKeyID, h.RequestID = name(t)
				h.Amounts[quota.Tokens] = quota.Amount(rapid.Int64Range(0, 20_000).Draw(t, "tokens"))
				s.Locals.Add(&h, s.now)
				list[[2]string{h.APIKeyID, h.RequestID}] = h
			},
			"remove": func(t *rapid.T) {
				k, r := name(t)
				if h, ok := list[[2]string{k, r}]; ok {
					s.Locals.Remove(h.ID)
					delete(list, [2]string{k, r})
				}
			},
			"settle": func(t *rapid.T) {
				k, r := name(t)
				s.consume(k, "d", r, `,"cost":{"tokens":1}`)
				delete(list, [2]string{k, r})
			},
			"release": func(t *rapid.T) {
				k, r := name(t)
				s.publish("quota.release", fmt.Sprintf(`{"apiKeyId":%q,"requestId":%q}`, k, r))
				delete(list, [2]string{k, r})
			},
			"lower": func(t *rapid.T) {
				k, r := name(t)
				s.consume(k, "c", r, `,"partial":true,"cost":{"tokens":7}`)
				if h, ok := list[[2]string{k, r}]; ok {
					h.Amounts[quota.Tokens] = max(0, h.Amounts[quota.Tokens]-7_000)
					list[[2]string{k, r}] = h
				}
			},
			"wait": func(t *rapid.T) { s.now += rapid.Int64Range(0, 20).Draw(t, "ms") },
			"": func(t *rapid.T) {
				k, r := name(t)
				q := questions.Question{APIKeyID: k, RequestID: r, Reserve: rapid.Bool().Draw(t, "reserve")}
				at := s.now + rapid.Int64Range(0, 20).Draw(t, "later")
				if at > s.now {
					q.At = at
				}
				gotKey, gotTotal, limit := heldBeside(s, q)
				wantKey, wantTotal := heldIn(list, q, at, limit)
				if gotKey != wantKey || gotTotal != wantTotal || limit != 15_000 {
					t.Fatalf("asked %+v of %+v: held %d of %d, want %d of %d; limit %d", q, list, gotKey, gotTotal, wantKey, wantTotal, limit)
				}
			},
		})
	})
}

// TestLocalHoldsOfAModel count against its cap, and show in when a block ends.
func TestLocalHoldsOfAModel(t *testing.T) {
	s := newScene(t)
	s.Locals = new(projector.Locals)
	s.pool(`"c"`, `,"allocations":[{"apiKeyId":"alice","weight":1}],"modelCaps":[{"apiKeyId":"alice","model":"m","capValue":2,"capUnit":"requests"}]`)
	for i, h := range []projector.LocalHold{{Model: "m", End: 500}, {Model: "other", End: 900}, {APIKeyID: "bob", Model: "m", End: 900}, {Model: "m", End: 700}} {
		h.ID, h.RequestID, h.ConnectionID, h.Amounts, h.End = fmt.Sprint(i), fmt.Sprint(i), "c", quota.Amounts{quota.Requests: 1000}, s.now+h.End
		if h.APIKeyID == "" {
			h.APIKeyID = "alice"
		}
		s.Locals.Add(&h, s.now)
	}
	for _, c := range []struct {
		model string
		allow bool
		retry int64
	}{{"m", false, 500}, {"other", true, 0}, {"", true, 0}} {
		asked := make([]projector.Asked, 1)
		s.Gather([]questions.Question{{APIKeyID: "alice", ConnectionID: "c", Model: c.model, Estimate: quota.Amounts{quota.Requests: 1000}}}, s.now, asked)
		if a := asked[0].Facts.Decide(s.now); a.Allowed() != c.allow || !c.allow && a.RetryMs != c.retry {
			t.Errorf("model %q: %s in %d ms, want %+v", c.model, a.Reason, a.RetryMs, c)
		}
	}
}

// TestNobodyWaitsForAStateThatEnded: whoever gives up then has no verdict.
func TestNobodyWaitsForAStateThatEnded(t *testing.T) {
	s := newScene(t)
	before, after := &projector.Expected{ID: "before"}, &projector.Expected{ID: "after"}
	if !s.Expect(before) {
		t.Error("a state that folds tells no verdict")
	}
	s.ExpectNoMore()
	if s.Expect(after) || s.Unexpect(before) {
		t.Error("a state that folds no more tells verdicts")
	}
}

// TestLocalHoldsAreBounded, and room is made by what is over.
func TestLocalHoldsAreBounded(t *testing.T) {
	var l projector.Locals
	h := projector.LocalHold{APIKeyID: "k", ConnectionID: "c", End: 10}
	for i := range projector.MaxLocals {
		h.ID = fmt.Sprint(i)
		h.RequestID = h.ID
		if !l.Add(&h, 9) {
			t.Fatalf("no room for number %d", i)
		}
	}
	h.ID, h.RequestID = "more", "more"
	if l.Add(&h, 9) || l.Has("more", 9) {
		t.Error("there is room for one more")
	}
	if !l.Add(&h, 10) || l.Has("more", 10) {
		t.Error("what is over takes room, or counts")
	}
	if open, counts := l.Stats(9); open != 1 || counts.Full != 1 || counts.Heard != projector.MaxLocals+1 || counts.Ended != projector.MaxLocals {
		t.Errorf("%d open of %+v", open, counts)
	}
}
