package replay

import (
	"slices"

	"github.com/quotashare/quotashare/questions"
)

// Differences names the fields in which two answers to one question differ: all
// that say what was decided, and not the ids, nor how old the state was.
func Differences(a, b *questions.Reply) (fields []string) {
	for _, f := range []struct {
		name string
		same bool
	}{
		{"decision", a.Allow == b.Allow},
		{"reason", a.Reason == b.Reason},
		{"deprioritize", a.Deprioritize == b.Deprioritize},
		{"scoreFactor", a.ScoreFactor == b.ScoreFactor},
		{"httpStatus", a.HTTPStatus == b.HTTPStatus},
		{"message", a.Message == b.Message},
		{"retryAfterMs", a.RetryAfterMs == b.RetryAfterMs},
		{"retryAt", a.RetryAt == b.RetryAt},
		{"binding", a.HasBinding == b.HasBinding && a.Binding == b.Binding},
		{"scope", a.Scope == b.Scope},
		{"detail", a.Detail == b.Detail},
		{"alternatives", slices.Equal(a.Alternatives, b.Alternatives)},
		{"wouldBlock", a.WouldBlock == b.WouldBlock},
		{"connectionId", a.ConnectionID == b.ConnectionID},
		{"asOf.time", a.AsOf.Time == b.AsOf.Time},
		{"degraded", slices.Equal(a.Degraded, b.Degraded)},
	} {
		if !f.same {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// commonDifferences names the fields that equal answers have in common and that differ.
func commonDifferences(a, b *questions.Reply) []string {
	return slices.DeleteFunc(Differences(a, b), func(name string) bool {
		return !slices.Contains([]string{"decision", "reason", "binding", "wouldBlock", "degraded"}, name)
	})
}
