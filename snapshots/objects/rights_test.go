package objects

import (
	"slices"
	"testing"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// With the rights of the document all of it works, and each of those for this bucket
// is used.
func TestTheRightsOfTheDocument(t *testing.T) {
	brokertest.NeedsRights(t, "../../docs/format/snapshot.md", Bucket, func(url string) {
		b := newBench(t, url)
		b.put(1, 3*pieceSize)
		b.put(2, 10)
		_, err := b.Newest(b.ctx(), b.into, anyOne)
		b.must(err)
		b.must(b.Remove(b.ctx(), 1))
		b.must(b.Sweep(b.ctx()))
		if got := b.listed(); !slices.Equal(got, []uint64{2}) {
			t.Errorf("listed %d", got)
		}
	})
}
