// Package wire reads and writes the two encodings of every message, JSON and
// msgpack, into and from one form, so that a rule about a field is written
// once.
//
// Parse reads a document into a Value, strictly and within bounds; Reader reads
// the fields of an object and collects every fault; Writer appends a document in
// either encoding. Scanner is the fast way in for documents of the common form:
// it reads straight from the bytes, and whatever it does not know it leaves to
// Parse and Reader, which also have all the error texts.
//
// Everything is pure and safe for concurrent use by value. No input panics, and
// time and memory are bounded by the length of the input.
package wire
