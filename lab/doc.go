// Package lab is the laboratory of the sharing rules: it lets a scenario of keys and
// requests run under a rule, judged by the code that judges in production, and measures
// how fair that was.
//
// A run is a function of the scenario, the kind of the dimension, the rule and the source
// of chance: no clock, no IO. The same seed gives the same result.
//
// # The pool
//
// One pool with one connection and one dimension, whose limit is always Whole: amounts are
// millionths of a point of it, in both kinds, so that results can be laid beside each
// other. Sliding is a dimension of tokens with the counters of the engine; Anchored is one
// of percent with a reading of the provider at every instant, exact and never late, whose
// cycles follow upon each other. Every question goes through fairshare.Facts with a
// Counters of its own, so what lets pass here is what lets pass in production, to the
// millisecond. What is let pass is used at once, as it was estimated: there are no holds.
//
// # The rules
//
// First come, first served is the threshold rule with a threshold of 1: a pool is strict
// when its total has come to the limit, and then nobody gets anything anyway, so shares
// never count.
//
// # The keys
//
// The requests of a key wait in one line. The first of it is asked for when it comes, and
// after a refusal again after Scenario.Retry, more or less: between a half of it and one
// and a half, by chance, so that no key is first for ever. A request that was not served by
// the end of the window in which it came is given up.
//
// The instant that an answer names (retryAfterMs) is the first at which a key may pass if
// nothing else happens. What others use puts it off, but for the seldom case that a key
// which had used nothing begins, and its headroom and that of another become one. So to
// ask every Retry costs a key no more than Retry and a half.
//
// # What is measured
//
// Every window after the warm-up is measured alone, and the figures are the means over
// windows, in millionths of the limit:
//
//	served    what all keys were served
//	optimum   of each key: what weighted max-min (water-filling) would give it of the limit,
//	          if all that it asked for in the window had been known before; see Fill
//	missed    Σ max(0, optimum − served) over the keys
//	excess    Σ max(0, served − optimum)
//	gap       (missed + excess) / 2: half the distance to the optimum. What went to a key in
//	          place of another counts once, what nobody got counts half. When all of the
//	          optimum is served, all three are equal
//	jain      the weighted index of fairness: with x = served / optimum, w the weight, over
//	          the keys that asked: (Σ w·x)² / (Σ w · Σ w·x²)
//	wait      the longest time from the first refusal of a request that would have left its
//	          key within its share until that key is served
//	gave up   how often such a key was not served any more before the window was over
//
// A claim of the promise is a request that would leave its key within it:
// c + x ≤ min(share, share × ρ × left / (100 × W)), c what it used in the period. In a
// cycle it must be let pass at once. In a sliding window a key that asks on until the
// bucket ends must have come to what it was promised when it was refused, up to sixteen
// times the size of the request and what came free after it had asked last, or else nobody
// who was served since has more for its weight, up to as much. Rules without a promise are held against that of reserve 100,
// which they never made; the rule guarantee against that of its own, with reserve 0 none.
//
// An admission after which the effective total is above the limit is an over-admission.
package lab
