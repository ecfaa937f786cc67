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
	most     int    // bytes of a line
	room     *taken // what buf has beyond minBuffer; nil = it may
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

// fill waits for more of the stream, once next has no more. refused tells that the line
// that is coming has more than most bytes, or that there is no room for it; it is
// skipped, and told once. A line that came whole may be longer than that by what the
// buffer holds.
func (l *lines) fill() (refused *fault, err error) {
	l.to = copy(l.buf, l.buf[l.from:l.to])
	l.from = 0
	if !l.skipping {
		refused = l.makeRoom()
		l.skipping = refused != nil
	}
	if l.skipping {
		l.to = 0
	}
	if l.to == 0 && len(l.buf) > minBuffer {
		l.resize(minBuffer) // few lines are long, and a stream may have no end
	}
	n, err := l.src.Read(l.buf[l.to:])
	l.to += n
	return refused, err
}

// makeRoom makes the buffer larger when it is full of one line.
func (l *lines) makeRoom() *fault {
	switch {
	case l.to > l.most:
		return lineTooLong()
	case l.to < len(l.buf):
	case !l.resize(min(max(minBuffer, 2*len(l.buf)), l.most+minBuffer)):
		return noRoom()
	}
	return nil
}

// resize makes the buffer so large, with all that came, if there is room.
func (l *lines) resize(size int) bool {
	more := size - max(minBuffer, len(l.buf))
	switch {
	case l.room == nil || more == 0:
	case more < 0:
		l.room.give(-more)
	case !l.room.more(more):
		return false
	}
	buf := make([]byte, size)
	copy(buf, l.buf[:l.to])
	l.buf = buf
	return true
}

// last returns what the end of the stream left: a line without its end.
func (l *lines) last() (line []byte, ok bool) {
	line = bytes.TrimSpace(l.buf[l.from:l.to])
	l.from = l.to
	return line, len(line) > 0 && !l.skipping
}
