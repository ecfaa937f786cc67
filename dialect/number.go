package dialect

import (
	"bytes"
	"errors"
	"strconv"
)

const (
	// most is the largest number of tokens that an event may state, and so the
	// largest that is asked for or charged.
	most = 1_000_000_000_000

	// believed is the most that a response may state in one number. The largest
	// windows on offer are of 10 million tokens, and an answer is far smaller,
	// times n: ten times that is in no call. What is above is a fault of the
	// server's, a counter below 0 or a time in milliseconds, and would shut out a
	// key for as long as its window lasts.
	believed = 100_000_000
)

// tokens reads a whole number of tokens, in whatever way JSON writes it: 1e6 and
// 200.0 are whole. What is none, such as 0.5, -1 or "7", is not one. A larger
// number than most is most.
//
// A mantissa whose point stands after p digits, times 10^e, has p+e digits
// before its point; those behind it must be 0. Floats would do the same, but
// not to the token.
func tokens(value []byte) (n int64, ok bool) {
	if len(value) == 0 || !isDigit(value[0]) {
		return 0, false
	}
	mantissa, exponent, ok := split(value)
	if !ok {
		return 0, false
	}
	whole, _, _ := bytes.Cut(mantissa, []byte("."))
	place := len(whole) + exponent // digits before the point that are to come
	for _, c := range mantissa {
		switch {
		case c == '.':
			continue
		case !isDigit(c), place <= 0 && c != '0':
			return 0, false
		case place > 0:
			n = min(n*10+int64(c-'0'), most)
		}
		place--
	}
	for ; place > 0 && n > 0 && n < most; place-- {
		n = min(n*10, most)
	}
	return n, true
}

// split takes the exponent from a number, 0 when it has none. One beyond ±32767
// is as if at that bound.
func split(value []byte) (mantissa []byte, exponent int, ok bool) {
	at := bytes.IndexAny(value, "eE")
	if at < 0 {
		return value, 0, true
	}
	e, err := strconv.ParseInt(string(value[at+1:]), 10, 16)
	return value[:at], int(e), err == nil || errors.Is(err, strconv.ErrRange)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
