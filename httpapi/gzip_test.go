package httpapi

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// inGzip is a text in gzip.
func inGzip(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text)) // a buffer takes all
	w.Close()
	return b.Bytes()
}

// postGzip sends a body that is in gzip, or says so.
func (s *server) postGzip(t *testing.T, contentType string, body []byte) (int, answer) {
	t.Helper()
	return s.postAs(t, http.Header{"Content-Type": {contentType}, "Content-Encoding": {"gzip"}}, bytes.NewReader(body))
}

// linesOf makes n events, one a line.
func linesOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, goodLine, i)
	}
	return b.String()
}

// oddGzip is a body of one event, and what may be wrong with its gzip.
var oddGzip = []struct {
	name     string
	body     []byte
	document int // its status
	accepted int // of a stream
	words    string
}{
	{name: "whole", body: inGzip(oneEvent + "\n"), document: 200, accepted: 1},
	{name: "members", body: append(inGzip(oneEvent[:9]), append(inGzip(""), inGzip(oneEvent[9:]+"\n")...)...), document: 200, accepted: 1},
	{name: "nothing", body: nil, document: 400, accepted: 0},
	{name: "gzip of nothing", body: inGzip(""), document: 400, accepted: 0},
	{name: "no end", body: inGzip(oneEvent + "\n")[:len(inGzip(oneEvent+"\n"))-1], document: 400, accepted: 1, words: "unexpected EOF"},
	{name: "wrong sum", body: flipped(inGzip(oneEvent+"\n"), -5), document: 400, accepted: 1, words: "invalid checksum"},
	{name: "wrong length", body: flipped(inGzip(oneEvent+"\n"), -1), document: 400, accepted: 1, words: "invalid checksum"},
	{name: "something behind", body: append(inGzip(oneEvent+"\n"), "GARBAGE-GARBAGE"...), document: 400, accepted: 1, words: "invalid header"},
	{name: "damaged within", body: flipped(inGzip(oneEvent+"\n"), 14), document: 400, accepted: 0, words: "content-encoding"},
}

func flipped(data []byte, at int) []byte {
	if at < 0 {
		at += len(data)
	}
	data[at] ^= 0xff
	return data
}

// What came whole before the damage is in the log, and the answer says both.
func TestOddGzip(t *testing.T) {
	for _, c := range oddGzip {
		t.Run(c.name, func(t *testing.T) {
			srv := serve(t, newDouble(), Config{})
			status, a := srv.postGzip(t, "application/json", c.body)
			if status != c.document || status != 200 && (a.Error == nil || !strings.Contains(a.Error.Message, c.words)) {
				t.Errorf("a document: %d %+v, want %d", status, a.Error, c.document)
			}
			status, a = srv.postGzip(t, "application/x-ndjson", c.body)
			if status != 200 || a.Accepted != c.accepted {
				t.Errorf("a stream: %d %+v, want %d accepted", status, a, c.accepted)
			}
			if (c.words != "") != (a.Error != nil) || a.Error != nil && (!strings.Contains(a.Error.Message, c.words) || a.Error.Code != "undecodable") {
				t.Errorf("a stream: %+v, want %q", a.Error, c.words)
			}
		})
	}
}

// endless is a member of gzip again and again: some megabytes of one text.
type endless struct {
	member []byte
	rest   []byte
	sent   int
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		e.rest = e.member
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	e.sent += n
	return n, nil
}

// Gzip of almost nothing ends soon, whatever it is of, and takes no memory; lines that
// are events may be as alike as they want.
func TestGzipBombs(t *testing.T) {
	const size = 10 << 20
	for _, c := range []struct{ name, text, document, stream string }{
		{"zeros", strings.Repeat("\x00", size), "the body has more than 8 MiB", "of almost nothing"},
		{"brackets", strings.Repeat("[", size), "the body has more than 8 MiB", "of almost nothing"},
		{"empty lines", strings.Repeat("\n", size), "the body has more than 8 MiB", "of almost nothing"},
		{"long lines of blanks", strings.Repeat(strings.Repeat(" ", maxLine-9)+"{}\n", size/maxLine), "the body has more than 8 MiB", "of almost nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := serve(t, newDouble(), Config{})
			member, start := inGzip(c.text), liveHeap()
			for contentType, words := range map[string]string{"application/json": c.document, "application/x-ndjson": c.stream} {
				body := &endless{member: member}
				status, a := srv.postAs(t, http.Header{"Content-Type": {contentType}, "Content-Encoding": {"gzip"}}, io.LimitReader(body, 4<<20))
				if (status == 413) != (contentType == "application/json") || a.Error == nil || a.Error.Code != "too-large" || !strings.Contains(a.Error.Message, words) {
					t.Errorf("%s: %d %+v, want too-large with %q", contentType, status, a.Error, words)
				}
			}
			if grown := int64(liveHeap()) - int64(start); grown > 4<<20 {
				t.Errorf("%d bytes more are live, want at most 4 MiB", grown)
			}
		})
	}
}

// Little goes in before it is found out, of zeros and of members without anything.
func TestGzipIsReadNoFurther(t *testing.T) {
	for _, c := range []struct {
		text    string
		most    int64
		further int64 // bytes of gzip at most
	}{
		{strings.Repeat("\x00", 10<<20), 0, 32 << 10},
		{"", 1 << 20, 1<<20 + 1},
		{strings.Repeat("x", 1<<20), maxBody, 32 << 10},
	} {
		u := &unzipped{src: &endless{member: inGzip(c.text)}, most: c.most}
		if n, err := io.Copy(io.Discard, u); err == nil || faultOf(err).status != 413 || u.in > c.further {
			t.Errorf("%d bytes of %d of gzip, %v; want at most %d", n, u.in, err, c.further)
		}
	}
}

