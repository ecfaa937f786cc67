// Package groups brings what many callers publish at the same time into few messages
// (group commit): while one message is under way, what comes for its subject gathers in
// the next one. So an event alone is written at once, many share an acknowledgement and
// with it the log's fsync, and there is no timer.
package groups

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/quotashare/quotashare/events"
)

// Message is one message for the log: an array of events.
type Message struct {
	Subject string
	ID      string // the same for the same array, so that one sent twice is stored once
	Data    []byte // JSON
	Events  int    // in the array
}

// Receipt says where events are.
type Receipt struct {
	Seq     uint64 // of their message; 0 = not in the log yet
	Spooled bool   // on the disk of this program, for a log that is away
}

// Log takes messages. Publish returns once the message is durable; it may be called again
// with the same message, and must not keep its data. Its error is ErrTooLarge when the
// parts of the message may be taken.
type Log interface {
	Publish(ctx context.Context, m *Message) (Receipt, error)
}

// ErrFull says that more waits for the log than may.
var ErrFull = errors.New("too much waits for the log: try again")

// ErrTooLarge is what a log's errors wrap when a message has more bytes than it takes.
var ErrTooLarge = errors.New("the message is larger than the log takes")

// Options say where messages go.
type Options struct {
	Log Log
	// Room is how many bytes of events a message to the log may have at the moment,
	// nil = MaxMessage. Of more than MaxMessage none is made.
	Room func() int
	// Waiting is how many bytes of events may wait for their message, 0 = 64 MiB. Who
	// comes then is refused, and shall come again: memory is not where a backlog is kept.
	Waiting int
	// Within bounds the writing of one message, 0 = 10 s.
	Within time.Duration
}

// MaxMessage is how many bytes of events share a message, if the log takes as many: half
// of the broker's usual max_payload. A part alone may be larger, up to what the log takes.
const MaxMessage = 512 << 10

const (
	defaultWaiting = 64 << 20
	defaultWithin  = 10 * time.Second
)

// Groups is a group commit. Its methods may be called from any goroutine.
type Groups struct {
	o Options

	mu      sync.Mutex
	lanes   map[string]*lane
	waiting int // bytes
	running sync.WaitGroup
}

// lane is what goes to one subject, in the order it came.
type lane struct {
	subject string
	parts   []*part // that wait
	busy    bool    // a message is under way
}

// part is what one caller publishes.
type part struct {
	data   []byte // a JSON array
	events int
	done   chan struct{}
	// Set before done is closed.
	receipt Receipt
	err     error
}

// New returns a group commit.
func New(o Options) *Groups {
	if o.Waiting == 0 {
		o.Waiting = defaultWaiting
	}
	if o.Within == 0 {
		o.Within = defaultWithin
	}
	if o.Room == nil {
		o.Room = func() int { return MaxMessage }
	}
	return &Groups{o: o, lanes: map[string]*lane{}}
}

// Publish has events written, a JSON array of at most events.MaxEvents, which must not be
// changed before it returns. They are neighbours in one message, in their order. A caller
// that leaves when its message is under way does not know what became of it. The error is
// ErrFull, that of the context, or the log's.
func (g *Groups) Publish(ctx context.Context, subject string, data []byte, n int) (Receipt, error) {
	p := &part{data: data, events: n, done: make(chan struct{})}
	if !g.add(subject, p) {
		return Receipt{}, ErrFull
	}
	select {
	case <-p.done:
		return p.receipt, p.err
	case <-ctx.Done():
	}
	if !g.withdraw(subject, p) {
		<-p.done // its bytes are in use
		return p.receipt, p.err
	}
	return Receipt{}, ctx.Err()
}

// Waiting returns how many bytes wait for their message.
func (g *Groups) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// Close waits until all that was published is written, or is not. Nobody may publish any
// more.
func (g *Groups) Close() { g.running.Wait() }

func (g *Groups) add(subject string, p *part) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting > 0 && g.waiting+len(p.data) > g.o.Waiting {
		return false
	}
	l := g.lanes[subject]
	if l == nil {
		l = &lane{subject: subject}
		g.lanes[subject] = l
	}
	l.parts = append(l.parts, p)
	g.waiting += len(p.data)
	if !l.busy {
		l.busy = true
		g.running.Go(func() { g.run(l) })
	}
	return true
}

// withdraw takes back a part that still waits.
func (g *Groups) withdraw(subject string, p *part) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lanes[subject]
	for i, have := range l.parts {
		if have == p {
			l.parts = append(l.parts[:i], l.parts[i+1:]...)
			g.waiting -= len(p.data)
			return true
		}
	}
	return false
}

// run writes what waits in a lane until nothing does.
func (g *Groups) run(l *lane) {
	for parts := g.take(l); len(parts) > 0; parts = g.take(l) {
		g.write(l.subject, parts)
	}
}

