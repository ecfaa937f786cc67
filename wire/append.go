package wire

import (
	"strconv"
	"unicode/utf8"

	"github.com/quotashare/quotashare/quota"
)

const hexDigits = "0123456789abcdef"

// plain has true for the bytes that JSON strings and ids hold as they are: ASCII
// without quote, backslash and control characters. DEL needs no escape in JSON,
// but is no part of an id, and is easier to see escaped.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\' && c != 0x7f
	}
	return t
}()

// AppendJSONString appends s in quotes. Only what JSON demands is escaped; bytes
// that are no UTF-8 become U+FFFD, so the result is always a JSON string.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if plain[s[i]] {
			i++
			continue
		}
		size := 1
		if s[i] >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, s[i])
		i += size
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(dst, '\\', c)
	case c == '\n':
		return append(dst, '\\', 'n')
	case c == '\r':
		return append(dst, '\\', 'r')
	case c == '\t':
		return append(dst, '\\', 't')
	case c >= utf8.RuneSelf:
		return append(dst, "\ufffd"...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// AppendJSONInstant appends a time in epoch milliseconds as a JSON string, RFC
// 3339 UTC with milliseconds.
func AppendJSONInstant(dst []byte, ms int64) []byte {
	dst = append(dst, '"')
	dst = quota.AppendInstant(dst, ms)
	return append(dst, '"')
}

// AppendMapHeader appends the header of a msgpack map of n fields.
func AppendMapHeader(dst []byte, n int) []byte { return appendHeader(dst, n, 0x80, 0xde) }

// AppendArrayHeader appends the header of a msgpack array of n items.
func AppendArrayHeader(dst []byte, n int) []byte { return appendHeader(dst, n, 0x90, 0xdc) }

func appendHeader(dst []byte, n int, fixed, code16 byte) []byte {
	switch {
	case n < 16:
		return append(dst, fixed|byte(n))
	case n < 1<<16:
		return append(dst, code16, byte(n>>8), byte(n))
	}
	return append(dst, code16+1, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// AppendStr appends a msgpack string.
func AppendStr(dst []byte, s string) []byte {
	switch n := len(s); {
	case n < 32:
		dst = append(dst, 0xa0|byte(n))
	case n < 1<<8:
		dst = append(dst, 0xd9, byte(n))
	case n < 1<<16:
		dst = append(dst, 0xda, byte(n>>8), byte(n))
	default:
		dst = append(dst, 0xdb, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(dst, s...)
}

// AppendInt appends a msgpack integer in its shortest form.
func AppendInt(dst []byte, n int64) []byte {
	switch {
	case n >= 0:
		return AppendUint(dst, uint64(n))
	case n >= -32:
		return append(dst, byte(n))
	case n >= -1<<7:
		return append(dst, 0xd0, byte(n))
	case n >= -1<<15:
		return append(dst, 0xd1, byte(n>>8), byte(n))
	case n >= -1<<31:
		return append(dst, 0xd2, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(dst, 0xd3, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// AppendUint appends a msgpack unsigned integer in its shortest form.
func AppendUint(dst []byte, n uint64) []byte {
	switch {
	case n < 1<<7:
		return append(dst, byte(n))
	case n < 1<<8:
		return append(dst, 0xcc, byte(n))
	case n < 1<<16:
		return append(dst, 0xcd, byte(n>>8), byte(n))
	case n < 1<<32:
		return append(dst, 0xce, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(dst, 0xcf, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// AppendNil appends msgpack nil.
func AppendNil(dst []byte) []byte { return append(dst, 0xc0) }

// AppendBool appends a msgpack boolean.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 0xc3)
	}
	return append(dst, 0xc2)
}

// AppendFixedStr appends v × 10^-digits to a msgpack document: an integer when
// it is whole, else a string with its exact decimal digits. A float would not
// hold 0.1.
func AppendFixedStr(dst []byte, v int64, digits int) []byte {
	var buf [24]byte
	text := quota.AppendFixed(buf[:0], v, digits)
	for _, c := range text {
		if c == '.' {
			dst = append(dst, 0xa0|byte(len(text))) // at most 21 characters
			return append(dst, text...)
		}
	}
	n, _ := strconv.ParseInt(string(text), 10, 64)
	return AppendInt(dst, n)
}
