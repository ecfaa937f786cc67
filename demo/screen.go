package demo

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// screen prints boards: on a terminal each over the one before, else one below the
// other and fewer of them.
type screen struct {
	w        io.Writer
	terminal bool
	length   time.Duration
	zone     *time.Location
	drawn    int           // lines that are on the terminal and will be replaced
	last     time.Duration // when something was printed
}

// plainEvery is the least time between two boards where nothing can be replaced.
const plainEvery = 5 * time.Second

// show prints the board of that time of the demo.
func (s *screen) show(b *board, at time.Duration) {
	at = at.Truncate(time.Second)
	if s.terminal {
		s.draw(b, at)
		return
	}
	if at < s.last+plainEvery {
		return
	}
	s.last = at
	for _, line := range s.sentences(b, at) {
		fmt.Fprintln(s.w, line)
	}
}

// end prints the last board, which stays.
func (s *screen) end(b *board, at time.Duration) {
	at = at.Truncate(time.Second)
	if s.terminal {
		s.draw(b, at)
		return
	}
	if s.last > 0 {
		fmt.Fprintln(s.w)
	}
	for _, line := range s.lines(b, at) {
		fmt.Fprintln(s.w, line)
	}
}

// Sequences that terminals know (ECMA-48, and DEC's for wrapping).
const (
	up    = "\x1b[%dA" // so many lines
	erase = "\x1b[K"   // to the end of the line
	cut   = "\x1b[?7l" // lines at the edge: one that is wrapped would be two to go up
	wrap  = "\x1b[?7h" // as it was
)

// draw writes everything at once: a terminal that shows half of it would flicker.
func (s *screen) draw(b *board, at time.Duration) {
	var text bytes.Buffer
	text.WriteString(cut)
	if s.drawn > 0 {
		fmt.Fprintf(&text, up, s.drawn)
	}
	lines := s.lines(b, at)
	for _, line := range lines {
		text.WriteString(line + erase + "\n")
	}
	text.WriteString(wrap)
	s.drawn = len(lines)
	_, _ = s.w.Write(text.Bytes()) // nobody looks
}

// lines of a board as a table.
func (s *screen) lines(b *board, at time.Duration) []string {
	rows := [][]string{{"KEY", "SERVED", "BLOCKED", "TOKENS", "SHARE", "STATE"}}
	for _, r := range b.rows {
		rows = append(rows, []string{r.key, r.served.String(), strconv.FormatInt(r.blocked, 10), r.tokens.String(), r.share.String(), r.state(s.zone)})
	}
	return append(columns(rows), "", fmt.Sprintf("%.0fs of %.0fs: %s", at.Seconds(), s.length.Seconds(), b.line()))
}

// sentences are the lines of a board that is one of many, each to be read by itself.
func (s *screen) sentences(b *board, at time.Duration) []string {
	var rows [][]string
	for _, r := range b.rows {
		rows = append(rows, []string{
			fmt.Sprintf("%.0fs", at.Seconds()), r.key, fmt.Sprintf("%s served", r.served), fmt.Sprintf("%d blocked", r.blocked),
			fmt.Sprintf("%s of %s tokens", r.tokens, r.share), r.state(s.zone),
		})
	}
	return columns(rows)
}

func columns(rows [][]string) []string {
	var text bytes.Buffer
	t := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush() // into memory
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}
