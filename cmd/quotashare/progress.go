package main

import (
	"fmt"
	"io"
	"strings"
)

// progress is a bar on a terminal, and nothing anywhere else. It counts the
// bytes read, because how many rows there are nobody knows before the end.
type progress struct {
	w     io.Writer
	size  int64 // of the file, 0 = unknown
	read  int64
	shown bool // on a terminal
}

const barWidth = 40

func newProgress(w io.Writer, size int64, terminal bool) *progress {
	return &progress{w: w, size: size, shown: terminal}
}

// Write counts what was read.
func (p *progress) Write(b []byte) (int, error) {
	p.read += int64(len(b))
	return len(b), nil
}

// rows draws the bar anew.
func (p *progress) rows(n uint64) {
	if !p.shown {
		return
	}
	if p.size == 0 {
		fmt.Fprintf(p.w, "\r%d rows", n)
		return
	}
	fmt.Fprintf(p.w, "\r%s  %d rows", bar(p.read, p.size), n)
}

// bar draws how much of all there is done.
func bar(done, all int64) string {
	part := min(1, float64(done)/float64(all))
	full := int(part * barWidth)
	return fmt.Sprintf("[%s%s] %3.0f %%", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), part*100)
}

// done leaves the bar's line.
func (p *progress) done() {
	if p.shown {
		fmt.Fprintln(p.w)
	}
}
