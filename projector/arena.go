package projector

import (
	"cmp"
	"slices"
)

// chunkSize is the number of items in one chunk of an arena.
const chunkSize = 1024

// arena is a growing list of items of one type that never moves one: it grows
// by a chunk, so it copies nothing while readers wait, and pointers into it
// stay good while the item is there. With a pointer-free T the garbage collector sees one pointer for
// every 1,024 items.
type arena[T any] struct {
	chunks []*[chunkSize]T
	n      uint32   // places so far, those that are free too
	free   []uint32 // places of items that were dropped
}

// add gives a zero item a place, one that is free where there is one.
func (a *arena[T]) add() (uint32, *T) {
	if last := len(a.free) - 1; last >= 0 {
		i := a.free[last]
		a.free = a.free[:last]
		if chunk := &a.chunks[i/chunkSize]; *chunk == nil {
			*chunk = new([chunkSize]T)
		}
		return i, a.at(i)
	}
	i := a.n
	if i%chunkSize == 0 {
		a.chunks = append(a.chunks, new([chunkSize]T))
	}
	a.n++
	return i, a.at(i)
}

// at returns the item at place i, which must have been added.
func (a *arena[T]) at(i uint32) *T { return &a.chunks[i/chunkSize][i%chunkSize] }

// find returns the item at place i, unless the chunk of it was let go.
func (a *arena[T]) find(i uint32) (item *T, ok bool) {
	chunk := a.chunks[i/chunkSize]
	if chunk == nil {
		return nil, false
	}
	return &chunk[i%chunkSize], true
}

// drop makes the item zero and its place free.
func (a *arena[T]) drop(i uint32) {
	var zero T
	*a.at(i) = zero
	a.free = append(a.free, i)
}

// release lets go the chunks that have no item. They come back as their places are
// needed; a place of a chunk that is there is taken before.
func (a *arena[T]) release() {
	slices.SortFunc(a.free, func(x, y uint32) int { return cmp.Compare(y, x) })
	for rest := a.free; len(rest) > 0; {
		chunk := rest[0] / chunkSize
		n := 0
		for n < len(rest) && rest[n]/chunkSize == chunk {
			n++
		}
		if n == chunkSize {
			a.chunks[chunk] = nil
		}
		rest = rest[n:]
	}
}

// all yields the items of the chunks that there are, with their places; those that
// are free are zero.
func (a *arena[T]) all(yield func(uint32, *T) bool) {
	for i := uint32(0); i < a.n; i++ {
		chunk := a.chunks[i/chunkSize]
		if chunk == nil {
			i += chunkSize - 1 // the rest of it
			continue
		}
		if !yield(i, &chunk[i%chunkSize]) {
			return
		}
	}
}
