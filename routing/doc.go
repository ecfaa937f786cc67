// Package routing chooses the connection that a request is sent to, and, when none
// has room, who of those that wait goes next.
//
// Both are state machines that the fold runs when it judges a hold: they read no
// clock, start nothing and iterate no map, so the same log gives the same choices
// on every machine. What they keep is small and of integers alone: a credit for each
// connection of a pool, and for each pool the order and the savings of the keys that
// have a request waiting. A restored state makes the same choices as the one it was
// taken from.
//
// # Choice
//
// Choose looks at candidates in the order given, which decides every tie:
//
//  1. Blocked ones are out, those that the provider calls full go last, and those at
//     their maxConcurrent behind them: see Gate. The foremost gate that is not empty
//     is in play. A full account is still an account, so when all are saturated the
//     choice is made among them; maxConcurrent is a hard limit, so when all are at
//     theirs nobody is chosen.
//  2. Those in play take turns, by smooth weighted round robin: each gains its
//     weight, and the largest credit is the best.
//  3. Of the best two the one with fewer holds for its weight wins, the best one when
//     they are even.
//  4. The winner pays what all gained. So the credits of a pool always sum to 0.
//
// Turns follow what was asked for, holds what is still going on: a slow account is
// passed over while it is behind, and its credit remembers how often.
//
// # Backlog
//
// A Backlog is one pool's: the requests that found no room and have time left. They
// are served by deficit round robin. A key whose turn it is gets a quantum by its
// weight, and goes as long as its savings pay for the request that is next; what is left
// is saved until the next round, or lost when nothing of the key waits any more. So a
// key that asks for ten times as much as another waits ten times as long, and the
// other does not notice. Whoever was promised less time than that leaves.
//
// What may pass is not known here; see Rules. The next request of a key is the first that
// may pass; of those that want the same only the first is asked about, so they go in the
// order in which they came. A key of which none may pass is passed over and saves nothing
// meanwhile, and the others do not wait for it.
//
// Not safe for concurrent use: the fold is one goroutine.
package routing
