package decider

import (
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/questions"
)

// mayWait reports whether a question that the view answered so may find room by
// waiting for it.
func mayWait(q *questions.Question, r *questions.Reply) bool {
	return q.Routed() && q.Wait() > 0 && r.Reason == fairshare.Capacity.String() && r.Scope != ""
}
