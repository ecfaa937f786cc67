package projector

// chunkSize is the number of items in one chunk of an arena.
const chunkSize = 1024

// arena is a growing list of items of one type that never moves one: it grows
// by a chunk, so it copies nothing while readers wait, and pointers into it
// stay good. With a pointer-free T the garbage collector sees one pointer for
// every 1,024 items.
type arena[T any] struct {
	chunks []*[chunkSize]T
	n      uint32
}

// add appends a zero item and returns its place.
func (a *arena[T]) add() (uint32, *T) {
	i := a.n
	if i%chunkSize == 0 {
		a.chunks = append(a.chunks, new([chunkSize]T))
	}
	a.n++
	return i, a.at(i)
}

// at returns the item at place i, which must have been added.
func (a *arena[T]) at(i uint32) *T { return &a.chunks[i/chunkSize][i%chunkSize] }
