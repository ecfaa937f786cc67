// Package questions is the form of quota.decide: it reads questions and writes
// replies, in JSON and in msgpack. It is pure and does not decide anything.
//
// A message holds one question, or an array of at most MaxItems. Request.Decode
// reads it; what cannot be read is answered with an Error that names the field.
// In an array every question stands for itself: a bad one is answered in its
// place and the others are decided. Request.Append writes the answer in the
// same shape and order.
//
// Reading has two ways that give the same result (a fuzz test holds them
// together). A scanner reads the usual shape in one pass, and gives up at
// anything it is not sure about. Then the tree of package wire is read, which
// knows all forms and makes all error texts. The scanner never refuses a
// question by itself, except for what both ways check on the finished question.
//
// Writing appends to a buffer of the caller and allocates nothing else. A field
// that is not set is not written; numbers are exact decimals, in msgpack
// integers when whole, else strings; times are RFC 3339 UTC with milliseconds.
//
// A Request and a Reply may be used again after their answer is written; none
// of them may be used by two goroutines at once.
package questions
