package httpapi

import (
	"strconv"
	"strings"
)

// cursor is how far a reader of GET /api/quota/stream has come. Its text is the
// id of the events: the change and the process with its block, parted by dots,
//
//	4711.k3f9x2ab.17
//
// so that another process, also one that was not there before, can go on with
// what is in the log. Before the state was there once it is known of no change
// which it is, and "-" stands in its place.
type cursor struct {
	known   bool   // change counts
	change  uint64 // every change up to this sequence of the log was sent
	process string // that the block is of
	block   uint64 // every row up to this number was sent
}

// maxProcess bounds a process's name in characters.
const maxProcess = 32

func (c *cursor) append(dst []byte) []byte {
	if c.known {
		dst = strconv.AppendUint(dst, c.change, 10)
	} else {
		dst = append(dst, '-')
	}
	dst = append(append(append(dst, '.'), c.process...), '.')
	return strconv.AppendUint(dst, c.block, 10)
}

// parseCursor reads what append wrote, and nothing else.
func parseCursor(text string) (c cursor, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || !isProcess(parts[1]) {
		return c, false
	}
	c.process = parts[1]
	var err error
	if c.known = parts[0] != "-"; c.known {
		if c.change, err = strconv.ParseUint(parts[0], 10, 64); err != nil {
			return c, false
		}
	}
	if c.block, err = strconv.ParseUint(parts[2], 10, 64); err != nil {
		return c, false
	}
	return c, string(c.append(nil)) == text // no signs, no zeros before
}

func isProcess(s string) bool {
	odd := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	return s != "" && len(s) <= maxProcess && !strings.ContainsFunc(s, odd)
}
