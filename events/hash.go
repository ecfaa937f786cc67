package events

import (
	"crypto/sha256"
	"encoding/binary"
)

// Hash tells one stored message from another: SHA-256 over
//
//	subject · number of headers · (name · number of values · (value)…)… · SHA-256 of the body
//
// headers in byte order of their names, values as they came, every text with
// its length before it, lengths and numbers as uvarints. The body goes in by its
// own hash, so that it is not copied; its 32 bytes need no length.
//
// Sequence and time are not in it: whoever compares messages has them.
func Hash(m *Message) [32]byte {
	var room [hashBuffer]byte
	buf := appendString(room[:0], m.Subject)
	buf = binary.AppendUvarint(buf, uint64(len(m.Header)))
	if len(m.Header) > 0 {
		for _, name := range sortedNames(m.Header) {
			buf = appendString(buf, name)
			values := m.Header[name]
			buf = binary.AppendUvarint(buf, uint64(len(values)))
			for _, value := range values {
				buf = appendString(buf, value)
			}
		}
	}
	body := sha256.Sum256(m.Data)
	buf = append(buf, body[:]...)
	return sha256.Sum256(buf)
}
