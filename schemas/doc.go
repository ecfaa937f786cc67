// Package schemas has the JSON Schemas of all that is sent and answered: events,
// configuration, questions and replies, what is kept of decisions and of refused
// events; and the AsyncAPI document, which says on which subjects they are and with
// which headers.
//
// Each schema is a file of JSON Schema 2020-12 that refers to others by their file
// names. They are written by hand, since what a field means is in no type, and are
// the one place where it is written: Complete puts them into the OpenAPI and the
// AsyncAPI document, which only name them. Tests hold them against the codecs, in
// both directions: what an encoder writes is valid, and a document is valid if and
// only if its decoder takes it. The few documents about which they differ are a
// list in the tests, with the reason for each.
//
// What a schema cannot say is left to the decoder: a field that is there twice, text
// that is no UTF-8, the length of an id in bytes, bounds of a number that is sent as
// a string, and what depends on other fields' values, such as a connection that is
// listed twice.
//
// Nothing here reads a schema at work: events are judged by their decoders alone,
// which are faster and say what to do.
package schemas
