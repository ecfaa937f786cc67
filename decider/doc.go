// Package decider keeps one projection of the log and answers from it.
//
// An Engine opens its store, loads the state, follows the log and, once it has
// caught up, answers quota.decide. It outlives what goes wrong below it:
//
//   - A store that cannot be opened, was folded by other rules, or turns out
//     damaged is set aside beside its place and rebuilt from the log.
//   - A log that was replaced or rolled back has the state rebuilt from it.
//   - A log that does not answer is waited for. Answers go on from the state
//     there is and say so: degraded "lag".
//
// While it has no caught-up state it is not subscribed, because a silent
// member of a queue group would cost its share of all questions a time-out.
package decider
