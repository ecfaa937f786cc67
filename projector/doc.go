// Package projector folds the log into state.
//
// The fold is a plain function of (state, message): it reads no clock, does no
// IO of its own and starts nothing. Decisions, replay and audit therefore run
// the very same code. What the caller may rely on:
//
//   - Order. Messages are applied one after the other in stream order, each
//     whole or not at all. The same log gives the same State.Digest, whatever
//     the batches, restarts and redeliveries on the way.
//   - One writer. Only the goroutine that runs Loop changes a State. Everyone
//     else reads through View, which holds a read lock for the few hundred
//     nanoseconds a read needs and never waits for a commit.
//   - Position. What changed and the position it was changed at are written in
//     ONE store batch. A crash loses the newest batches and never half of one;
//     the loop then folds them again from the log.
//   - Failure. An event that cannot be folded becomes a rejection and the fold
//     goes on. A store that fails, or a log that is not the one the state came
//     from, ends the loop with an error that says which; State is then given
//     up and rebuilt, never folded on.
//
// State lives in memory in arenas without pointers (see arena), so that a
// million (connection, key) pairs cost the garbage collector nothing. What
// providers say is in meters (see saturation.Meter), of which a connection has a
// few: every consumption goes to those of its connection, so that a decision finds
// the part that each key has of what the provider counts. A pool has a lane: whose
// turn it is among its connections, and the requests that wait for one of them. Lanes
// are looked at before the events of a message and after them, and only where something
// changed that somebody may wait for; State.Due says when time alone would change
// something. The store keeps the same as records; their layout is in
// docs/format/state.md. What was used by the minute is in the store alone, but for
// what it does not have yet; Loop.History puts the two together without waiting for a
// commit.
package projector
