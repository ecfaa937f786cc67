package replay

import (
	"cmp"
	"iter"

	"github.com/quotashare/quotashare/projector"
)

// PartDifference is a part of the digest in which two states differ.
type PartDifference struct {
	Part  string
	Count uint64 // of its items that differ
	// The first of them: its name, and what it is in either state, "" = not there.
	Name           string
	Folded, Stored string
}

// Compare names the parts of the digest in which two states differ, and of each the
// first item: of one that was folded here and one that was stored elsewhere. Both are
// read side by side, an item at a time. It is called as State.Digest is.
func Compare(folded, stored *projector.State) (list []PartDifference, err error) {
	a, stop := pull(folded)
	defer stop()
	b, stopOther := pull(stored)
	defer stopOther()
	x, y := a(), b()
	for x.err == nil && y.err == nil && (x.ok || y.ok) {
		switch before(x, y) {
		case -1:
			list = differ(list, x.item, x.value, "")
			x = a()
		case 1:
			list = differ(list, y.item, "", y.value)
			y = b()
		default:
			if x.value != y.value {
				list = differ(list, x.item, x.value, y.value)
			}
			x, y = a(), b()
		}
	}
	return list, cmp.Or(x.err, y.err)
}

// pulled is the next item of an encoding, if there is one.
type pulled struct {
	item
	err error
	ok  bool
}

func pull(s *projector.State) (next func() pulled, stop func()) {
	following, stop := iter.Pull2(items(s))
	return func() pulled {
		it, err, ok := following()
		return pulled{it, err, ok && err == nil}
	}, stop
}

// before says which of two comes first: -1 the first one, 0 they are the same thing.
// What is not there comes last.
func before(x, y pulled) int {
	switch {
	case !x.ok:
		return 1
	case !y.ok:
		return -1
	}
	return cmp.Or(cmp.Compare(x.part, y.part), cmp.Compare(x.order, y.order))
}

// differ counts an item that differs.
func differ(list []PartDifference, it item, folded, stored string) []PartDifference {
	part := digestParts[it.part]
	if n := len(list); n > 0 && list[n-1].Part == part {
		list[n-1].Count++
		return list
	}
	return append(list, PartDifference{Part: part, Count: 1, Name: it.name, Folded: folded, Stored: stored})
}
