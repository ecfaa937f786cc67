// Package usage is the form in which a pool's usage is shown: a Snapshot of one
// instant, and a History by time.
//
// It judges nothing. Every number of a Snapshot that a decision depends on comes
// from the facts of that decision; what is worked out here are the numbers that
// only people look at: how full the pool is in percent, from where on it is
// strict, and how long it will last at the present rate.
//
// It is pure: no clock, no IO, no logging, and no floating point.
package usage
