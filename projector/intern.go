package projector

import "hash/maphash"

// ref stands for an id (a connection, key, model or provider) inside one state.
// Refs are numbered from 1 in order of first use and are never reused; 0 is no
// id. They are local to a store: the digest and every answer speak of ids.
type ref uint32

// interner gives ids their refs. A map[string]ref would hold a pointer for
// each id and make every collection walk all of them, so the bytes lie in
// chunks and the map goes from hash to the newest ref with that hash; older
// ones hang behind it.
type interner struct {
	seed    maphash.Seed
	byHash  map[uint64]ref
	entries arena[internEntry]
	bytes   [][]byte
}

type internEntry struct {
	chunk, offset uint32
	length        uint16
	next          ref // older entry of the same hash
}

// internChunk is the size of one chunk of id bytes; an id is at most 256.
const internChunk = 1 << 18

func newInterner() *interner {
	in := &interner{seed: maphash.MakeSeed(), byHash: make(map[uint64]ref)}
	in.entries.add() // place 0 is no id
	return in
}

// len returns the highest ref given so far.
func (in *interner) len() ref { return ref(in.entries.n - 1) }

// find returns the ref of the id, 0 when it has none.
func (in *interner) find(id string) ref {
	r := in.byHash[maphash.String(in.seed, id)]
	for r != 0 && string(in.raw(r)) != id {
		r = in.entries.at(uint32(r)).next
	}
	return r
}

// intern returns the ref of the id and gives it one when it has none. The
// empty id is 0.
func (in *interner) intern(id string) ref {
	if id == "" {
		return 0
	}
	if r := in.find(id); r != 0 {
		return r
	}
	last := len(in.bytes) - 1
	if last < 0 || len(in.bytes[last])+len(id) > internChunk {
		in.bytes = append(in.bytes, make([]byte, 0, max(internChunk, len(id))))
		last++
	}
	h := maphash.String(in.seed, id)
	i, e := in.entries.add()
	*e = internEntry{chunk: uint32(last), offset: uint32(len(in.bytes[last])), length: uint16(len(id)), next: in.byHash[h]}
	in.bytes[last] = append(in.bytes[last], id...)
	in.byHash[h] = ref(i)
	return ref(i)
}

// raw returns the id's bytes, which must not be changed.
func (in *interner) raw(r ref) []byte {
	e := in.entries.at(uint32(r))
	return in.bytes[e.chunk][e.offset : e.offset+uint32(e.length)]
}

// id returns the id of the ref; "" for 0.
func (in *interner) id(r ref) string {
	if r == 0 {
		return ""
	}
	return string(in.raw(r))
}
