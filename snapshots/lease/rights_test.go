package lease

import (
	"testing"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// With the rights of the document all of it works, and each of those for this bucket
// is used.
func TestTheRightsOfTheDocument(t *testing.T) {
	brokertest.NeedsRights(t, "../../docs/format/snapshot.md", Bucket, func(url string) {
		w := newWorld(t, url)
		a, b := w.join("a"), w.join("b")
		a.turn(within(t))
		b.turn(within(t))
		if err := a.Confirm(within(t)); err != nil {
			t.Error(err)
		}
		a.giveBack(within(t))
		b.turn(within(t))
		if !b.Held() || w.said.Len() == 0 {
			t.Errorf("it was not passed on:\n%s", w.said.String())
		}
	})
}
