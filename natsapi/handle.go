package natsapi

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

// call is one message on its way through. It is used again, with its memory.
type call struct {
	request questions.Request
	replies []questions.Reply
	body    []byte
	to      string // the reply subject
	enc     wire.Encoding
	typed   bool          // the question named its content type
	done    func()        // finishes it
	room    chan struct{} // where it waits
	began   time.Duration // on the clock of now
	waited  bool
}

// endpoint is how the messages of one subject are read, and where they wait.
type endpoint struct {
	decode              func(*questions.Request, []byte, wire.Encoding) *questions.Error
	sequences, verdicts chan struct{}
}

// done is a context for what may not wait.
var done = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrHurried)
	return ctx
}()

// handle is the callback of a subscription: one message after the other. ctx
// is done when nothing is to wait any more.
func (s *Server) handle(ctx context.Context, r micro.Request, e *endpoint) {
	s.counts.Messages.Add(1)
	switch to := r.Reply(); {
	case to == "":
		s.counts.NoReply.Add(1)
		return
	case reserved(to):
		s.counts.Refused.Add(1)
		return
	}
	c := s.calls.Get().(*call)
	c.begin(r)
	c.began, c.waited = now(), false
	defer s.rescue(c)
	if err := e.decode(&c.request, r.Data(), c.enc); err != nil {
		s.fail(c, err)
		s.calls.Put(c)
		return
	}
	applied := s.decider.Applied()
	if !c.request.Waits(applied) {
		s.answer(done, c)
		return
	}
	behind, reserves := c.behind(applied), c.reserves()
	switch {
	case behind && s.enter(c, e.sequences):
		go s.answerLater(ctx, c)
	case reserves && s.enter(c, e.verdicts):
		if behind {
			s.counts.Hurried.Add(1)
		}
		s.begin(c)
	default:
		s.counts.Hurried.Add(1)
		s.answer(done, c)
	}
}

// reserved reports whether a reply subject is one that means something to deciders or to
// the broker: they may publish there, and who asked may not.
func reserved(to string) bool {
	return strings.HasPrefix(to, "quota.") || strings.HasPrefix(to, "quotashare.") || strings.HasPrefix(to, "$")
}

// behind reports whether a question waits for a sequence.
func (c *call) behind(applied uint64) bool {
	for i := range c.request.Questions {
		if c.request.Questions[i].MinSeq > applied {
			return true
		}
	}
	return false
}

// reserves reports whether a question waits for a verdict.
func (c *call) reserves() bool {
	for i := range c.request.Questions {
		if c.request.Questions[i].Reserve {
			return true
		}
	}
	return false
}

// enter takes a place for a call that waits, if there is one.
func (s *Server) enter(c *call, room chan struct{}) bool {
	c.room = room
	select {
	case room <- struct{}{}:
	default:
		return false
	}
	c.waited = true
	s.counts.Waits.Add(1)
	s.counts.Waiting.Add(1)
	s.waiting.Add(1)
	return true
}

func (s *Server) answerLater(ctx context.Context, c *call) {
	defer s.waited(c.room)
	defer s.rescue(c)
	s.answer(ctx, c)
}

// waited gives back the place of a call that waited.
func (s *Server) waited(room chan struct{}) {
	s.counts.Waiting.Add(-1)
	<-room
	s.waiting.Done()
}

// begin brings a call on its way that finish will answer.
func (s *Server) begin(c *call) {
	begun := false
	defer func() {
		if !begun { // a panic
			s.waited(c.room)
		}
	}()
	answered := s.decider.Begin(c.request.Questions, c.empty(), c.done)
	begun = true
	if answered {
		s.finish(c)
	}
}

// finish answers a call that was begun.
func (s *Server) finish(c *call) {
	defer s.waited(c.room)
	defer s.rescue(c)
	s.reply(c)
}