func TestGzipOfNothingIsBounded(t *testing.T) {
	srv := serve(t, newDouble(), Config{})
	for _, announced := range []bool{true, false} {
		body := io.Reader(bytes.NewReader(bytes.Repeat(inGzip(""), (maxBody+1<<20)/len(inGzip("")))))
		if !announced {
			body = iotest.DataErrReader(body)
		}
		status, a := srv.postAs(t, http.Header{"Content-Encoding": {"gzip"}}, body)
		if status != 413 || a.Error == nil || !strings.Contains(a.Error.Message, "8 MiB") {
			t.Errorf("%d %+v, want 413", status, a.Error)
		}
	}
}

// Gzip has two names, and may be in a list; of content types what is behind a semicolon
// may be odd.
func TestContentHeaders(t *testing.T) {
	srv := serve(t, newDouble(), Config{})
	lines := oneEvent + "\n" + oneEvent + "\n"
	for _, encoding := range []string{"gzip", "X-GZip", " identity , gzip,", "GZIP"} {
		for _, media := range []string{"application/x-ndjson", "Application/X-NDJSON ; ;", "application/jsonl;charset=\"UTF-8\"", "application/ndjson; a=1; b"} {
			header := http.Header{"Content-Type": {media}, "Content-Encoding": {encoding}}
			if status, a := srv.postAs(t, header, bytes.NewReader(inGzip(lines))); status != 200 || a.Accepted != 2 {
				t.Errorf("%q, %q: %d %+v", encoding, media, status, a.Error)
			}
		}
	}
}

// 8 MiB come out of gzip, and not a byte more.
func TestGzipBodyBound(t *testing.T) {
	srv := serve(t, newDouble(), Config{})
	for size, want := range map[int]int{maxBody: 200, maxBody + 1: 413} {
		if status, a := srv.postGzip(t, "application/json", inGzip(oneEvent+strings.Repeat(" ", size-len(oneEvent)))); status != want {
			t.Errorf("%d bytes: %d %+v, want %d", size, status, a.Error, want)
		}
	}
}

// Events that are all alike become a hundredth in gzip and more, and count.
func TestManyLikeEventsInGzip(t *testing.T) {
	d := newDouble()
	d.discard = true
	const line, n = `{"apiKeyId":"alice","connectionId":"acct-1","provider":"codex","model":"gpt-5"}` + "\n", 180_000
	body := inGzip(strings.Repeat(line, n))
	if len(line)*n < maxBody+maxInflation*len(body) {
		t.Fatalf("%d bytes are %d in gzip: not as much as the bound", len(line)*n, len(body))
	}
	if status, a := serve(t, d, Config{}).postGzip(t, "application/x-ndjson", body); status != 200 || a.Accepted != n || a.Error != nil {
		t.Errorf("%d, %d accepted, %+v; want %d", status, a.Accepted, a.Error, n)
	}
}

// What is flushed is answered while the stream goes on: gzip holds nothing back.
func TestGzipStreamAnswersWhileItComes(t *testing.T) {
	u := serve(t, newDouble(), Config{}, func(s *server) { s.api.atOnce = 0 }).uploadAs(t, "", "Content-Encoding: gzip")
	zip := gzip.NewWriter(u.body)
	for i := range 3 {
		fmt.Fprintf(zip, goodLine, i)
		if err := zip.Flush(); err != nil {
			t.Fatal(err)
		}
		u.until(fmt.Sprintf(`{"id":"e%d","seq":%d}`, i, i+1))
	}
	zip.Close()
	u.body.Close()
	io.WriteString(u.conn, "\r\n")
	u.until(`],"accepted":3,"rejected":0}` + "\n")
}

// Reading through gzip is reading: the same bytes, however the source gives them, and
// of a body that is cut or changed never an end that looks like one.
func FuzzUnzipped(f *testing.F) {
	f.Add(inGzip(oneEvent), 0, byte(0))
	f.Add(append(inGzip("a\nb"), inGzip(strings.Repeat("c", 1000))...), 30, byte(1))
	f.Add([]byte("\x1f\x8b\x08\x1c\x00\x00\x00\x00\x00\xff\x05\x00name\x00"), 12, byte(2))
	f.Fuzz(func(t *testing.T, data []byte, cut int, how byte) {
		src := io.Reader(bytes.NewReader(data))
		if how&1 != 0 {
			src = iotest.OneByteReader(src)
		}
		if how&2 != 0 {
			src = iotest.DataErrReader(src)
		}
		got, err := io.ReadAll(&unzipped{src: src, most: int64(how&4) << 20})
		want, fault := readGzip(data)
		if err == nil && (fault != nil || !bytes.Equal(got, want)) || err != nil && fault == nil && len(want) < maxBody {
			t.Fatalf("%d bytes, %v; gzip alone gives %d, %v", len(got), err, len(want), fault)
		}
		if cut > 0 && cut < len(data) && err == nil {
			failing := io.MultiReader(bytes.NewReader(data[:cut]), iotest.ErrReader(io.ErrClosedPipe))
			if _, err := io.ReadAll(&unzipped{src: failing}); err != io.ErrClosedPipe {
				t.Fatalf("the source failed, and reading with %v", err)
			}
		}
	})
}

// readGzip is what the standard library makes of it, up to a bound.
func readGzip(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return nil, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, 2*maxBody))
}
