package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Located returns an error of ParseJSON with the line and the column in front where
// data stops being one document, both from 1, columns in characters; as it is when it
// is about no one place. It is for files that people write: in what a program sends,
// nobody counts lines.
func Located(data []byte, err error) error {
	data = bytes.TrimPrefix(data, byteOrderMark)
	at := placeOf(data, err)
	if at < 0 {
		return err
	}
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		err = fmt.Errorf("not well formed: %w", syntax.Err) // it is a file, and no message
	}
	before := data[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

// placeOf returns the index of the byte that an error is about, -1 when there is none.
func placeOf(data []byte, err error) int {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return min(max(int(syntax.Offset)-1, 0), len(data)) // the library counts that byte as read
	case errors.Is(err, io.ErrUnexpectedEOF):
		return len(data)
	case errors.Is(err, ErrUTF8):
		return validUTF8(data)
	case errors.Is(err, ErrTrailing):
		return trailing(data)
	}
	return -1
}

// validUTF8 returns how many bytes are valid from the start on.
func validUTF8(data []byte) int {
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// trailing returns where the second document begins.
func trailing(data []byte) int {
	dec := json.NewDecoder(bytes.NewReader(data))
	var first json.RawMessage
	if dec.Decode(&first) != nil {
		return -1
	}
	rest := data[dec.InputOffset():]
	return len(data) - len(bytes.TrimLeft(rest, " \t\r\n"))
}
