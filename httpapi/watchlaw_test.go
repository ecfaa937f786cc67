package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// inBubble runs a scene in a bubble and stops its server afterwards.
func inBubble(t *testing.T, f func(t *testing.T, s *scene, h *theatre)) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene()
		h := open(t, s, Config{})
		f(t, s, h)
		if d := h.close(); d > time.Second {
			t.Errorf("the server took %s to stop", d)
		}
		time.Sleep(time.Minute) // for usage that is being made
	})
}

// ids returns the ids of the events of a name in what a client got.
func ids(got, name string) (list []string) {
	for part := range strings.SplitSeq(got, "event: ") {
		if text, ok := strings.CutPrefix(part, name+"\nid: "); ok {
			id, _, _ := strings.Cut(text, "\n")
			list = append(list, id)
		}
	}
	return list
}

// TestNoChangeIsDropped, however many came while a client did not read: those
// that the board does not have any more are in the log.
func TestNoChangeIsDropped(t *testing.T) {
	inBubble(t, func(t *testing.T, s *scene, h *theatre) {
		c := h.connect("slow", "GET /api/quota/stream?events=config", false)
		h.after(0)
		var want []string
		for seq := uint64(1); seq <= 3*maxNotes; seq++ {
			s.change(Change{Seq: seq, Kind: "pool", ID: "p", Do: "delete"})
			want = append(want, fmt.Sprintf("%d.p1.0", seq))
			if seq%100 == 0 {
				h.after(time.Second)
			}
		}
		h.after(time.Second)
		c.begin()
		synctest.Wait()
		if got := ids(c.take(), eventConfig); !slices.Equal(got, want) {
			t.Errorf("%d changes %.200q…, want %d, each once and in order", len(got), got, len(want))
		}
	})
}

// TestLostBlocksAreSaid: a client that is slower than the rows go by is told.
func TestLostBlocksAreSaid(t *testing.T) {
	inBubble(t, func(t *testing.T, s *scene, h *theatre) {
		c := h.connect("slow", "GET /api/quota/stream?events=decision", false)
		h.after(0)
		for seq := uint64(1); seq <= 2*maxNotes; seq++ {
			s.block(Block{Seq: seq})
		}
		h.after(time.Second)
		c.begin()
		synctest.Wait()
		got := c.take()
		gaps, rows := ids(got, eventGap), ids(got, eventDecision)
		if len(gaps) != 1 || len(rows) != maxNotes || gaps[0] != fmt.Sprintf("0.p1.%d", maxNotes) || rows[0] != fmt.Sprintf("0.p1.%d", maxNotes+1) {
			t.Errorf("gaps %q, %d rows %.100q…; want one gap and the newest %d", gaps, len(rows), rows, maxNotes)
		}
	})
}

// TestRowsThatTheEngineLostAreSaid: they went by between two looks.
func TestRowsThatTheEngineLostAreSaid(t *testing.T) {
	inBubble(t, func(t *testing.T, s *scene, h *theatre) {
		c := h.connect("ann", "GET /api/quota/stream?events=decision", true)
		h.after(0)
		s.block(Block{Seq: 1})
		time.Sleep(time.Second)
		s.block(Block{Seq: 5})
		time.Sleep(time.Second)
		s.block(Block{Seq: 6})
		time.Sleep(time.Second)
		synctest.Wait()
		got := c.take()
		gaps, rows := ids(got, eventGap), ids(got, eventDecision)
		if !slices.Equal(gaps, []string{"0.p1.4"}) || !slices.Equal(rows, []string{"0.p1.1", "0.p1.5", "0.p1.6"}) {
			t.Errorf("gaps %q, rows %q", gaps, rows)
		}
	})
}

// TestAStreamOutlivesTheBoundsOfRequests.
func TestAStreamOutlivesTheBoundsOfRequests(t *testing.T) {
	inBubble(t, func(t *testing.T, s *scene, h *theatre) {
		c := h.connect("ann", "GET /api/quota/stream?events=config", true)
		time.Sleep(10 * writeTimeout)
		s.change(Change{Seq: 1})
		time.Sleep(time.Second)
		synctest.Wait()
		got := c.take()
		if n := strings.Count(got, ": \n"); n != int(10*writeTimeout/signEvery)-1 && n != int(10*writeTimeout/signEvery) {
			t.Errorf("%d signs of life", n)
		}
		if len(ids(got, eventConfig)) != 1 {
			t.Errorf("after a long time: %s", got)
		}
	})
}

