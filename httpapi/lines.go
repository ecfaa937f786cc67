package httpapi

import (
	"bytes"
	"io"
)

// lines cuts a stream into lines with memory for one line and no more.
// bufio.Scanner would end at the first line that is too long, and bufio.Reader
// does not tell what has come already from what has yet to come, which is where
// a stream's events are published.
type lines struct {
	src      io.Reader
	most     int // bytes of a line
	buf      []byte
	from, to int  // of buf: what has come and was not taken
	skipping bool // over the rest of a line that was too long
}

// minBuffer is the buffer's first size: some 400 events, which then share one
// message. It grows as a line needs it.
const minBuffer = 64 << 10

// next returns the next line that has come whole, without white space around.
// The line is good until the next fill.
func (l *lines) next() (line []byte, ok bool) {
	for {
		end := bytes.IndexByte(l.buf[l.from:l.to], '\n')
		if end < 0 {
			return nil, false
		}
		line = l.buf[l.from : l.from+end]
		l.from += end + 1
		if !l.skipping {
			return bytes.TrimSpace(line), true
		}
		l.skipping = false
	}
}

// fill waits for more of the stream, once next has no more. tooLong tells that
// the line that is coming has more than most bytes; it is skipped, and told
// once. A line that came whole may be longer than that by what the buffer holds.
func (l *lines) fill() (tooLong bool, err error) {
	l.to = copy(l.buf, l.buf[l.from:l.to])
	l.from = 0
	if l.to > l.most && !l.skipping {
		tooLong, l.skipping = true, true
	}
	if l.skipping {
		l.to = 0
	}
	if l.to == len(l.buf) {
		more := min(max(minBuffer, len(l.buf)), l.most+minBuffer-len(l.buf))
		l.buf = append(l.buf, make([]byte, more)...)
	}
	n, err := l.src.Read(l.buf[l.to:])
	l.to += n
	return tooLong, err
}

// last returns what the end of the stream left: a line without its end.
func (l *lines) last() (line []byte, ok bool) {
	line = bytes.TrimSpace(l.buf[l.from:l.to])
	l.from = l.to
	return line, len(line) > 0 && !l.skipping
}
