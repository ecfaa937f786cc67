// Package golden holds what must be the same, to the byte, on every machine: the
// digest of the state that a history folds to, the answers from it, and a snapshot
// that another machine wrote.
//
// It is all tests. They run on this machine, and built for arm64 on an emulator,
// because a compiler may fuse a multiplication and an addition of floats there, and
// sizes, alignments and assembly are others.
package golden
