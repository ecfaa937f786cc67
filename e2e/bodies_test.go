package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
	"time"
)

// A megabyte is what the floods are made of, and a gigabyte of it is one.
const (
	megabyte = 1 << 20
	gigabyte = 1 << 30
)

// flood is a body that does not end soon, and what becomes of it.
type flood struct {
	name    string
	headers string // beside Host; with an announced length, or it is chunked
	begin   string
	block   string // again and again
	size    int    // of all blocks
	status  int
	words   string // in the answer
}

// memberOf is a text in gzip.
func memberOf(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text) // a buffer takes all
	w.Close()
	return b.String()
}

func floods() []flood {
	announced := fmt.Sprintf("Content-Length: %d\r\n", gigabyte)
	const ndjson, zipped = "Content-Type: application/x-ndjson\r\n", "Content-Encoding: gzip\r\n"
	xs, zeros := strings.Repeat("x", megabyte), memberOf(strings.Repeat("\x00", 64*megabyte))
	deep := strings.Repeat("[", megabyte)
	return []flood{
		{name: "1 GB announced", headers: announced, begin: `{"apiKeyId":"`, block: xs, size: gigabyte, status: 413, words: "8 MiB"},
		{name: "1 GB in chunks", begin: `{"apiKeyId":"`, block: xs, size: gigabyte, status: 413, words: "8 MiB"},
		{name: "an array of 1 GB", begin: `[`, block: strings.Repeat(`{"apiKeyId":"a","connectionId":"c"},`, 30_000), size: gigabyte, status: 413, words: "8 MiB"},
		{name: "msgpack of 1 GB", headers: "Content-Type: application/msgpack\r\n", begin: "\xdd\x3b\x9a\xca\x00", block: strings.Repeat("\xc0", megabyte), size: gigabyte, status: 413, words: "8 MiB"},
		{name: "a line of 1 GB", headers: ndjson, begin: `{"apiKeyId":"`, block: xs, size: gigabyte, status: 200, words: `[{"error":{"message":"the line has more than 1 MiB`},
		{name: "empty lines", headers: ndjson, block: strings.Repeat("\n", megabyte), size: gigabyte / 16, status: 200, words: `"results":[],"accepted":0,"rejected":0}`},
		{name: "10 GB of zeros in gzip", headers: zipped, block: zeros, size: 160 * len(zeros), status: 413, words: "8 MiB"},
		{name: "a line of 10 GB of zeros in gzip", headers: ndjson + zipped, block: zeros, size: 160 * len(zeros), status: 200, words: "gzip of almost nothing"},
		{name: "nothing in gzip", headers: zipped, block: strings.Repeat(memberOf(""), 40_000), size: gigabyte, status: 413, words: "8 MiB"},
		{name: "brackets", block: deep, size: megabyte, status: 400, words: "well formed"},
		{name: "brackets in gzip", headers: zipped, block: memberOf(deep), size: 1, status: 400, words: "well formed"},
		{name: "lines of brackets", headers: ndjson, block: deep[1:] + "\n", size: 16 * megabyte, status: 200, words: `"rejected":16}`},
		{name: "nested msgpack", headers: "Content-Type: application/msgpack\r\n", block: strings.Repeat("\x91", megabyte), size: megabyte, status: 400, words: "undecodable"},
		{name: "msgpack that claims to be long", headers: "Content-Type: application/msgpack\r\n", begin: "\xdf\xff\xff\xff\xff\xdb\xff\xff\xff\xff", status: 400, words: "undecodable"},
	}
}

// pour sends the request, and all of it unless the server hangs up.
func (f *flood) pour(to io.Writer) {
	fmt.Fprintf(to, "POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s", f.headers)
	body := to
	if !strings.Contains(f.headers, "Content-Length") {
		io.WriteString(to, "Transfer-Encoding: chunked\r\n")
		chunks := httputil.NewChunkedWriter(to)
		defer io.WriteString(to, "\r\n")
		defer chunks.Close()
		body = chunks
	}
	_, err := io.WriteString(to, "\r\n")
	if err == nil && f.begin != "" {
		_, err = io.WriteString(body, f.begin)
	}
	for left := f.size; left > 0 && err == nil; left -= len(f.block) {
		_, err = io.WriteString(body, f.block)
	}
}

