package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/quotashare/quotashare/wire"
)

// streamAnswer is the sink of a stream. Results go into a spool, which is copied
// to the client from atOnce on, or after the end of a stream that was faster.
type streamAnswer struct {
	api   *api
	w     http.ResponseWriter // only copy writes
	rc    *http.ResponseController
	spool *spool
	buf   []byte
	some  bool  // a result was put
	err   error // of write
	broke error // of copy

	begin  *time.Timer
	copied chan struct{} // closed when copy has returned
}

func (a *api) newStreamAnswer(w http.ResponseWriter) *streamAnswer {
	return &streamAnswer{
		api: a, w: w, rc: http.NewResponseController(w),
		spool: newSpool(a.spoolDir, maxUnread), copied: make(chan struct{}),
	}
}

// start begins the document, and has it copied once the stream has gone on for long.
func (s *streamAnswer) start(gone context.CancelFunc) {
	s.write([]byte(`{"results":[`))
	// HTTP/2 is always full duplex and says so by an error.
	_ = s.rc.EnableFullDuplex()
	s.begin = time.AfterFunc(s.api.atOnce, func() {
		s.copy()
		gone() // a client that does not take the answer any more shall not wait for the log
	})
}

func (s *streamAnswer) write(p []byte) {
	if s.err == nil {
		_, s.err = s.spool.Write(p)
	}
}

func (s *streamAnswer) put(results []result) {
	s.buf = s.buf[:0]
	for i := range results {
		if s.some {
			s.buf = append(s.buf, ',')
		}
		s.some = true
		doc := wire.NewWriter(s.buf, wire.JSON)
		results[i].append(&doc)
		s.buf = doc.Bytes()
	}
	s.write(s.buf)
}

// setDeadlines ignores that a writer has none: in a test of the handler alone
// nobody is late.
func (s *streamAnswer) setDeadlines(read, write time.Time) {
	_ = s.rc.SetReadDeadline(read)
	_ = s.rc.SetWriteDeadline(write)
}

// copy writes the answer to the client as it comes into the spool.
func (s *streamAnswer) copy() {
	defer close(s.copied)
	s.w.Header().Set("Content-Type", "application/json")
	for buf := make([]byte, 32<<10); ; {
		n, err := s.spool.Read(buf)
		if err == io.EOF {
			return
		}
		if err == nil {
			err = s.send(buf[:n])
		}
		if err != nil {
			s.spool.fail(err)
			s.broke = err
			return
		}
	}
}

// errGone is a client that has hung up or does not read.
var errGone = errors.New("the client has gone")

func (s *streamAnswer) send(p []byte) error {
	_, err := s.w.Write(p)
	if err == nil {
		err = s.rc.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.api.streamIdle))
	return nil
}

// finish ends the document and sees it through to the client. why is what ended
// the stream before its end, or nil. An answer that is not whole is broken off,
// so that it is not taken for one that is.
func (s *streamAnswer) finish(p *publication, why error) {
	s.write(tail(p, why))
	s.spool.end()
	s.api.streams.renew(s, s.api.streamIdle)
	if s.begin.Stop() {
		s.copy()
	}
	<-s.copied
	if s.broke == nil {
		return
	}
	if !errors.Is(s.broke, errGone) {
		s.api.log.Warn("the answer to a stream of events broke off", "accepted", p.accepted, "rejected", p.rejected, "err", s.broke)
	}
	panic(http.ErrAbortHandler)
}

func tail(p *publication, why error) []byte {
	doc := fmt.Appendf(nil, `],"accepted":%d,"rejected":%d`, p.accepted, p.rejected)
	if why != nil {
		f := faultOf(why)
		if f == nil {
			f = internal()
		}
		w := wire.NewWriter(append(doc, `,"error":`...), wire.JSON)
		f.append(&w)
		doc = w.Bytes()
	}
	return append(doc, '}', '\n')
}

// close leaves no copy running, whatever ended the request.
func (s *streamAnswer) close() {
	if !s.begin.Stop() {
		s.spool.fail(net.ErrClosed)
		<-s.copied
	}
	s.spool.release()
}
