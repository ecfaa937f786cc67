package replay_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay"
)

// TestAnEngineExplainsAsItsLogDoes: what it said of every dimension of a pool that shares
// by the rule guarantee — what it promises, keeps, and leaves — comes out of the log again.
func TestAnEngineExplainsAsItsLogDoes(t *testing.T) {
	c := newTown(t)
	e, stop := c.engine("first")
	defer stop()
	var questioned []questions.Question
	var told []questions.Reply
	for round, sharing := range []string{byGuarantee, byHalf, byThreshold} {
		c.configure(500, 3, "enforce", sharing)
		for i := range 6 {
			c.gateway(e, fmt.Sprint("g", round, i), uint64(10*round+i), 12)
			for key := range 5 {
				q := questions.Question{APIKeyID: fmt.Sprint("k", key), ConnectionID: []string{"a", "seen"}[i%2], Explain: true, MaxWaitMs: -1}
				q.Estimate[quota.Tokens] = quota.Amount(1000 * (20 + 60*i))
				reply := make([]questions.Reply, 1)
				e.Decide(context.Background(), []questions.Question{q}, reply)
				questioned, told = append(questioned, q), append(told, reply[0])
			}
		}
	}
	modes, said := map[string]int{}, map[string]int{}
	for i := range told {
		want := &told[i]
		x, err := replay.Explain(t.Context(), replay.Options{Log: c.log(), Store: inMemory}, &replay.Ask{
			Question: questioned[i], Seq: want.AsOf.Seq, At: want.AsOf.Time, Top: 1,
		})
		c.must(err)
		if diff := cmp.Diff(want.Dimensions, x.Reply.Dimensions); diff != "" || len(want.Dimensions) == 0 {
			t.Fatalf("%s at %d: the engine (-) and its log (+)\n%s", questions.AppendQuestion(nil, &questioned[i]), want.AsOf.Seq, diff)
		}
		want.Message = strings.Replace(want.Message, want.DecisionID, x.Reply.DecisionID, 1)
		if fields := replay.Differences(want, &x.Reply); len(fields) > 0 {
			t.Fatalf("%s at %d: %q differ", questions.AppendQuestion(nil, &questioned[i]), want.AsOf.Seq, fields)
		}
		modes[want.Dimensions[0].Mode]++
		said["detail "+want.Detail]++
		for _, d := range want.Dimensions {
			count(said, "promised", d.Promised)
			count(said, "kept", d.Kept)
			count(said, "headroom", d.Headroom)
		}
	}
	t.Logf("%v, %v", modes, said)
	for _, what := range []string{"promised", "kept", "headroom", "detail reserved", "detail guaranteed"} {
		if said[what] == 0 {
			t.Errorf("%s: nowhere among %d answers", what, len(told))
		}
	}
	if modes["guarantee"] == 0 || modes["guarantee"] == len(told) {
		t.Errorf("modes %v", modes)
	}
}

func count(said map[string]int, what string, a quota.Amount) {
	if a > 0 {
		said[what]++
	}
}