// dial connects to the HTTP side, without any client.
func (p *process) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.http, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// answerOf returns the next answer.
func answerOf(t *testing.T, in *bufio.Reader, method string) (*http.Response, string) {
	t.Helper()
	answer, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// memory is all that the process ever had from its system at one time.
func (v *victim) memory(t *testing.T) int { return v.metric(t, "go_memstats_sys_bytes") }

// mustBeQuiet fails when the process says more than what it does by itself: what callers
// send is nothing to wake an operator for.
func (v *victim) mustBeQuiet(t *testing.T, before string) {
	t.Helper()
	for line := range strings.Lines(strings.TrimPrefix(v.stderr.String(), before)) {
		if !strings.Contains(line, " INF ") {
			t.Errorf("it says: %s", line)
		}
	}
}

// Bodies that have no end are refused or read past, in little time and memory, and the
// engine is as it was.
func TestFloods(t *testing.T) {
	v := newVictim(t)
	v.mustGoOn(t)
	before, said := v.at(0), v.stderr.String()
	for _, f := range floods() {
		t.Run(f.name, func(t *testing.T) {
			had := v.memory(t)
			conn, poured := v.dial(t), make(chan struct{})
			go func() {
				defer close(poured)
				f.pour(conn)
			}()
			answer, text := answerOf(t, bufio.NewReader(conn), "POST")
			if answer.StatusCode != f.status || !strings.Contains(text, f.words) || len(text) > 20_000 {
				t.Errorf("%d %.500s; want %d and a short answer with %q", answer.StatusCode, text, f.status, f.words)
			}
			conn.Close()
			<-poured
			// A body has 8 MiB, and while its buffer grows it is there twice; the rest is
			// what the collector leaves for later.
			if more := v.memory(t) - had; more > 96*megabyte {
				t.Errorf("it took %d MiB more", more/megabyte)
			}
		})
	}
	if after := v.at(0); after != before {
		t.Errorf("the state went from %+v to %+v", before, after)
	}
	v.mustBeQuiet(t, said)
	v.mustGoOn(t)
	v.mustHaveRejected(t, 0)
}

// A stream of events has no end either: it is taken as fast as the log takes it, and
// memory is flat. Its sender reads nothing before all is sent, and yet has an answer for
// each; one that reads as it goes has them as they come.
func TestAnEndlessStream(t *testing.T) {
	for _, asItGoes := range []bool{false, true} {
		t.Run(fmt.Sprintf("read as it goes %t", asItGoes), func(t *testing.T) {
			v := newVictim(t)
			before := v.at(v.stream(t, 2_000, asItGoes, "")).Counts
			had := v.memory(t) // with what any stream takes
			const n = 100_000  // of 2 KiB
			after := v.at(v.stream(t, n, asItGoes, strings.Repeat("x", 2000))).Counts
			if more := v.memory(t) - had; more > 64*megabyte {
				t.Errorf("%d MiB of events took %d MiB more", n*2000/megabyte, more/megabyte)
			}
			if before.Folded += n; after != before {
				t.Errorf("it counts %+v, want %+v", after, before)
			}
		})
	}
}

// stream sends so many events, each as much longer as pad is, and returns the sequence
// of the last.
func (v *victim) stream(t *testing.T, n int, asItGoes bool, pad string) uint64 {
	t.Helper()
	conn := v.dial(t)
	answered := make(chan []byte, 1)
	listen := func() {
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Error(err)
			answered <- nil
			return
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != 200 {
			t.Errorf("%d %v", answer.StatusCode, err)
		}
		answered <- text
	}
	if asItGoes {
		go listen()
	}
	out := bufio.NewWriterSize(conn, 64<<10)
	io.WriteString(out, "POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+
		"Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
	body := httputil.NewChunkedWriter(out)
	for i := range n {
		if _, err := fmt.Fprintf(body, `{"id":"%d-%d","apiKeyId":"k%d","connectionId":"conn:0","cost":{"tokens":1},"note":"%s"}`+"\n", len(pad), i, i%7, pad); err != nil {
			t.Fatal(err)
		}
	}
	body.Close()
	io.WriteString(out, "\r\n")
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	if !asItGoes {
		listen()
	}
	return v.resultsOf(t, <-answered, n, len(pad))
}

// resultsOf checks the answer to a stream and returns the sequence of its last event.
func (v *victim) resultsOf(t *testing.T, text []byte, n, pad int) (last uint64) {
	t.Helper()
	var a struct {
		Results []struct {
			ID  string
			Seq uint64
		}
		Accepted, Rejected int
	}
	if err := json.Unmarshal(text, &a); err != nil || a.Accepted != n || a.Rejected != 0 || len(a.Results) != n {
		t.Fatalf("%v; %d accepted, %d rejected, %d results, want %d", err, a.Accepted, a.Rejected, len(a.Results), n)
	}
	for i, r := range a.Results {
		if r.ID != fmt.Sprintf("%d-%d", pad, i) || r.Seq < last {
			t.Fatalf("result %d is %+v after %d", i, r, last)
		}
		last = r.Seq
	}
	return last
}

// Many who send byte by byte, headers or bodies, keep nobody else waiting and take
// little. That they are hung up on in the end is tested where the time can be set.
func TestSlowSenders(t *testing.T) {
	v := newVictim(t)
	v.mustGoOn(t)
	before, had, said := v.at(0), v.memory(t), v.stderr.String()
	idle := v.metric(t, "go_goroutines")
	var slow []net.Conn
	for i := range 400 {
		conn := v.dial(t)
		io.WriteString(conn, []string{
			"POST /api/quota/events HTTP/1.1\r\nHost: local",
			"POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n\r\n[",
			"POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{",
			"POST /api/quota/decide HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n\x1f\x8b",
		}[i%4])
		slow = append(slow, conn)
	}
	for i := range 100 {
		io.WriteString(slow[i], "a")
		if status, text := v.call("POST", "/api/quota/decide", "application/json", `{"apiKeyId":"a","connectionId":"conn:0"}`); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
	}
	if more := v.memory(t) - had; more > 64*megabyte {
		t.Errorf("they took %d MiB", more/megabyte)
	}
	for _, conn := range slow {
		conn.Close()
	}
	for end := time.Now().Add(patience); v.metric(t, "go_goroutines") > idle+20; {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left of %d", v.metric(t, "go_goroutines"), idle)
		}
	}
	if after := v.at(0); after != before {
		t.Errorf("the state went from %+v to %+v", before, after)
	}
	v.mustBeQuiet(t, said)
	v.mustGoOn(t)
}

// Messages as large as the broker takes them, made to be more work than they are long.
func TestHugeMessages(t *testing.T) {
	v := newVictim(t)
	v.mustGoOn(t)
	const size = megabyte - 1000
	rows := []struct{ name, data, reason string }{
		{"brackets", strings.Repeat("[", size), "undecodable"},
		{"objects", strings.Repeat(`{"a":`, size/5), "undecodable"},
		{"an array of too many", "[" + strings.Repeat("1,", size/2) + "1]", "invalid"},
		{"nested msgpack", strings.Repeat("\x91", size), "undecodable"},
		{"msgpack of a million", "\xdd\x00\x0f\x3e\x58" + strings.Repeat("\xc0", 999_000), "invalid"},
		{"msgpack array that claims to be long", "\xdd\xff\xff\xff\xff", "undecodable"},
		{"msgpack map that claims to be long", "\xdf\xff\xff\xff\xff", "undecodable"},
		{"msgpack text that claims to be long", "\x81\xdb\xff\xff\xff\xff", "undecodable"},
		{"msgpack bytes that claim to be long", "\x81\xa8apiKeyId\xc6\xff\xff\xff\xff", "undecodable"},
		{"a number of a million digits", with(`"cost":{"tokens":` + strings.Repeat("9", size-100) + `}`), "invalid"},
	}
	had := v.memory(t)
	for _, row := range rows {
		e := badEvent{data: row.data}
		if row.data[0] >= 0x80 {
			e.header = map[string][]string{"Content-Type": {"application/msgpack"}}
		}
		seq := e.send(t, v)
		if r := v.awaitRejection(t); r.Seq != seq || r.Reason != row.reason || r.Message == "" || len(r.Message) > 500 {
			t.Errorf("%s: %s, %.300s; want %s", row.name, r.Reason, r.Message, row.reason)
		}
	}
	if more := v.memory(t) - had; more > 128*megabyte {
		t.Errorf("they took %d MiB", more/megabyte)
	}
	v.mustGoOn(t)
	v.mustHaveRejected(t, len(rows))
}

// Bodies that come at the same time share their room: some are told to come again, who
// asks is answered, and memory is bounded whatever the number of callers.
func TestManyLargeBodiesAtOnce(t *testing.T) {
	v := newVictim(t)
	v.mustGoOn(t)
	before, had, said := v.at(0), v.memory(t), v.stderr.String()
	const callers, most = 64, 7 * megabyte
	conns := make([]net.Conn, callers)
	var sent sync.WaitGroup
	for i := range conns {
		conns[i] = v.dial(t)
		sent.Go(func() {
			fmt.Fprintf(conns[i], "POST /api/quota/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n[%s", most+2, strings.Repeat(" ", most))
		})
	}
	sent.Wait()
	if status, text := v.call("POST", "/api/quota/decide", "application/json", `{"apiKeyId":"a","connectionId":"conn:0"}`); status != 200 {
		t.Errorf("meanwhile a question is answered %d %s", status, text)
	}
	statuses := map[int]int{}
	for _, conn := range conns {
		io.WriteString(conn, "]")
		answer, _ := answerOf(t, bufio.NewReader(conn), "POST")
		statuses[answer.StatusCode]++
	}
	if statuses[400] == 0 || statuses[429] == 0 || statuses[400]+statuses[429] != callers {
		t.Errorf("answered with %v, want an empty array to be refused, or no room for it", statuses)
	}
	if more := v.memory(t) - had; more > 400*megabyte {
		t.Errorf("%d MiB of bodies took %d MiB", callers*most/megabyte, more/megabyte)
	}
	if after := v.at(0); after != before {
		t.Errorf("the state went from %+v to %+v", before, after)
	}
	v.mustBeQuiet(t, said)
	v.mustGoOn(t)
}
