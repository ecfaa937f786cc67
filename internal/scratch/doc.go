// Package scratch is a place on disk for one run of a program: gone when it ends, and,
// when it was killed, with the next run that looks.
//
// Each is a directory with a lock in it, which the system takes back from a process that
// is gone. One whose lock can be had belongs to nobody any more. Going by age alone would
// remove from under it what takes long, or keep gigabytes for days.
package scratch
