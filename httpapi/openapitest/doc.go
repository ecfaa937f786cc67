// Package openapitest holds a server to the OpenAPI document it serves. It is
// for tests, and knows nothing of the server but that document.
//
// # What a caller may rely on
//
// Check judges one exchange with the server: that the document has the
// operation, the status and the content type; that the answer has no field which
// the document has not and each one has its form; that declared headers are
// there; and, when the server accepted the request, that the document allows its
// parameters and its body. Unseen tells what the document promises and no
// checked answer had, Unasked which operations nobody tried. Allows judges a body
// alone. Faults tells what is wrong with the document itself.
//
// A Document is safe for concurrent use.
package openapitest
