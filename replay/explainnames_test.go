package replay

import (
	"slices"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/questions"
)

// TestNamesThatNobodyUsedAreSaid: of a key and a connection that were misspelt the answer
// alone is that of new ones.
func TestNamesThatNobodyUsedAreSaid(t *testing.T) {
	l := shared(50, 50)
	l.use(1, "a", 10)
	l.use(2, "late", 10)
	note := func(what string) string {
		return "nothing was consumed " + what + " up to message 3: look whether it is spelt as its gateway spells it; quotashare seen lists those that were seen"
	}
	candidates := []events.Candidate{{ConnectionID: "c"}, {ConnectionID: "k"}}
	for _, c := range []struct {
		q    questions.Question
		want []string
	}{
		{questions.Question{APIKeyID: "a", ConnectionID: "c"}, nil},
		{questions.Question{APIKeyID: "a", Pool: "p"}, nil},
		{questions.Question{APIKeyID: "b", ConnectionID: "c"}, []string{note("by key b")}}, // it has an allocation
		{questions.Question{APIKeyID: "late", ConnectionID: "c"}, []string{note("by key late")}},
		{questions.Question{APIKeyID: "a b", ConnectionID: "k"}, []string{note(`by key a b`), note("on connection k")}},
		{questions.Question{APIKeyID: "a", Reserve: true, Candidates: candidates}, []string{note("on connection k")}},
	} {
		c.q.MaxWaitMs = -1
		x, err := Explain(t.Context(), Options{Log: l, Store: inMemory}, &Ask{Question: c.q, Seq: 3, Top: 1})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x.Notes, c.want) {
			t.Errorf("%+v: %q, want %q", c.q, x.Notes, c.want)
		}
	}
}
