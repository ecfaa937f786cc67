package questions

import (
	"unsafe"

	"github.com/quotashare/quotashare/wire"
)

// Bounds of a message and its fields.
const (
	MaxItems         = 1000      // questions in one message
	MaxLeaseMs       = 3_600_000 // one hour
	MaxMaxWaitMs     = 3_600_000 // one hour
	DefaultMaxWaitMs = 100       // for a question that does not say
	MaxSeq           = 1 << 53   // stream sequence: what every client's numbers hold
)

// Request is one message of quota.decide or quota.route. The zero Request is ready for Decode,
// and so is a used one, which then needs no new memory.
type Request struct {
	Questions []Question // those that could be read, in order
	Bad       []BadItem  // those of an array that could not, in order
	IsArray   bool

	routes  bool // the questions are those of quota.route
	json    jsonScanner
	msgpack msgpackScanner
}

// BadItem is a question of an array that cannot be answered.
type BadItem struct {
	Index int // its place in the array
	Err   *Error
}

// Decode reads a message. A message that cannot be read at all is an error with
// code "undecodable", one single bad question is "invalid", and an array of
// more than MaxItems is "too-many", found without reading the rest of it.
// The texts of the questions are parts of data, which therefore must not change
// as long as they are in use.
func (r *Request) Decode(data []byte, enc wire.Encoding) *Error {
	r.routes = false
	return r.decode(data, enc)
}

// DecodeRoute is Decode for a message of quota.route.
func (r *Request) DecodeRoute(data []byte, enc wire.Encoding) *Error {
	r.routes = true
	return r.decode(data, enc)
}

func (r *Request) decode(data []byte, enc wire.Encoding) *Error {
	r.reset()
	// A copy would be the only allocation here, and a quarter of the time.
	text := unsafe.String(unsafe.SliceData(data), len(data))
	if ok, err := r.scan(text, enc); ok {
		return err
	}
	r.reset()
	return r.readTree(data, enc)
}

// Read reads one question that is parsed already, such as the parameters of a
// URL. One that cannot be read is "invalid".
func (r *Request) Read(v wire.Value) *Error {
	r.routes = false
	r.reset()
	return r.readQuestion(v)
}

// ReadRoute is Read for a question of quota.route.
func (r *Request) ReadRoute(v wire.Value) *Error {
	r.routes = true
	r.reset()
	return r.readQuestion(v)
}

// subject is that of the message.
func (r *Request) subject() string {
	if r.routes {
		return RouteSubject
	}
	return Subject
}

func (r *Request) reset() {
	clear(r.Questions) // so that a small message does not keep a large one's text
	clear(r.Bad)
	r.Questions, r.Bad, r.IsArray = r.Questions[:0], r.Bad[:0], false
}

// add makes room for one more question. The room behind the questions is always
// empty, so there is nothing to clear.
func (r *Request) add() *Question {
	n := len(r.Questions)
	if n < cap(r.Questions) {
		r.Questions = r.Questions[:n+1]
	} else {
		r.Questions = append(r.Questions, Question{})
	}
	q := &r.Questions[n]
	q.MaxWaitMs = -1
	return q
}

// drop takes the newest question back.
func (r *Request) drop() {
	n := len(r.Questions) - 1
	r.Questions[n] = Question{}
	r.Questions = r.Questions[:n]
}

// Waits reports whether an answer may have to wait: for a sequence beyond
// applied, or for the verdict on a hold.
func (r *Request) Waits(applied uint64) bool {
	for i := range r.Questions {
		if q := &r.Questions[i]; q.Reserve || q.MinSeq > applied {
			return true
		}
	}
	return false
}