// TestStreamsEndWithTheServer, also that of a client which reads nothing, and no
// new one begins.
func TestStreamsEndWithTheServer(t *testing.T) {
	inBubble(t, func(t *testing.T, s *scene, h *theatre) {
		s.use("team", 1)
		reads := h.connect("ann", "GET /api/quota/stream", true)
		h.connect("dead", "GET /api/quota/stream", false)
		h.after(time.Second)
		if d := h.close(); d > time.Second {
			t.Errorf("the server took %s to stop", d)
		}
		if got := reads.take(); got != "(EOF)\n" {
			t.Errorf("who reads got %q at the end, want a clean end", got)
		}
		page := httptest.NewRecorder()
		h.srv.api.ServeHTTP(page, httptest.NewRequest("GET", "http://localhost/metrics", nil))
		if got := page.Body.String(); !strings.Contains(got, "quotashare_http_streams_cut_total 0\n") {
			t.Errorf("a stop counts as a cut: %s", got)
		}
		if err := h.srv.api.feed.enter(new(watcher), new(http.Request)); err == nil || faultOf(err).code != "stopping" {
			t.Errorf("one more: %v", err)
		}
	})
}

// timed is an answer with a time by which it must be written.
type timed struct {
	*httptest.ResponseRecorder
	by time.Time
}

func (d *timed) SetWriteDeadline(by time.Time) error {
	d.by = by
	return nil
}

// TestNoTimeIsGivenAfterTheStop: a write that begins then has what is left.
func TestNoTimeIsGivenAfterTheStop(t *testing.T) {
	f := prepare(t, Config{Engine: newScene()}).api.feed
	answer := &timed{ResponseRecorder: httptest.NewRecorder()}
	w := &watcher{feed: f, w: answer, rc: http.NewResponseController(answer)}
	if err := f.enter(w, new(http.Request)); err != nil {
		t.Fatal(err)
	}
	defer f.leave(w)
	before := time.Now()
	if err := w.write([]byte("text")); err != nil || answer.by.Before(before.Add(cutAfter)) {
		t.Errorf("%v, until %s; want %s from now", err, answer.by, cutAfter)
	}
	f.stop()
	if err := w.write([]byte("text")); err != nil || answer.by != f.stopBy {
		t.Errorf("%v, until %s; want until %s", err, answer.by, f.stopBy)
	}
}

// TestABoardThatEndedIsNotReadOn, whether nobody reads it or something went wrong
// with it while somebody did.
func TestABoardThatEndedIsNotReadOn(t *testing.T) {
	s := newScene()
	f := prepare(t, Config{Engine: s, Log: slog.New(slog.DiscardHandler)}).api.feed
	enter := func() *watcher {
		w := &watcher{feed: f}
		if err := f.enter(w, new(http.Request)); err != nil {
			t.Fatal(err)
		}
		return w
	}
	first := enter()
	f.leave(first)
	s.set(func() { s.panics = true })
	second := enter()
	<-second.board.over
	s.set(func() { s.panics = false })
	third := enter()
	if first.board == second.board || second.board == third.board {
		t.Error("a board that ended is read on")
	}
	f.leave(second)
	if f.board != third.board {
		t.Error("who leaves an old board takes the new one along")
	}
	f.leave(third)
	<-first.board.over
	<-third.board.over
}

// TestWhatTheLogForgotIsNotLookedForAgain.
func TestWhatTheLogForgotIsNotLookedForAgain(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *scene, h *theatre) {
		h.connect("ann", "GET /api/quota/stream?events=config", true)
		h.after(0)
		s.set(func() { s.forgot = true })
		s.change(Change{Seq: 5})
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.reads != 1 {
			t.Errorf("the log was read %d times", s.reads)
		}
	})
}

// TestUsageIsMadeOnceForAll who watch.
func TestUsageIsMadeOnceForAll(t *testing.T) {
	inBubble(t, func(t *testing.T, s *scene, h *theatre) {
		s.use("team", 1)
		for i := range 50 {
			h.connect(fmt.Sprint(i), "GET /api/quota/stream?events=usage", true)
		}
		time.Sleep(10*time.Second - 1)
		synctest.Wait()
		if n := len(s.asked); n != 10 {
			t.Errorf("asked %d times in 10 seconds", n)
		}
		for _, c := range h.clients {
			if got := ids(c.take(), eventUsage); len(got) != 1 {
				t.Errorf("%s got usage %d times", c.name, len(got))
			}
		}
	})
}

// during is an answer that something happens to with its first write.
type during struct {
	*httptest.ResponseRecorder
	once func()
}

func (d *during) Write(p []byte) (int, error) {
	if f := d.once; f != nil {
		d.once = nil
		f()
	}
	return d.ResponseRecorder.Write(p)
}

