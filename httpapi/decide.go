package httpapi

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

// asking is what one request to decide needs, used again for later ones.
type asking struct {
	req     questions.Request
	replies []questions.Reply
	out     []byte
}

// maxKeptAnswer is the largest answer whose memory is kept for later ones.
const maxKeptAnswer = 64 << 10

var askings = sync.Pool{New: func() any { return new(asking) }}

// decide answers one question or an array, in the encoding of the request. Its
// status is 200 whatever the decision; one question that cannot be answered has
// the status of its error, in an array the error stands in its place.
func (a *api) decide(w http.ResponseWriter, r *http.Request) error {
	return a.ask(w, r, (*questions.Request).Decode)
}

// route is decide for questions that want a connection chosen and held.
func (a *api) route(w http.ResponseWriter, r *http.Request) error {
	return a.ask(w, r, (*questions.Request).DecodeRoute)
}

// decoding is how a Request reads a message.
type decoding func(*questions.Request, []byte, wire.Encoding) *questions.Error

func (a *api) ask(w http.ResponseWriter, r *http.Request, decode decoding) error {
	m, err := mediaOf(r, mediaJSON, mediaMsgpack, mediaCloudEvent, mediaCloudEvents)
	if err != nil {
		return err
	}
	t, err := a.documents.enter()
	if err != nil {
		return err
	}
	defer t.leave()
	data, err := readBody(r, t)
	if err != nil {
		return err
	}
	q := askings.Get().(*asking)
	defer q.keep()
	enc := m.encoding(data)
	fail := decode(&q.req, data, enc)
	if err := callerOf(r).checkQuestions(q.req.Questions); fail == nil && err != nil {
		return err
	}
	q.serve(w, r, enc, fail, a.engine.Decide)
	return nil
}

// answering is a method of Decider.
type answering func(ctx context.Context, qs []questions.Question, rs []questions.Reply)

// serve answers what was read, or says why it could not be.
func (q *asking) serve(w http.ResponseWriter, r *http.Request, enc wire.Encoding, fail *questions.Error, answer answering) {
	if fail != nil {
		q.out = questions.AppendError(q.out[:0], enc, fail)
		writeBody(w, fail.Status(), enc.ContentType(), q.out)
		return
	}
	allowWait(w, q.req.Questions)
	status := q.ask(r, enc, answer)
	writeBody(w, status, enc.ContentType(), q.out)
}

// ask puts the questions and encodes the answer.
func (q *asking) ask(r *http.Request, enc wire.Encoding, answer answering) (status int) {
	n := len(q.req.Questions)
	q.replies = slices.Grow(q.replies[:0], n)[:n] // empty: keep has cleared them
	if n > 0 {
		answer(r.Context(), q.req.Questions, q.replies)
	}
	callerOf(r).ownReplies(q.replies)
	q.out = q.req.Append(q.out[:0], enc, q.replies)
	if !q.req.IsArray && q.replies[0].Err != nil {
		return q.replies[0].Err.Status()
	}
	return http.StatusOK
}

// keep hands the memory on, unless it has become large.
func (q *asking) keep() {
	clear(q.replies)
	if cap(q.out) <= maxKeptAnswer {
		askings.Put(q)
	}
}

// usualWait is what every question may wait without being asked: for its minSeq,
// and then for the verdict on its hold.
const usualWait = 2 * questions.DefaultMaxWaitMs

// allowWait moves the end of writing behind the longest wait that a caller
// asked for. A question that reserves may wait its maxWaitMs twice, for a sequence
// and for its verdict.
func allowWait(w http.ResponseWriter, qs []questions.Question) {
	var seq, verdict int64
	for i := range qs {
		seq = max(seq, qs[i].Wait())
		if qs[i].Reserve {
			verdict = max(verdict, qs[i].WaitVerdict())
		}
	}
	if wait := seq + verdict; wait > usualWait {
		end := time.Now().Add(writeTimeout + time.Duration(wait)*time.Millisecond)
		// A writer that has no deadlines, in a test of the handler alone, is never late.
		_ = http.NewResponseController(w).SetWriteDeadline(end)
	}
}
