// Package assembly puts the parts of the engine together as one process: the
// log, the decider, and the HTTP door, started in that order and stopped in
// the other.
//
// Run is the whole life of such a process. It returns nil after its context
// ended and everything stopped in time, and an error when a part cannot start
// or ends by itself. Nothing acknowledged is lost either way: the log is the
// truth, and what the decider had not yet written it folds again.
package assembly
