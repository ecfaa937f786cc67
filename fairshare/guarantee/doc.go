// Package guarantee is the second rule of sharing: it wastes nothing, and keeps a promise
// to every key.
//
// For every key that has used less than the asker for its weight, its fair pace is kept
// back: its share × the time that is left. Everything else anyone may use. When the pool
// is full, what comes free goes first to those who have used least for their weight, so a
// key that comes late gets the rest of its pace by the end of the window, whatever the
// others did.
//
// All fairness is counted in the current period: the bucket of a sliding window, or the
// provider's cycle. For one dimension, with L its limit, W its window, ρ the pool's
// reserve in percent, c_j what key j used in this period with its holds, C all that was
// used in it, T the pool's effective total with its holds (of a cycle T = C), i the asker
// and x what it asks for:
//
//	left = W − 1 − elapsed of a sliding window, resetAt − now − 1 of a cycle; 0 in the last
//	       millisecond, when nothing is kept any more
//	ℓ_j    = min(share_j, ⌊share_j·ρ·left / (100·W)⌋)     the promise: j can always get to it
//	keep_j = max(0, min(share_j − c_j, ℓ_j))
//	up_j   = ⌊(c_i + x)·w_j / w_i⌋                        j at the asker's level after x
//	pre_j  = ⌊c_i·w_j / w_i⌋                              and before; both endless when w_i = 0
//	h_j    = max(0, min(⌊(pre_j − c_j) / 16⌋, ⌊share_j·left / W⌋))    headroom left for j
//	within = c_i + x ≤ ℓ_i
//	need_j = max(0, min(up_j, ℓ_j) − c_j)                 when within, else
//	         max(0, min(max(up_j, ℓ_j), c_j + keep_j) − c_j)
//	E      = 0 when within, else max(0, max over j ≠ i of min(h_j, ℓ_j) − need_j)
//	H      = max of h_j over those who used something in this period
//	         + max of h_j over those who did not
//
// and then, the first that holds:
//
//	T + x > L                                the pool is full
//	C + x + Σ need_j + E > L                 what is left is reserved
//	T + x + H > L, of a sliding window       those who used less go first
//
// Why two maxima and no sum: the headroom is what one key needs to come in at all while
// the pool is full; with a sum a lone key among a hundred would stop at 73 % of the limit.
// Why they are grouped by what was used and not by what is held: the end of a lease must
// not move a key from one group to the other, or a block could come where there was none.
// Why E beside the needs: of a key that is far behind but has no promise left, a sixteenth
// of the gap stays, or nobody who asks for much would ever come in.
//
// A key that may pass its share, soft or burst, leaves the whole promise of the others
// alone: need_j = max(0, ℓ_j − c_j) when not within, and E = H = 0. So does an asker
// without an allocation, who has no level.
//
// Each term is derived where it is worked out, in sums.go. Most questions need none of
// them: what all used together settles them already, see Settle.
//
// It is pure and stores nothing. All is in integers, rounded down, with 128 bits between.
package guarantee
