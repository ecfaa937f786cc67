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
// A question that reserves is judged on the view first. What would pass becomes an
// event, which is written with what else came meanwhile, and the fold's verdict at
// its place is the answer. Where the log takes no holds, or not in time, the answer
// says "no-hold": it is judged on the view and on the holds that this process and
// others let pass meanwhile, which they tell each other and drop when the log has
// them. A hold whose question was blocked, or whose caller went, is not written any
// more, and released when it may have been.
//
// While it has no caught-up state it is not subscribed, because a silent
// member of a queue group would cost its share of all questions a time-out.
package decider
