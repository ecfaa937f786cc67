package wire

import "strings"

// Detect tells the encoding of a document from its content type, or, when that
// names neither encoding, from its first byte (0 for an empty document).
//
// The first byte of a JSON document is white space, one of {["-0…9tfn, or 0xEF
// of a byte order mark. A msgpack document that could be a message of ours is a
// map, an array or nil and begins at 0x80 or above, where no JSON begins but
// for that mark; 0xEF itself would be the lone integer -17.
func Detect(contentType string, firstByte byte) Encoding {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	switch {
	case strings.HasSuffix(media, "json"):
		return JSON
	case strings.HasSuffix(media, "msgpack"):
		return Msgpack
	case firstByte >= 0x80 && firstByte != byteOrderMark[0]:
		return Msgpack
	}
	return JSON
}

// ContentType returns the media type of the encoding.
func (e Encoding) ContentType() string {
	if e == Msgpack {
		return "application/msgpack"
	}
	return "application/json"
}
