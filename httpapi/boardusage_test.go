package httpapi

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// gets returns what came to the client after the time.
func (c *client) gets(d time.Duration) string {
	time.Sleep(d)
	synctest.Wait()
	return c.take()
}

// TestALargePoolHoldsUpNothing: while its usage is made, which takes long,
// changes, blocks and the state are told as ever.
func TestALargePoolHoldsUpNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, s *scene, h *theatre) {
		s.takes["large"] = 10 * time.Second
		s.use("large", 1)
		c := h.connect("ann", "GET /api/quota/stream", true)
		c.gets(3 * time.Second)
		s.change(Change{Seq: 1})
		s.block(Block{Seq: 1})
		got := c.gets(lookEvery)
		if !slices.Equal(ids(got, eventConfig), []string{"1.p1.0"}) || !slices.Equal(ids(got, eventDecision), []string{"1.p1.1"}) {
			t.Errorf("got %q at the next look, want a change and a row", got)
		}
		got = c.gets(usageEvery)
		if !slices.Equal(ids(got, eventState), []string{"1.p1.1"}) || len(ids(got, eventUsage)) > 0 {
			t.Errorf("got %q while usage is made, want the state", got)
		}
		if n, _ := s.atOnce(); n != 1 {
			t.Errorf("usage is made %d times", n)
		}
		if got := c.gets(10 * time.Second); !slices.Equal(ids(got, eventUsage), []string{"1.p1.1"}) {
			t.Errorf("got %q when usage was made", got)
		}
	})
}

// TestNothingWaitsForALogThatDoesNotAnswer but what has to be read there.
func TestNothingWaitsForALogThatDoesNotAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, s *scene, h *theatre) {
		c := h.connect("ann", "GET /api/quota/stream?events=decision,state", true)
		c.gets(usageEvery - lookEvery/2)
		s.set(func() { s.mute = true })
		s.block(Block{Seq: 1})
		if got := c.gets(lookEvery); len(ids(got, eventDecision)) != 1 {
			t.Errorf("got %q when somebody was blocked", got)
		}
		s.set(func() { s.mute = false })
		if got := c.gets(lookWithin); !strings.Contains(got, `{"ready":true,"error":{`) {
			t.Errorf("got %q, want what is wrong with the log", got)
		}
	})
}

// TestALargePoolIsMadeLessOften: it takes a quarter of the time; the others are
// made every second but for those in which it is made.
func TestALargePoolIsMadeLessOften(t *testing.T) {
	inBubble(t, func(t *testing.T, s *scene, h *theatre) {
		s.takes["large"] = 1900 * time.Millisecond
		s.use("large", 1)
		s.use("small", 1)
		h.connect("ann", "GET /api/quota/stream?events=usage", true)
		h.after(80*time.Second - 1)
		// Begun at 0, 8, … 72; at 1, 9, … there is no time for the small one.
		if got, want := s.tally(), map[string]int{"large": 10, "small": 70}; !maps.Equal(got, want) {
			t.Errorf("made %v, want %v", got, want)
		}
		s.set(func() { delete(s.takes, "large") })
		h.after(8 * time.Second)
		s.tally()
		h.after(10 * time.Second)
		if got, want := s.tally(), map[string]int{"large": 10, "small": 10}; !maps.Equal(got, want) {
			t.Errorf("made %v when nothing takes long any more, want %v", got, want)
		}
	})
}

// TestWhatHasTimeIsMadeEverySecond, also when others are made before it.
func TestWhatHasTimeIsMadeEverySecond(t *testing.T) {
	inBubble(t, func(t *testing.T, s *scene, h *theatre) {
		want := map[string]int{}
		for i := range 4 {
			s.takes[fmt.Sprint(i)] = time.Duration(i+1) * 25 * time.Millisecond
			s.use(fmt.Sprint(i), 1)
			want[fmt.Sprint(i)] = 10
		}
		h.connect("ann", "GET /api/quota/stream?events=usage", true)
		h.after(10*time.Second - 1)
		if got := s.tally(); !maps.Equal(got, want) {
			t.Errorf("made %v in ten seconds, want %v", got, want)
		}
	})
}

// TestLargePoolsShareTheirTime: together they take no more than one.
func TestLargePoolsShareTheirTime(t *testing.T) {
	inBubble(t, func(t *testing.T, s *scene, h *theatre) {
		for i := range 5 {
			s.takes[fmt.Sprint(i)] = 900 * time.Millisecond
			s.use(fmt.Sprint(i), 1)
		}
		h.connect("ann", "GET /api/quota/stream?events=usage", true)
		h.after(time.Minute)
		s.tally()
		h.after(10 * time.Minute)
		spent := time.Duration(0)
		for pool, times := range s.tally() {
			spent += s.takes[pool] * time.Duration(times)
		}
		if spent < 2*time.Minute || spent > 150*time.Second {
			t.Errorf("%s of 10 minutes went into usage, want a quarter at most, and not much less", spent)
		}
	})
}

