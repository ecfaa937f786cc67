// Package spool keeps messages on the disk of the program that took them while the log
// is away, and brings them into it when it is back, in their order.
//
// Nothing is lost: a message is answered for once it is durable here. Nothing counts
// twice: a message keeps its id, by which the broker knows what it has within its
// window, and its events keep theirs, by which the fold does for seven days. An event
// that says no time gets that of its coming here, else it would count when it is brought.
//
// A directory holds segments, in the order of their names. A segment is a line of magic
// bytes and records; a record is its length, the checksum of that, the checksum of the
// rest (CRC-32C, each 4 bytes big-endian), a line of JSON that says what it is, and the
// message. The length has a checksum of its own so that a record that was cut short and
// one that was damaged are two things. A record that a crash cut short was never answered
// for, and goes. One that was whole and is not any more is kept aside in a file whose
// name ends in .damaged, and said. The file "drained" says how far the first segment was
// brought; it may be behind, and what is brought twice counts once.
//
// When the disk is full nothing that was answered for is lost or stays behind: a record
// that found no room is cut off and its caller refused, "drained" has its room from the
// start, and a segment that was brought is deleted before that is written. What the disk
// does not do is tried again, and ends nothing but the keeping of more.
package spool
