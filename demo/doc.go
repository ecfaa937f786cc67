// Package demo shows sharing to somebody who has just started the engine: four keys
// with different habits use one account, through a gateway and against a provider that
// is none, and a table says what becomes of them.
//
//	clients ──▶ gateway ──▶ fakeprovider      in this process, on loopback
//	               │
//	               ▼ NATS
//	            the engine ──▶ HTTP ──▶ table
//
// Everything in the table is what the engine says; the demo counts nothing itself. What
// the keys ask for is decided by the seed before the first request, and is in proportion
// to how long the demo lasts, so that a short one comes to the same end as a long one.
//
// # What is written
//
// A pool, PoolID, and for each run a connection of its own with a plan. A connection's
// consumption is never taken back, as no event is, so on the connection of an earlier
// run everything would begin as it ended there: with a key that is blocked. The pool and
// the plan of the earlier run are deleted before; nothing is deleted afterwards, so that
// there is something to look at. A pool of that id which is not a demo's is left alone,
// and is an error.
package demo
