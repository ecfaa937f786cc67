// Package objects keeps snapshots in the broker, so that a new decider starts from
// one and not from the log's beginning.
//
// They are objects of the bucket QUOTA_SNAPSHOTS, in the layout that every client
// library of NATS reads and `nats object` shows: a stream with the pieces of each
// object on a subject of its own, and one message per name that says what the
// object is. docs/format/snapshot.md says what is in it. What a caller may rely on:
//
//   - An object that List returns was stored to its last piece. It may still be
//     damaged; what Fetch brings into a directory is whole, checked by the file's
//     own checksums after all of it has come.
//   - A process that is killed while it stores one leaves pieces that no list
//     shows, and that Sweep removes when they are old enough to be nobody's.
//   - Every method may be called again after an error or a crash, and by several
//     processes at once. Then an object is stored twice and one of the two stays.
//   - What goes wrong costs the snapshots of the broker and no others: an error
//     changes nothing in the directory.
//
// The library's own Put is not used. It publishes the message that names the object
// before it knows that the pieces were taken, so that a bucket that is full in the
// middle keeps an object that is listed and has no pieces; and a piece for which no
// answer comes stays for ever. Its Get waits for pieces that are not there until its
// context ends, and its Delete leaves a message for each name that ever was. The
// layout is theirs, the order of the steps is ours: pieces, each acknowledged, then
// the name; and away the other way round.
package objects
