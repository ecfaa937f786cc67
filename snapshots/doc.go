// Package snapshots is the file that a state is kept in: the records of a store as
// they were at one message of the log, and what is needed to believe them.
//
// A file is a header, blocks of records in key order, and a footer;
// docs/format/snapshot.md draws it. What a caller may rely on:
//
//   - A Reader ends with io.EOF only when every byte of the file was as it was
//     written. Until then its records are hearsay: use Verify first, or keep what
//     Next returns apart until it is done.
//   - No length in a file is believed before its checksum was, and none beyond
//     MaxBlock at all, so that a damaged file costs no more memory than a good one.
//   - A fault of the file wraps ErrDamaged or ErrFormat. An error of the io.Reader
//     wraps neither: the file may well be good.
//
// The package does no IO of its own, and knows nothing of what records mean.
package snapshots
