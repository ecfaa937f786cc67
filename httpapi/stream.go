package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/quotashare/quotashare/wire"
)

const (
	// answerAtOnce is how long a stream may take before its answer begins while
	// it still comes. What is faster gets the usual answer after its end, which
	// proxies and simple clients like better.
	answerAtOnce = time.Second
	// maxUnread is how many bytes of an answer may wait on disk for a client that
	// does not read yet: results of some three million events.
	maxUnread = 256 << 20
	// streamTries is how often a stream comes again when too much waits for the log,
	// tryAgain apart. It is not read meanwhile, so it is its sender who waits.
	streamTries = 100
	tryAgain    = 100 * time.Millisecond
)

// ingestStream publishes a stream of NDJSON that may have no end, with memory
// for one line and one message. What has come whole when the stream pauses is
// published at once, so the wait for the log gathers the next message.
func (a *api) ingestStream(w http.ResponseWriter, r *http.Request) error {
	t, err := a.publishing.enter()
	if err != nil {
		return err
	}
	defer t.leave()
	src, err := bodyOf(r, 0)
	if err != nil {
		return err
	}
	ans := a.newStreamAnswer(w)
	if err := a.streams.enter(ans, r); err != nil {
		return err
	}
	defer a.streams.leave(ans)
	a.streams.renew(ans, a.streamIdle)
	u, zipped := src.(*unzipped)
	if zipped {
		if err := u.begin(); err != nil && err != io.EOF {
			return a.streamFault(err) // while there is no answer yet
		}
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	ans.start(cancel)
	defer ans.close()
	p := newPublication(ctx, a, ans)
	p.tries = streamTries
	err = a.publishLines(callerOf(r), ans, p, &lines{src: src, most: maxLine, room: t})
	if zipped && err != nil && u.err == nil {
		drain(w, r) // its sender does not know yet
	}
	ans.finish(p, err)
	a.metrics.counted(p.accepted, p.rejected)
	return nil
}

// publishLines returns why the stream ended before its end, or nil.
func (a *api) publishLines(who *caller, ans *streamAnswer, p *publication, l *lines) error {
	body := newEventBody(mediaNDJSON, wire.JSON)
	for {
		for line, ok := l.next(); ok; line, ok = l.next() {
			body.publishLine(p, line)
		}
		p.flush()
		p.down = nil // the next try may find the log again
		if ans.err != nil {
			return ans.err
		}
		a.streams.renew(ans, a.streamIdle)
		if u, ok := l.src.(*unzipped); ok {
			u.results = int64(p.accepted + p.rejected)
		}
		refused, err := l.fill()
		if refused != nil {
			p.add(nil, "", refused)
		}
		if !who.still() {
			return tokenGone()
		}
		if err == nil {
			continue
		}
		for line, ok := l.next(); ok; line, ok = l.next() {
			body.publishLine(p, line)
		}
		if line, ok := l.last(); ok && err == io.EOF {
			body.publishLine(p, line)
		}
		p.flush()
		if err == io.EOF {
			return nil
		}
		return a.streamFault(err)
	}
}

func (b *eventBody) publishLine(p *publication, line []byte) {
	switch {
	case len(line) == 0:
	case len(line) > maxLine:
		p.add(nil, "", lineTooLong())
	default:
		p.add(b.decode(line))
	}
}

func lineTooLong() *fault {
	return tooLarge("the line has more than 1 MiB: one line is one event")
}

// streamFault says why a stream ended before its end.
func (a *api) streamFault(err error) *fault {
	f := readFault(err)
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded):
	case a.streams.isStopping():
		f = unavailable("stopping", "the server is stopping: send what has no result yet in a new stream")
	default:
		f.message = "the stream was silent for too long: send an empty line now and then, or begin a new stream"
	}
	return f
}
