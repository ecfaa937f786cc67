package fakeprovider

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/quotashare/quotashare/dialect"
)

// part is what of an answer is sent in one piece.
type part struct {
	body   string
	text   int64 // bytes of text that the client has with it
	states state
}

// sender sends one answer.
type sender struct {
	p   *Provider
	w   http.ResponseWriter
	ctx context.Context
	c   *call
	e   *entry
}

// answer sends what the call is answered, or what its behaviour says instead.
func (p *Provider) answer(w http.ResponseWriter, r *http.Request, c *call, e *entry) {
	s := &sender{p: p, w: w, ctx: r.Context(), c: c, e: e}
	s.wait(c.how.FirstByteDelay)
	if c.how.Cut == BeforeHeader {
		panic(http.ErrAbortHandler)
	}
	if st := c.how.Status; st != 0 && (st < 200 || st > 299) {
		p.refuse(w, c, e, fault{st, "The fake provider was asked for this."})
		return
	}
	parts := c.parts()
	s.header(parts)
	for i, next := range parts {
		if c.how.Cut != Uncut && i == c.how.CutAfter {
			s.cut(next)
			return
		}
		s.hold(i)
		s.send(next)
	}
	if c.streams() && (c.how.Cut == BetweenParts || c.how.Cut == InsidePart) {
		panic(http.ErrAbortHandler)
	}
}

// parts returns the answer.
func (c *call) parts() []part {
	stream := c.streams()
	switch {
	case c.api == dialect.Chat && stream:
		return c.chatStream()
	case c.api == dialect.Chat:
		return c.chat()
	case c.api == dialect.Responses && stream:
		return c.responseStream()
	case c.api == dialect.Responses:
		return c.response()
	case c.api == dialect.Messages && stream:
		return c.messageStream()
	case c.api == dialect.Messages:
		return c.message()
	case c.api == dialect.Embeddings:
		return c.embeddings()
	case c.api == dialect.CountTokens:
		return []part{{body: `{"input_tokens":` + number(c.use.prompt) + `}`}}
	}
	return []part{{body: c.models}}
}

// header sends the header. JSON says its length, so that one that is cut ends
// short of it.
func (s *sender) header(parts []part) {
	h := s.w.Header()
	s.p.head(h, s.c)
	if s.c.streams() {
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
	} else {
		length := 0
		for _, p := range parts {
			length += len(p.body)
		}
		h.Set("Content-Type", "application/json")
		h.Set("Content-Length", strconv.Itoa(length))
	}
	s.p.note(s.e, func() { s.e.Status = http.StatusOK })
	s.w.WriteHeader(http.StatusOK)
	s.flush()
}

// send charges for a part and sends it, in this order: see the package.
func (s *sender) send(next part) {
	s.p.note(s.e, func() {
		s.e.begun = true
		s.e.Text += next.text
		s.e.stated = max(s.e.stated, next.states)
	})
	s.write(next.body)
}

// cut ends the answer before next.
func (s *sender) cut(next part) {
	stream := s.c.streams()
	switch {
	case s.c.how.Cut == ErrorEvent && stream:
		s.p.note(s.e, func() { s.e.failed = true })
		s.write(s.c.errorEvent())
		return
	case s.c.how.Cut == InsidePart:
		n := len(next.body) / 2 // of an event, which is none before its end
		if !stream {
			// 10 bytes are within the name of the part's first member, so they say
			// nothing yet.
			n = min(n, 10)
		}
		s.p.note(s.e, func() { s.e.begun = true })
		s.write(next.body[:n])
	}
	panic(http.ErrAbortHandler)
}

// write sends what can be read at once. A client that is gone ends the answer.
func (s *sender) write(body string) {
	if _, err := io.WriteString(s.w, body); err != nil {
		panic(http.ErrAbortHandler)
	}
	s.flush()
}

func (s *sender) flush() {
	if err := http.NewResponseController(s.w).Flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// hold waits until part i may be sent.
func (s *sender) hold(i int) {
	if i > 0 {
		s.wait(s.c.how.Delay)
	}
	if s.c.how.Gate == nil {
		return
	}
	select {
	case <-s.c.how.Gate:
	case <-s.ctx.Done():
		panic(http.ErrAbortHandler)
	}
}

// wait waits, and not longer than the client does.
func (s *sender) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
		panic(http.ErrAbortHandler)
	}
}
