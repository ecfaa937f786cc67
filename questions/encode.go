package questions

import "github.com/quotashare/quotashare/wire"

// Append appends the answer: replies has one reply for each of Questions, and
// the errors of Bad are put in their places.
func (r *Request) Append(dst []byte, enc wire.Encoding, replies []Reply) []byte {
	if !r.IsArray {
		return AppendReply(dst, enc, &replies[0])
	}
	total := len(r.Questions) + len(r.Bad)
	if enc == wire.Msgpack {
		dst = wire.AppendArrayHeader(dst, total)
	} else {
		dst = append(dst, '[')
	}
	bad, next := r.Bad, 0
	for i := range total {
		if i > 0 && enc == wire.JSON {
			dst = append(dst, ',')
		}
		if len(bad) > 0 && bad[0].Index == i {
			dst = AppendError(dst, enc, bad[0].Err)
			bad = bad[1:]
			continue
		}
		dst = AppendReply(dst, enc, &replies[next])
		next++
	}
	if enc == wire.JSON {
		dst = append(dst, ']')
	}
	return dst
}

// AppendReply appends one reply, or the error it is.
func AppendReply(dst []byte, enc wire.Encoding, r *Reply) []byte {
	switch {
	case r.Err != nil:
		return AppendError(dst, enc, r.Err)
	case enc == wire.Msgpack:
		return appendMsgpack(dst, r)
	}
	return appendJSON(dst, r)
}

// AppendError appends {"error":{"message","type","code"}}.
func AppendError(dst []byte, enc wire.Encoding, e *Error) []byte {
	return appendErrorBody(dst, enc, e.Message, e.Type(), e.Code)
}

// AppendRateLimit appends the JSON body of the 429 that a gateway gives its
// client for a block: clients show the message and know the code.
func AppendRateLimit(dst []byte, message string) []byte {
	return appendErrorBody(dst, wire.JSON, message, "rate_limit_error", "rate_limit_exceeded")
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

func appendErrorBody(dst []byte, enc wire.Encoding, message, kind, code string) []byte {
	w := wire.NewWriter(dst, enc)
	w.Object()
	w.Name("error")
	w.Object()
	stringField(&w, "message", message)
	stringField(&w, "type", kind)
	stringField(&w, "code", code)
	w.End()
	w.End()
	return w.Bytes()
}