// TestOnlyTheNewestUsageIsSent: what changes while a client takes what comes
// before it is sent as it is then. Of pools that are no more nothing is kept.
func TestOnlyTheNewestUsageIsSent(t *testing.T) {
	h := prepare(t, Config{Engine: newScene()})
	b := newBoard(h.api.feed)
	sheetOf := func(pool string, version uint64, doc string) sheet {
		return sheet{pool: pool, version: version, doc: []byte(doc)}
	}
	b.usage, b.usageAt = []sheet{sheetOf("a", 1, "a1"), sheetOf("b", 2, "b1"), sheetOf("c", 3, "c1")}, 3
	answer := &during{ResponseRecorder: httptest.NewRecorder(), once: func() {
		b.usage, b.usageAt = []sheet{sheetOf("a", 1, "a1"), sheetOf("b", 4, "b2")}, 4
	}}
	w := &watcher{feed: h.api.feed, board: b, wants: eventNames, w: answer, rc: http.NewResponseController(answer), usage: map[string]uint64{}}
	for range 3 {
		if err := w.sendUsage(); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for line := range strings.Lines(answer.Body.String()) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			got = append(got, strings.TrimSpace(data))
		}
	}
	if !slices.Equal(got, []string{"a1", "b2"}) {
		t.Errorf("sent %q", got)
	}
	b.usage, b.usageAt = []sheet{sheetOf("b", 5, "b3")}, 5
	if err := w.sendUsage(); err != nil || len(w.usage) != 1 {
		t.Errorf("%v; kept of %v, want b alone", err, w.usage)
	}
}

// TestStreamMetrics count what is open, sent and cut.
func TestStreamMetrics(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *scene, h *theatre) {
		h.connect("ann", "GET /api/quota/stream?events=state", true)
		h.connect("gone", "GET /api/quota/stream?events=state", true)
		dead := h.connect("dead", "GET /api/quota/stream?events=state", false)
		h.after(0)
		h.client("gone").conn.Close()
		h.after(cutAfter + time.Second)
		dead.begin()
		got := h.metrics()
		for _, line := range []string{
			"quotashare_http_streams 1", "quotashare_http_streams_cut_total 1", `quotashare_http_stream_events_total{event="state"} 2`,
			`quotashare_http_requests_total{code="200",route="GET /api/quota/stream"} 2`,
		} {
			if !strings.Contains(got, line+"\n") {
				t.Errorf("no %s in\n%s", line, got)
			}
		}
	})
}

// metrics returns the page of metrics.
func (h *theatre) metrics() string {
	c := h.connect("metrics", "GET /metrics", true)
	synctest.Wait()
	return c.take()
}

// TestStreamBytes are those of the format, on a real connection.
func TestStreamBytes(t *testing.T) {
	d := newDouble()
	d.folded, d.proc = 7, "p1"
	conn := serve(t, d, Config{}).dial(t)
	io.WriteString(conn, "GET /api/quota/stream?events=state HTTP/1.1\r\nHost: localhost\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "retry: 2000\n\nevent: state\nid: 7.p1.0\ndata: {\"ready\":true,\"appliedSeq\":0,\"lastSeq\":1,\"lagMs\":3," +
		"\"counts\":{\"folded\":5,\"duplicates\":4,\"rejected\":3,\"late\":2,\"clamped\":1}}\n\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
		t.Errorf("the stream begins %q, %v; want %q", got, err, want)
	}
}

// TestCursors: every cursor is read as it was written, and nothing else is one.
func TestCursors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cursor{
			known: rapid.Bool().Draw(t, "known"), process: rapid.StringMatching(`[a-z0-9]{1,32}`).Draw(t, "process"),
			block: rapid.Uint64().Draw(t, "block"),
		}
		if c.known {
			c.change = rapid.Uint64().Draw(t, "change")
		}
		text := string(c.append(nil))
		if got, ok := parseCursor(text); !ok || got != c {
			t.Fatalf("%q was read as %+v, %v; want %+v", text, got, ok, c)
		}
	})
	for _, text := range []string{
		"", "1", "1.p", "1.p.1.1", ".p.1", "1..1", "1.p.", "+1.p.1", "01.p.1", "1.p.-1", "1.P.1", "1.p p.1", " 1.p.1", "1.p.1\n",
		"18446744073709551616.p.1", "1.p.18446744073709551616", "--.p.1", "1.é.1", "1." + strings.Repeat("p", 33) + ".1",
	} {
		if c, ok := parseCursor(text); ok {
			t.Errorf("%q was read as %+v", text, c)
		}
	}
}
