package trace

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/quotashare/quotashare/quota"
)

// MaxLine is the longest line in bytes; a longer one is an error of its row.
const MaxLine = 1 << 20

// Row is one event of a file, or why there is none.
type Row struct {
	Line  int    // in the file, from 1
	Event []byte // JSON, with an id
	Time  int64  // of the event, shifted, epoch ms; 0 = it has none
	Err   error  // then nothing else but Line counts
}

// Options says where rows come from.
type Options struct {
	Name  string // of the file; its base goes into the ids
	Shift int64  // added to every time, in milliseconds
}

// Reader reads rows in the order of the file.
type Reader struct {
	src   *bufio.Reader
	base  string
	shift int64
	line  int
	parse func(r *Reader, line []byte) (Row, bool, error)
}

func newReader(src io.Reader, o Options) *Reader {
	return &Reader{src: bufio.NewReaderSize(src, 64<<10), base: baseName(o.Name), shift: o.Shift}
}

var errLong = fmt.Errorf("the line has more than %d bytes", MaxLine)

// Next returns the next row, io.EOF after the last one, or an error that ends
// the file: its source failed, or it is no file of that kind.
func (r *Reader) Next() (Row, error) {
	for {
		text, err := r.next()
		if errors.Is(err, errLong) {
			return Row{Line: r.line, Err: err}, nil
		}
		if err != nil {
			return Row{}, err
		}
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		row, ok, err := r.parse(r, text)
		if err != nil {
			return Row{}, err
		}
		if ok {
			row.Line = r.line
			return row, nil
		}
	}
}

// next returns the next line without bound by the buffer, and skips the rest
// of one that is too long. bufio.Scanner would end there instead.
func (r *Reader) next() ([]byte, error) {
	r.line++
	var line []byte
	long := false
	for {
		part, err := r.src.ReadSlice('\n')
		if long = long || len(line)+len(part) > MaxLine; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || (len(line) == 0 && !long)):
			return nil, err
		case long:
			return nil, errLong
		}
		return line, nil
	}
}

// Latest reads all of r and returns the latest time in it; 0 = no row has one.
func Latest(r *Reader) (int64, error) {
	latest := int64(0)
	for {
		row, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return latest, nil
		case err != nil:
			return 0, err
		}
		latest = max(latest, row.Time)
	}
}

// id names a row; the rest of the event is rest. Eight bytes of the digest tell
// apart what the row number does not: other keys, another shift, another file
// of that name.
func (r *Reader) id(kind string, rest []byte) string {
	sum := sha256.Sum256(rest)
	return fmt.Sprintf("%s-%s-%d-%s", kind, r.base, r.line, hex.EncodeToString(sum[:8]))
}

// baseName makes the file's name safe for an id, and short enough to leave
// room for the rest of it.
func baseName(name string) string {
	const most = quota.MaxIDLength / 2
	base := filepath.Base(name)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	safe := func(c rune) rune {
		if c < '!' || c > '~' {
			return '_'
		}
		return c
	}
	base = strings.Map(safe, base)
	return base[:min(len(base), most)]
}