// TestSmallPoolsDoNotWaitForALargeOne: they are made and written before it, at
// the first time by what there is of them, then by how long they took.
func TestSmallPoolsDoNotWaitForALargeOne(t *testing.T) {
	inBubble(t, func(t *testing.T, s *scene, h *theatre) {
		s.takes["large"] = 10 * time.Second
		s.use("large", 1)
		s.use("small", 1)
		c := h.connect("ann", "GET /api/quota/stream?events=usage", true)
		shown := func(d time.Duration, want ...string) {
			t.Helper()
			got := c.gets(d)
			if len(ids(got, eventUsage)) != len(want) {
				t.Errorf("got %q, want usage of %q", got, want)
			}
			for _, pool := range want {
				if !strings.Contains(got, `"poolId":"`+pool+`"`) {
					t.Errorf("got %q, want usage of %q", got, want)
				}
			}
		}
		shown(0, "small")
		shown(10*time.Second, "large")
		s.use("large", 2)
		s.use("small", 2)
		shown(time.Second, "small")
		c.gets(29*time.Second - 1) // the large one is due at 40
		s.use("small", 3)
		shown(1, "small")
		if n, _ := s.atOnce(); n != 1 {
			t.Error("the large one is not being made again")
		}
		shown(10*time.Second, "large")
	})
}

// TestUsageIsMadeOnceAtATime, also when clients come and go meanwhile; and one
// that nobody waits for is the last.
func TestUsageIsMadeOnceAtATime(t *testing.T) {
	inBubble(t, func(t *testing.T, s *scene, h *theatre) {
		for _, pool := range []string{"a", "b"} {
			s.takes[pool] = 10 * time.Second
			s.use(pool, 1)
		}
		for i := range 3 {
			h.after(time.Second / 2)
			c := h.connect(fmt.Sprint(i), "GET /api/quota/stream?events=usage", true)
			h.after(time.Second / 2)
			c.conn.Close()
		}
		h.after(time.Minute)
		_, most := s.atOnce()
		if got, want := s.tally(), map[string]int{"a": 1}; most != 1 || !maps.Equal(got, want) {
			t.Errorf("made %v, %d at once; want %v", got, most, want)
		}
		c := h.connect("ann", "GET /api/quota/stream?events=usage", true)
		if got := c.gets(20 * time.Second); len(ids(got, eventUsage)) != 2 {
			t.Errorf("who stays got %q", got)
		}
	})
}

// TestBadUsageEndsTheStreams, not the server.
func TestBadUsageEndsTheStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := newScene(), new(logged)
		s.use("team", 1)
		s.bad = "team"
		h := open(t, s, Config{Log: slog.New(slog.NewTextHandler(log, nil))})
		defer h.close()
		c := h.connect("ann", "GET /api/quota/stream", true)
		if got := c.gets(time.Second); !strings.HasSuffix(got, "(EOF)\n") || log.messages() != "the stream of what happens panicked\n" {
			t.Errorf("got %q", got)
		}
		s.set(func() { s.bad = "" })
		c = h.connect("bea", "GET /api/quota/stream", true)
		if got := c.gets(time.Second); len(ids(got, eventUsage)) != 1 {
			t.Errorf("afterwards, got %q", got)
		}
	})
}

// TestAPoolThatIsNoMoreHasNoUsage on the board.
func TestAPoolThatIsNoMoreHasNoUsage(t *testing.T) {
	s := newScene()
	b := newBoard(prepare(t, Config{Engine: s}).api.feed)
	b.enter(&watcher{wants: eventNames})
	s.use("a", 1)
	s.use("b", 1)
	b.lookAtUsage(t.Context())
	if sheets, at := b.usageSheets(); len(sheets) != 2 || at != 1 {
		t.Errorf("%d sheets of version %d, want two of the first", len(sheets), at)
	}
	sheets := b.watched()
	delete(s.used, "a") // after it was asked which pools there are
	b.lookAtPool(t.Context(), &sheets[0])
	b.writeUsage(sheets)
	if sheets, at := b.usageSheets(); len(sheets) != 1 || sheets[0].pool != "b" || at != 1 {
		t.Errorf("sheets %v of version %d, want b's as it was", sheets, at)
	}
	s.use("a", 1)
	b.lookAtUsage(t.Context())
	if p := b.usageOf("a"); p.version != 2 {
		t.Errorf("a that came back has version %d, want another one than it had", p.version)
	}
}

// TestPartsOfTheTime: they are as much as each takes, or equal where that is too
// much together.
func TestPartsOfTheTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.SampledFrom([]time.Duration{1, time.Millisecond, 100 * time.Millisecond}).Draw(t, "scale")
		var sheets []*sheet
		var all time.Duration
		for _, n := range rapid.SliceOfN(rapid.Int64Range(0, 12), 1, 12).Draw(t, "takes") {
			p := &sheet{took: time.Duration(n) * scale}
			sheets, all = append(sheets, p), all+p.took
		}
		slices.SortFunc(sheets, func(a, b *sheet) int { return int(a.took - b.took) })
		part, given := partOf(sheets), time.Duration(0)
		for _, p := range sheets {
			given += min(p.took, part)
		}
		n := time.Duration(len(sheets))
		if want := min(all, usageTime); given > want || given < want-n {
			t.Fatalf("parts of %s give %s of %s that %d take", part, given, all, n)
		}
	})
}
