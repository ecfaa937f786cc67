package questions

// Codes of an Error.
const (
	CodeUndecodable = "undecodable" // no well-formed document
	CodeInvalid     = "invalid"     // a document, but no question
	CodeTooMany     = "too-many"    // more than MaxItems questions
	CodeTooLarge    = "too-large"   // the answer does not fit into a message
	CodeAtTooOld    = "at-too-old"  // the state has moved on beyond that time
	CodeInternal    = "internal"    // our fault
)

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Type returns the class of the error, for clients that know no codes.
func (e *Error) Type() string {
	if e.Code == CodeInternal {
		return "server_error"
	}
	return "invalid_request_error"
}

// Status returns the HTTP status that means the same.
func (e *Error) Status() int {
	switch e.Code {
	case CodeInternal:
		return 500
	case CodeTooLarge, CodeTooMany:
		return 413
	}
	return 400
}
