package configfile

import (
	"bytes"
	"regexp"
	"unicode/utf8"
)

// A key for all others is called *, and without quotes a word that begins with a
// star is an alias of YAML: the mistake that nearly everybody makes once.
var (
	star   = regexp.MustCompile(`(?:^[ \t]*|[\[{,][ \t]*|[-:][ \t]+)(\*[^\s,\[\]{}"'#]*)`)
	anchor = regexp.MustCompile(`&([^\s,\[\]{}]+)`)
)

// place is where a value begins, as YAML counts: from 1, in characters.
type place struct{ line, column int }

// quoteStars puts into quotes what begins with a star where a value may stand,
// if the text has no anchor of that name, and returns the places. The result is
// for finding what else is wrong, not for use: what was meant is for its author
// to say.
func quoteStars(text []byte) (quoted []byte, places map[place]bool) {
	anchors := map[string]bool{}
	for _, m := range anchor.FindAllSubmatch(text, -1) {
		anchors[string(m[1])] = true
	}
	places = map[place]bool{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		begin, copied := len(quoted), 0
		for _, m := range star.FindAllSubmatchIndex(line, -1) {
			word := line[m[2]:m[3]]
			if anchors[string(word[1:])] {
				continue
			}
			quoted = append(quoted, line[copied:m[2]]...)
			places[place{number, 1 + utf8.RuneCount(quoted[begin:])}] = true
			quoted = append(append(append(quoted, '"'), word...), '"')
			copied = m[3]
		}
		quoted = append(quoted, line[copied:]...)
	}
	return quoted, places
}
