// Package plans holds what operators decide: which dimensions a connection's
// plan has, which connections and keys share a pool, and what each key's share
// of a limit is.
//
// One function, Resolve, turns a pool and the plans of its connections into
// limits and shares; the decision, the usage snapshot, the dashboard and a
// replay all read its result, so they can never disagree.
//
// Documents are read by the Parse functions and Settings.Change, which name
// every fault by its field; PatchPool changes one. What is allowed and probably
// not meant is a warning and never a fault: the fold must not refuse tomorrow
// what depends on a plan of today.
//
// It is pure: no clock, no IO, integers only.
package plans
