package questions

import "github.com/quotashare/quotashare/wire"

// AppendRateLimit appends the JSON body of the 429 that a gateway gives its
// client for a block: clients show the message and know the code.
func AppendRateLimit(dst []byte, message string) []byte {
	w := wire.NewWriter(dst, wire.JSON)
	writeErrorBody(&w, message, "rate_limit_error", "rate_limit_exceeded")
	return w.Bytes()
}

// RetryAfter returns the value of the Retry-After header for a wait in
// milliseconds: whole seconds, rounded up, because a client that comes back
// within the last second would be blocked again.
func RetryAfter(ms int64) int64 {
	if ms <= 0 {
		return 0
	}
	return (ms-1)/1000 + 1
}
