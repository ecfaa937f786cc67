package quota

import (
	"errors"
	"unicode/utf8"
)

// MaxIDLength is the longest id in bytes.
const MaxIDLength = 256

// AllOthers is the API key id that stands for every key of a pool's connections
// without an allocation of its own, together.
const AllOthers = "*"

// Errors of ValidateID.
var (
	ErrIDEmpty   = errors.New("is empty")
	ErrIDLong    = errors.New("has more than 256 bytes")
	ErrIDUTF8    = errors.New("is not valid UTF-8")
	ErrIDControl = errors.New("has a control character")
)

// ValidateID checks an id: 1..256 bytes of valid UTF-8 without control
// characters (U+0000–1F, 7F–9F). Ids are compared byte by byte; ':', '/', '%',
// '.' and spaces are legal.
func ValidateID(id string) error {
	switch {
	case id == "":
		return ErrIDEmpty
	case len(id) > MaxIDLength:
		return ErrIDLong
	}
	ascii := true
	for i := 0; i < len(id); i++ {
		c := id[i]
		if c < 0x20 || c == 0x7f {
			return ErrIDControl
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	if ascii {
		return nil
	}
	if !utf8.ValidString(id) {
		return ErrIDUTF8
	}
	for _, r := range id {
		if r >= 0x80 && r <= 0x9f {
			return ErrIDControl
		}
	}
	return nil
}
