package demo

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// terminal is as much of one as is needed to see what somebody sees. What it does not
// know stands in its lines.
type terminal struct {
	lines []string
	row   int
}

// Write implements io.Writer.
func (t *terminal) Write(p []byte) (int, error) {
	text := strings.NewReplacer(cut, "", wrap, "").Replace(string(p))
	if rest, moves := strings.CutPrefix(text, "\x1b["); moves {
		count, after, _ := strings.Cut(rest, "A")
		n, err := strconv.Atoi(count)
		if err != nil || n > t.row {
			return 0, fmt.Errorf("the cursor cannot go up by %q from line %d", count, t.row)
		}
		t.row, text = t.row-n, after
	}
	for line := range strings.Lines(text) {
		if t.row == len(t.lines) {
			t.lines = append(t.lines, "")
		}
		line, erases := strings.CutSuffix(strings.TrimSuffix(line, "\n"), erase)
		if old := t.lines[t.row]; !erases && len(old) > len(line) {
			line += old[len(line):]
		}
		t.lines[t.row] = line
		t.row++
	}
	return len(p), nil
}

// boards are two that differ in the length of their lines.
func boards(t *testing.T) (long, short *board) {
	t.Helper()
	long, err := boardOf(t)
	must(t, err)
	short, err = boardOf(t, "2898.5", "1", "4667.5", "1", `"decision": "block"`, `"decision": "allow"`)
	must(t, err)
	return long, short
}

func TestTerminalShowsOneBoard(t *testing.T) {
	long, short := boards(t)
	var seen terminal
	s := &screen{w: &seen, terminal: true, length: 30 * time.Second, zone: time.UTC}
	_, err := fmt.Fprintln(&seen, "what stands before")
	must(t, err)
	s.show(long, 0)
	s.show(short, time.Second)
	s.show(long, 2*time.Second)
	s.end(short, 12*time.Second+900*time.Millisecond)
	if got, want := strings.Join(seen.lines, "\n"), "what stands before\n"+drawn(t, short); got != want {
		t.Errorf("the terminal shows\n%s\nwant\n%s", got, want)
	}
}

// A file has no board twice over, and every line says when it was.
func TestFileHasBoardsNowAndThen(t *testing.T) {
	long, short := boards(t)
	var file strings.Builder
	s := &screen{w: &file, length: 30 * time.Second, zone: time.UTC}
	for at := time.Duration(0); at < 12*time.Second; at += 990 * time.Millisecond {
		s.show(long, at)
	}
	s.end(short, 12*time.Second)
	want := `5s  ada   10 served  0 blocked   460 of 2800 tokens    served
5s  bob   29 served  71 blocked  2898.5 of 700 tokens  blocked until 10:15:01
5s  cleo  10 served  0 blocked   1003 of 700 tokens    served, deprioritized
5s  dan   0 served   0 blocked   0 of 2800 tokens      not here yet
10s  ada   10 served  0 blocked   460 of 2800 tokens    served
10s  bob   29 served  71 blocked  2898.5 of 700 tokens  blocked until 10:15:01
10s  cleo  10 served  0 blocked   1003 of 700 tokens    served, deprioritized
10s  dan   0 served   0 blocked   0 of 2800 tokens      not here yet

` + drawn(t, short) + "\n"
	if got := file.String(); got != want {
		t.Errorf("the file has\n%s\nwant\n%s", got, want)
	}
}

// The longest demo still fits into a terminal of 80 columns.
func TestLinesAreShort(t *testing.T) {
	b, err := boardOf(t, "4667.5", "419999", "7000", "420000", "3500", "210000", "2898.5", "200000", `"consumed": 29`, `"consumed": 6000`)
	must(t, err)
	s := &screen{zone: time.UTC, length: Longest}
	for _, line := range s.lines(b, Longest) {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}