// rescue keeps a panic from ending the process. The call is not used again: it
// may be half changed.
func (s *Server) rescue(c *call) {
	p := recover()
	if p == nil {
		return
	}
	s.counts.Panics.Add(1)
	s.log.Error("panic while answering a question", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	s.fail(c, &questions.Error{Code: questions.CodeInternal, Message: "the question could not be answered: this is a fault of quotashare, please report it"})
}

func (c *call) begin(r micro.Request) {
	c.to = r.Reply()
	c.enc, c.typed = wire.JSON, false
	data, header := r.Data(), r.Headers()
	if len(header) == 0 && len(data) > 0 && data[0] == '{' {
		return // what nearly all of them are
	}
	contentType := contentType(header)
	c.typed = contentType != ""
	first := byte(0)
	if len(data) > 0 {
		first = data[0]
	}
	c.enc = wire.Detect(contentType, first)
}

// contentType looks for the header in any case, as HTTP does.
func contentType(h micro.Headers) string {
	for name, values := range h {
		if strings.EqualFold(name, "Content-Type") && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// answer decides and sends, and gives the call back.
func (s *Server) answer(ctx context.Context, c *call) {
	if replies := c.empty(); len(replies) > 0 {
		s.decider.Decide(ctx, c.request.Questions, replies)
	}
	s.reply(c)
}

// empty returns an empty reply for each question.
func (c *call) empty() []questions.Reply {
	n := len(c.request.Questions)
	for len(c.replies) < n {
		c.replies = append(c.replies, questions.Reply{})
	}
	replies := c.replies[:n]
	for i := range replies {
		replies[i].Reset()
	}
	return replies
}

// reply sends what was decided.
func (s *Server) reply(c *call) {
	replies := c.replies[:len(c.request.Questions)]
	s.count(c, replies)
	if !c.request.IsArray && replies[0].Err != nil {
		s.send(c, replies[0].Err)
	} else {
		s.sent(c, s.publishAll(c, replies))
	}
	s.latency(c.waited).Observe((now() - c.began).Seconds())
	s.calls.Put(c)
}

// publishAll publishes the answers. Who reserved has to hear of it: what does not fit
// is sent without the long lists, and if that does not fit either, nothing is held.
func (s *Server) publishAll(c *call, replies []questions.Reply) error {
	c.body = c.request.Append(c.body[:0], c.enc, replies)
	err := s.publish(c, nil)
	if !errors.Is(err, nats.ErrMaxPayload) || !c.reserves() {
		return err
	}
	if shorten(replies, len(c.body), s.conn.MaxPayload()) {
		c.body = c.request.Append(c.body[:0], c.enc, replies)
		err = s.publish(c, nil)
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		s.decider.Release(c.request.Questions, replies)
	}
	return err
}

// shorten leaves the dimensions, with what else explain shows, and the candidates out,
// and reports whether there were any.
func shorten(replies []questions.Reply, size int, limit int64) (shorter bool) {
	for i := range replies {
		r := &replies[i]
		if r.Err != nil || !r.Explained && len(r.Candidates) == 0 {
			continue
		}
		what := "dimensions"
		if len(r.Candidates) > 0 {
			what = "candidates"
			if r.Explained {
				what = "dimensions and candidates"
			}
		}
		r.Explained, r.Dimensions, r.HasTraffic, r.Candidates = false, r.Dimensions[:0], false, r.Candidates[:0]
		r.Detail = fmt.Sprintf("without %s: with them the answer has %d bytes and the broker takes %d", what, size, limit)
		shorter = true
	}
	return shorter
}

func (s *Server) count(c *call, replies []questions.Reply) {
	s.counts.Questions.Add(uint64(len(replies)))
	bad := len(c.request.Bad)
	for i := range replies {
		if replies[i].Err != nil {
			bad++
		}
	}
	if bad > 0 {
		s.counts.Errors.Add(uint64(bad))
	}
}

// fail answers the whole message with an error.
func (s *Server) fail(c *call, e *questions.Error) {
	s.counts.Errors.Add(1)
	s.send(c, e)
}

// send sends e in the place of an answer.
func (s *Server) send(c *call, e *questions.Error) { s.sent(c, s.publish(c, e)) }

// sent takes in what became of an answer. One that is too large is answered with that.
func (s *Server) sent(c *call, err error) {
	if errors.Is(err, nats.ErrMaxPayload) {
		s.counts.Errors.Add(1)
		err = s.publish(c, c.tooLarge(s.conn.MaxPayload()))
	}
	if err != nil {
		s.counts.Unsent.Add(1)
	}
}

func (c *call) tooLarge(limit int64) *questions.Error {
	message := fmt.Sprintf("the answer has %d bytes and the broker takes %d: ask fewer questions at once, or without explain", len(c.body), limit)
	if c.reserves() {
		message += "; the holds that it opened are released"
	}
	return &questions.Error{Code: questions.CodeTooLarge, Message: message}
}

// publish publishes the body, or e in its place, through the connection:
// Request.Respond does the same with one more allocation and lock, and costs 7 % of
// the throughput.
func (s *Server) publish(c *call, e *questions.Error) error {
	if e == nil && !c.typed {
		return s.conn.Publish(c.to, c.body)
	}
	m := &nats.Msg{Subject: c.to, Data: c.body, Header: nats.Header{"Content-Type": {c.enc.ContentType()}}}
	if e != nil {
		m.Data = questions.AppendError(nil, c.enc, e)
		m.Header[micro.ErrorHeader] = []string{e.Message}
		m.Header[micro.ErrorCodeHeader] = []string{strconv.Itoa(e.Status())}
	}
	return s.conn.PublishMsg(m)
}
