// Package sim runs log, deciders, gateways, providers, an operator and all their
// clocks in one place, by chance and yet always the same: a seed goes in, a verdict
// comes out.
//
//	go test ./sim                              the standard seeds
//	go test ./sim -run TestSeeds -seeds=1000   more of them
//	go test ./sim -run 'TestSeed$' -v -trace -seed=123   one again, and everything that happens in it
//
// A failure names the check, the seed and what happened last, and ends with the
// command that runs it again. A run is a function of its options and of the code
// under test: no wall clock, no goroutine, one source of chance, and nothing is
// drawn while a map is walked.
//
// # Who is who
//
// The world (world.go) has one queue of what is going to happen, ordered by virtual
// time. The generator is everybody who acts by chance: gateways and their clients
// (gateway.go, exact.go, tug.go), providers and the operator (operator.go,
// documents.go), the network and the log (log.go), and what goes wrong (faults.go).
// The deciders (decider.go, writer.go) have the real projector.State, Run and
// memstore, and ask the real fairshare; only when they read, commit, answer and die
// is simulated. The model (package model) is told what every message of the log
// means and works out the same by walking lists; it imports nothing that counts,
// folds or decides. The checker (checker.go) compares, and the driver (driver.go)
// begins and ends a run.
//
// # What is checked
//
// After every message, for every decider whenever it comes there, whatever it
// has been through:
//
//   - the verdict on each hold, its place, its instant, whether the hold is open
//     then, its alternatives: as the model says, so all deciders say the same;
//   - a copy of a hold event is not judged again;
//   - log time, the number of open holds, and whether some request is held;
//   - the answer to a question drawn for the place, and how it is explained: limit,
//     share, use and holds of the key and of all; under the rule guarantee what it says of
//     the answer, and what is promised, kept and left for others;
//   - a decider level with the log answers from its view as the model does at that
//     decider's clock; asked again at the retry instant it allows, a millisecond
//     before and at a random instant before it does not;
//   - deciders that are committed at one place have one digest;
//   - a fifth of the runs are exact: every request reserves, uses what it held and
//     nothing else. There used and held together never pass a limit, which is what
//     holds are for, and does not depend on the model having the rules right;
//   - a quarter of the runs are paced: hours of small requests in pools of the rule
//     guarantee, where each hour another key floods, so that all it says comes up;
//   - in the end, when all leases are over, nothing is held, and a decider that
//     starts from nothing has the digest of all others.
//
// Each run reports how often what is hard happened, and the standard seeds must
// have had all of it. Tests lie to the model, about events and about the rule of a pool, to see that it is noticed.
//
// # What goes wrong
//
// Messages are late, stored twice, overtake each other, are sent again when an
// acknowledgement is lost, or come again hours and days later, as they were or with
// other content. The log takes nothing for a while. The broker's clock stands
// still, jumps ahead and goes back; every decider's is minutes off. Deciders lag,
// crash with commits under way, lose their store, start late. Gateways stop
// waiting, settle before the hold is there, settle twice, elsewhere or never,
// release what is over, use a name again. Pools vanish and come back with the same
// connections, and want connections that others have.
//
// # What is not covered
//
// Questions by pool, holds that choose among connections, the bound of open holds, holds that
// deciders count while the log is gone, snapshots, retention, the loop around the
// fold, NATS and Pebble: those have tests of their own.
package sim
