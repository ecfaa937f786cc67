package projector

import "github.com/quotashare/quotashare/quota"

// maxPartsAdded is how many keys' parts one Gather adds up at most, as the fold
// waits meanwhile: about 0.1 ms, less than an array of 1,000 questions takes anyway.
const maxPartsAdded = 1 << 14

// attributed is what all keys together have of the open cycles of meters. Each is
// added up once, for all dimensions of its window and all questions. Asked by
// pool, those of all its connections are: which one will answer is decided without
// the lock, for finding the one that comes free first takes longer than this.
//
// A meter for whose keys there is no room any more tells what they have as one,
// so the work is bounded whatever the size of pools and arrays. That is more by
// less than a millionth of a point for each key, as the pool's usage has it for
// the keys that it does not list. The alternative was to leave it out, which
// would look as if the provider had said nothing.
type attributed struct {
	points map[*meter]quota.Amount
	added  int // parts
}

func (a *attributed) of(m *meter) quota.Amount {
	if points, ok := a.points[m]; ok {
		return points
	}
	if a.points == nil {
		a.points = make(map[*meter]quota.Amount)
	}
	points := m.Part(m.LocalTotal())
	if keys := m.Keys(); keys <= maxPartsAdded-a.added {
		a.added += keys
		points = m.Attributed()
	}
	a.points[m] = points
	return points
}