// write makes one message of parts, or several when the log takes less than it said: what
// is too much of one caller's is no other's fault.
func (g *Groups) write(subject string, parts []*part) {
	receipt, err := g.publish(messageOf(subject, parts))
	if half := len(parts) / 2; half > 0 && errors.Is(err, ErrTooLarge) {
		g.write(subject, parts[:half])
		g.write(subject, parts[half:])
		return
	}
	if len(parts) == 1 && errors.Is(err, ErrTooLarge) {
		receipt, err = g.pieces(messageOf(subject, parts), err)
	}
	for _, p := range parts {
		p.receipt, p.err = receipt, err
		close(p.done)
	}
}

func (g *Groups) publish(m *Message) (Receipt, error) {
	ctx, cancel := context.WithTimeout(context.Background(), g.o.Within)
	defer cancel()
	return g.o.Log.Publish(ctx, m)
}

// pieces has a message that is too large written in halves of halves, and returns where
// the last is. What was written before one fails stays: sent again, it counts once.
func (g *Groups) pieces(m *Message, why error) (receipt Receipt, err error) {
	halves := m.Halves()
	if halves == nil {
		return Receipt{}, why
	}
	for _, half := range halves {
		if receipt, err = g.publish(half); errors.Is(err, ErrTooLarge) {
			receipt, err = g.pieces(half, err)
		}
		if err != nil {
			return Receipt{}, err
		}
	}
	return receipt, nil
}

// take takes the parts of the next message from those that wait.
func (g *Groups) take(l *lane) []*part {
	most := g.o.Room()
	g.mu.Lock()
	defer g.mu.Unlock()
	n, bytes, held := 0, 0, 0
	for ; n < len(l.parts); n++ {
		p := l.parts[n]
		if n > 0 && !Fits(most, bytes, held, p.data, p.events) {
			break
		}
		bytes, held = bytes+len(p.data), held+p.events
	}
	g.waiting -= bytes
	taken := l.parts[:n:n]
	if l.parts = l.parts[n:]; len(l.parts) == 0 {
		l.parts = nil // what was taken is not kept alive
	}
	l.busy = n > 0
	return taken
}

// messageOf makes one array of those of the parts.
func messageOf(subject string, parts []*part) *Message {
	arrays, n := make([][]byte, len(parts)), 0
	for i, p := range parts {
		arrays[i], n = p.data, n+p.events
	}
	return NewMessage(subject, joined(arrays), n)
}

// NewMessage returns the message of an array of so many events.
func NewMessage(subject string, data []byte, n int) *Message {
	return &Message{Subject: subject, ID: messageID(subject, data), Data: data, Events: n}
}

// Fits says whether what has that many bytes and events may have a part more, where a
// message may have most bytes.
func Fits(most, bytes, n int, data []byte, more int) bool {
	return bytes+len(data) <= min(most, MaxMessage) && n+more <= events.MaxEvents
}

// Halves returns two messages of the events of one, in their order; nil when it has one
// event alone, or is no array.
func (m *Message) Halves() []*Message {
	var items []json.RawMessage
	if err := json.Unmarshal(m.Data, &items); err != nil || len(items) < 2 {
		return nil
	}
	half := len(items) / 2
	return []*Message{arrayOf(m.Subject, items[:half]), arrayOf(m.Subject, items[half:])}
}

func arrayOf(subject string, items []json.RawMessage) *Message {
	data := []byte{'['}
	for i, item := range items {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, item...)
	}
	return NewMessage(subject, append(data, ']'), len(items))
}

// Join makes one message of messages to one subject.
func Join(list []*Message) *Message {
	if len(list) == 1 {
		return list[0]
	}
	arrays, n := make([][]byte, len(list)), 0
	for i, m := range list {
		arrays[i], n = m.Data, n+m.Events
	}
	return NewMessage(list[0].Subject, joined(arrays), n)
}

// joined makes one array of the items of all.
func joined(arrays [][]byte) []byte {
	if len(arrays) == 1 {
		return arrays[0]
	}
	size := 0
	for _, a := range arrays {
		size += len(a)
	}
	data := make([]byte, 0, size)
	for _, a := range arrays {
		begin := len(data)
		data = append(data, a[:len(a)-1]...) // without its end
		data[begin] = ','                    // in place of its beginning
	}
	data[0] = '['
	return append(data, ']')
}

// messageID is the id of a whole array: a hash of what it holds. Every event in
// it has an id, so two arrays with one hash are one array, sent twice.
func messageID(subject string, message []byte) string {
	h := sha256.New()
	h.Write([]byte(subject))
	h.Write([]byte{0})
	h.Write(message)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
