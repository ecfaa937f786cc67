// Package replay folds the log again, beside the engine that answers, to see
// what was: explanations, audits and trials of other rules are made on it.
//
// What a caller may rely on:
//
//   - Apart. A Player has a reader of the log and a store of its own, and shares
//     nothing with an engine in the same process but the code of the fold. It
//     writes nothing to the log.
//   - The law. A Player that was moved to a message has the state, to the digest,
//     that every engine had there, whether it began with a snapshot or with the
//     first message.
//   - What is gone. A log forgets what is old. Whatever a Player should have folded
//     and did not find is in Missing; only when that is empty the law holds.
//   - One goroutine. A Player is moved by one goroutine at a time; State may be
//     read by others meanwhile.
package replay
