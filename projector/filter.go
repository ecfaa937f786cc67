package projector

import (
	"encoding/binary"
	"math/bits"
)

// filter says of an id hash "certainly not seen" or "perhaps seen". It stands
// in front of the store's de-dup entries of one day, so that a new event, the
// usual case, costs a few cache lines and not one store look-up per day.
//
// It is a list of blocked Bloom filters. Each takes one 64-byte block per id
// and sets probes bits in it; at 16 bits an id about 0.3 % of the unseen ids
// of a full segment pass. A full segment is followed by one of four times its
// size, so ten million ids a day make five segments. The hashes are SHA-256
// already, so their bytes are used as they are.
type filter struct{ segments []segment }

type segment struct {
	blocks []block
	left   int // ids it still takes
}

type block [8]uint64 // 512 bits, one cache line

const (
	probes       = 6
	bitsPerID    = 16
	firstSegment = 1 << 16 // ids: 128 KiB
	segmentGrow  = 4
)

func newSegment(ids int) segment {
	return segment{blocks: make([]block, ids*bitsPerID/512), left: ids}
}

// slot picks the block by the hash's first half. Scaling by multiplication
// spreads over any number of blocks without a division.
func (s *segment) slot(h idHash) *block {
	hi, _ := bits.Mul64(binary.LittleEndian.Uint64(h[:8]), uint64(len(s.blocks)))
	return &s.blocks[hi]
}

// mask returns the bits of the hash's second half: probes × 9 bits.
func mask(h idHash) (m block) {
	x := binary.LittleEndian.Uint64(h[8:])
	for range probes {
		m[x>>6&7] |= 1 << (x & 63)
		x >>= 9
	}
	return m
}

func (f *filter) add(h idHash) {
	n := len(f.segments)
	if n == 0 || f.segments[n-1].left == 0 {
		size := firstSegment
		for range n {
			size *= segmentGrow
		}
		f.segments = append(f.segments, newSegment(size))
		n++
	}
	s := &f.segments[n-1]
	s.left--
	b, m := s.slot(h), mask(h)
	for i := range b {
		b[i] |= m[i]
	}
}

// perhaps reports whether the hash may have been added.
func (f *filter) perhaps(h idHash, m *block) bool {
	for i := range f.segments {
		b := f.segments[i].slot(h)
		miss := uint64(0)
		for j := range b {
			miss |= m[j] &^ b[j]
		}
		if miss == 0 {
			return true
		}
	}
	return false
}
