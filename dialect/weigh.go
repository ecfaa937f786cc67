package dialect

import "bytes"

// mediaTokens is the most that a picture, a file or a sound counts. Anthropic
// says that an image of full size is about 1,600 tokens
// (platform.claude.com/docs/en/build-with-claude/vision), and most models of
// OpenAI take about that or less (platform.openai.com/docs/guides/images-vision).
// By its base64 one of a megabyte would be 350,000, and would shut out its key.
const mediaTokens = 1600

// bytesPerToken is the rule of thumb that OpenAI gives for English text
// (help.openai.com/en/articles/4936856).
const bytesPerToken = 4

// tokensOf is what so many bytes of text count: no token is free, so it is
// rounded up.
func tokensOf(textBytes int64) int64 { return (textBytes + bytesPerToken - 1) / bytesPerToken }

// weight is how much text there is.
type weight struct {
	text    int64 // bytes of strings and names, decoded
	numbers int64 // how many; a prompt may be a list of tokens
}

// weigh consumes the value at the cursor and adds what it weighs to w, which
// may be nil.
func (c *cursor) weigh(w *weight) error {
	switch c.next() {
	case '{':
		return c.members(func(name string) error { return c.member(name, w) })
	case '[':
		return c.list(']', func() error { return c.weigh(w) })
	case '"':
		raw, err := c.str()
		if err == nil && w != nil {
			w.text += capped(raw, isDataURL(raw))
		}
		return err
	default:
		word, err := c.bare()
		if err == nil && w != nil && word[0] <= '9' {
			w.numbers++
		}
		return err
	}
}

// member weighs one member of an object. Names count: what a message has of
// them, role and content, is about what its envelope costs.
func (c *cursor) member(name string, w *weight) error {
	if w == nil {
		return c.weigh(nil)
	}
	w.text += int64(len(name))
	media := name == "data" || name == "file_data"
	if !media || c.next() != '"' {
		return c.weigh(w)
	}
	raw, err := c.str()
	w.text += capped(raw, true)
	return err
}

// capped is the length of a string, of media no more than they count.
func capped(raw []byte, media bool) int64 {
	n := decodedLen(raw)
	if media {
		return min(n, mediaTokens*bytesPerToken)
	}
	return n
}

func isDataURL(raw []byte) bool { return bytes.HasPrefix(raw, []byte("data:")) }

// decodedLen is the length in bytes that the text of a JSON string has once it
// is decoded. Half a surrogate pair counts 2, so that a pair counts its 4.
func decodedLen(raw []byte) int64 {
	n := int64(0)
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 || at+1 >= len(raw) {
			return n + int64(len(raw))
		}
		n += int64(at)
		if raw[at+1] != 'u' || at+6 > len(raw) {
			n, raw = n+1, raw[at+2:]
			continue
		}
		unit := 0
		for _, h := range raw[at+2 : at+6] {
			unit = unit<<4 | hex(h)
		}
		n, raw = n+unitLen(unit), raw[at+6:]
	}
}

func hex(c byte) int {
	switch {
	case c <= '9':
		return int(c-'0') & 15
	default:
		return int(c|0x20-'a'+10) & 15
	}
}

// unitLen is what a UTF-16 code unit takes in UTF-8.
func unitLen(unit int) int64 {
	switch {
	case unit < 0x80:
		return 1
	case unit < 0x800, unit >= 0xd800 && unit < 0xe000:
		return 2
	default:
		return 3
	}
}
