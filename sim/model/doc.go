// Package model says what a log of events means in the dumbest way there is: it
// keeps every use and every hold in plain lists and maps, and answers each
// question by walking all of them. It shares no code with the fold, the counters
// or the decision. Where the two disagree, one of them is wrong.
//
// It knows all units with their holds, all windows,
// caps, model caps, the allocation for all other keys, every policy and mode of
// the rules threshold and guarantee, plans by hand and that of the catalogue for kimi, and what
// providers read, with and without a scope, and whose doing that is.
package model
