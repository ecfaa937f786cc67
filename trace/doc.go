// Package trace turns recorded traffic into events: a file of events, one JSON
// document per line, or the rows of an Azure LLM inference trace.
//
// Every event leaves with an id, so that importing a file twice counts it once.
// The id is made of the file's name, the row and a digest of everything else in
// the event. Without the digest, the same rows dealt to other keys or shifted
// in time would meet their first import under the same id with other content,
// and be rejected as conflicts; with it they are other events, which is what
// was asked for. So a file rebased to now counts again with every import.
//
// A row that cannot be read is an error of that row, and reading goes on. The
// package has no clock: what "now" is, the caller says with a shift.
package trace
