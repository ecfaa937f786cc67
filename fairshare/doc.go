// Package fairshare decides: may this API key use this connection now, and if
// not, when.
//
// A decision has two halves. Facts.Gather reads every counter, provider reading
// and hold the question depends on, once, while the caller holds the state
// still, and judges. Everything after that — the instant the verdict changes, the
// explanation, the message — is worked out from the facts alone, at any instant
// not before the one they were gathered for. So the state is locked for the
// shortest possible time, and the search for the retry instant asks the very
// same function as the decision itself: the two cannot disagree.
//
// Of the holds in flight, of which there may be thousands, a verdict needs sums,
// and the state has them ready. Only the retry instant depends on when each ends:
// that is why Gather judges, for it asks for the list of a blocked question alone.
// The list is sorted and added up when the search first needs it, when the state
// is free again; from then on an instant costs the search a few steps, however
// many holds there are.
//
// The rules, for c the key's consumption with its holds, T the pool's total
// with all holds, e the estimate, u the serving connection's reading:
//
//  1. c ≥ cap, or c + min(e, cap) > cap: block, whatever the policy.
//  2. u ≥ 100, or T ≥ limit, or T + min(e, limit) > limit: block, for everyone.
//  3. The pool is strict from the moment it is used to the threshold, by our
//     count or by the provider's; before that it is generous.
//  4. Strict and c > share: the key's policy says what happens.
//  5. A question that reserves, and no room for one more hold, in the engine or on the
//     connection: block, in a pool or not, but only if nothing else does.
//
// It is pure: no clock, no IO, no logging, and no floating point. Comparisons
// that would divide multiply instead, in 128 bits, so "at least half" is exact.
// After its slices have grown once, a Facts allocates nothing.
package fairshare
