package fakeprovider

import (
	"math/rand/v2"
	"strings"
)

// words are tokens. A few have what a careless reader stumbles over: bytes that
// are escaped in JSON, and letters of several bytes.
var words = [...]string{
	" the", " share", " of", " every", " key", " is", " kept", " while", " others", " rest", " and", " what", " nobody", " needs",
	" may be", " used", ",", ".", "\n", " \"fair\"", " naïve", " 公平", " 😀", " a\\b", " <p>", " data: x",
}

// maxWords is the longest text; who asks for a million tokens wants to see them
// charged, not to read them.
const maxWords = 2000

// write returns a text of so many tokens, in so many pieces, 0 for what is
// usual. No piece is empty.
func write(rng *rand.Rand, tokens int64, pieces int) []string {
	n := int(min(tokens, maxWords))
	if pieces <= 0 {
		pieces = 8
	}
	pieces = min(pieces, n)
	var all []string
	for i := range pieces {
		var b strings.Builder
		for range n*(i+1)/pieces - n*i/pieces {
			b.WriteString(words[rng.IntN(len(words))])
		}
		all = append(all, b.String())
	}
	return all
}
