// Package program is what our programs share: reading flags and environment,
// logging, connecting to the log, stopping on a signal, and telling a person
// what went wrong.
//
// A program is a function of a Process (arguments, environment, three streams)
// that returns an exit code, so that a whole one runs inside a test. main calls
// it and exits once.
package program
