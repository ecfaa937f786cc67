package httpapi

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	tooLongLine = "TOO LONG"
	// testMost is larger than the buffer that a stream begins with, so that it grows.
	testMost = 2*minBuffer + 100
)

// cut reads all lines as the stream's handler does.
func cut(t interface{ Fatal(...any) }, src io.Reader) (got []string, held int) {
	l := &lines{src: src, most: testMost}
	for {
		for line, ok := l.next(); ok; line, ok = l.next() {
			got = append(got, shortened(line))
		}
		refused, err := l.fill()
		if refused != nil {
			got = append(got, tooLongLine)
		}
		if err == nil {
			continue
		}
		if err != io.EOF {
			t.Fatal(err)
		}
		for line, ok := l.next(); ok; line, ok = l.next() {
			got = append(got, shortened(line))
		}
		if line, ok := l.last(); ok {
			got = append(got, shortened(line))
		}
		return got, len(l.buf)
	}
}

func shortened(line []byte) string {
	if len(line) > testMost {
		return tooLongLine
	}
	return string(line)
}

// The dumb twin is strings.Split.
func TestLinesAgainstSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.OneOf(
			rapid.StringMatching(`[a-z{}\r ]{0,30}`),
			rapid.Map(rapid.IntRange(testMost-2, testMost+2), func(n int) string { return strings.Repeat("x", n) }),
			rapid.Map(rapid.IntRange(2*testMost, 3*testMost), func(n int) string { return strings.Repeat("y", n) }),
		)).Draw(t, "lines")
		text := strings.Join(parts, "\n")
		var want []string
		for i, p := range parts {
			p = strings.TrimSpace(p)
			if i < len(parts)-1 || p != "" {
				want = append(want, shortened([]byte(p)))
			}
		}
		var src io.Reader = strings.NewReader(text)
		if rapid.Bool().Draw(t, "halves") {
			src = iotest.HalfReader(src)
		}
		if rapid.Bool().Draw(t, "end with data") {
			src = iotest.DataErrReader(src)
		}
		got, held := cut(t, src)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("lines (-want +got):\n%s", diff)
		}
		if held > testMost+minBuffer {
			t.Fatalf("%d bytes held for one line, want at most %d", held, testMost+minBuffer)
		}
	})
}

func TestLinesOneByteAtATime(t *testing.T) {
	got, _ := cut(t, iotest.OneByteReader(bytes.NewReader([]byte("a\r\n\n b \nlast"))))
	if diff := cmp.Diff([]string{"a", "", "b", "last"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
