// Package events is the format of stream QUOTA: which events there are, how they
// are encoded, and what makes one valid.
//
// Decode gives the events of a stored message or, per place, why there is none;
// Append writes one as publishers send it. The same message gives the same items
// on every machine and in every version that has the same rules: a decision
// about what is valid is part of the log's meaning.
//
// The package is pure: it does not look at a clock (a time ahead of the broker's
// is clamped where events are folded), and no input makes it panic. Events of
// the common form are read by a scanner straight from the bytes. Everything else
// is parsed into values first: slower, with the same result where both know the
// event, and with all the error texts.
package events
