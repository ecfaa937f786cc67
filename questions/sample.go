package questions

import (
	"math/bits"

	"github.com/quotashare/quotashare/quota"
)

// Sampled reports whether an answer is among that part of all, chosen by a hash
// of the key and of the request's id, or the decision's where the request has
// none. So whoever answers the same request again chooses the same, and nothing
// is remembered for it. Ids that are made up to be chosen can be: what is chosen
// is looked at, and nothing is decided by it.
func Sampled(apiKeyID, id string, part quota.Ratio) bool {
	switch {
	case part <= 0:
		return false
	case part >= quota.RatioOne:
		return true
	}
	// The upper half of a product is the hash scaled to 0..RatioOne, with no
	// remainder that would favour the small ones.
	scaled, _ := bits.Mul64(hash(hash(0, apiKeyID), id), uint64(quota.RatioOne))
	return scaled < uint64(part)
}

// hash takes in eight bytes with one multiplication, which FNV needs for each:
// this is done for every answer that is not recorded. Each round folds the two
// halves of the product together, as wyhash does; each text ends with rounds of its
// own, which part "ab"+"c" from "a"+"bc". Ids have no zero bytes, which alone would
// be lost at the end.
func hash(h uint64, s string) uint64 {
	const k0, k1 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db
	for ; len(s) >= 8; s = s[8:] {
		h = fold(h^load(s), k0)
	}
	var rest uint64
	for i := range len(s) {
		rest = rest<<8 | uint64(s[i])
	}
	return fold(fold(h^rest, k0), k1)
}

func load(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a^b, b)
	return high ^ low
}
