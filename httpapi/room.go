package httpapi

import "sync"

// Bounds of what all callers together have in memory here.
const (
	// maxRoom is how many bytes the bodies of questions and documents may take at one
	// time, and as many those of events: who publishes faster than the log takes it
	// shall not keep others from asking.
	maxRoom = 128 << 20
	// bodyRoom is what a request takes however short its body is, and eventRoom an
	// event of an array beside its bytes: its place, its result, and its answer.
	bodyRoom  = 4 << 10
	eventRoom = 256
	// maxLogin is a body of those who have no token yet, and loginRoom that of all.
	maxLogin  = 16 << 10
	loginRoom = 4 << 20
	// maxStreams is how many streams of NDJSON may be open. Each takes its buffer and
	// a message, some 300 KiB; what its lines need beyond is taken from the room.
	maxStreams = 512
)

// room is memory that many requests share. Who finds none is told to come again, before
// the body is read: memory is not where a backlog is kept.
type room struct {
	most int // bytes of all
	body int // bytes of one body

	mu   sync.Mutex
	used int
}

// taken is what one request has of a room.
type taken struct {
	room  *room
	bytes int
}

// enter gives a request its first part.
func (r *room) enter() (*taken, error) {
	t := &taken{room: r}
	if !t.more(bodyRoom) {
		return nil, noRoom()
	}
	return t, nil
}

// fits says whether n bytes more could be taken now.
func (t *taken) fits(n int) bool {
	t.room.mu.Lock()
	defer t.room.mu.Unlock()
	return t.room.used+n <= t.room.most
}

// more takes n bytes more, or none of them.
func (t *taken) more(n int) bool {
	t.room.mu.Lock()
	defer t.room.mu.Unlock()
	if t.room.used+n > t.room.most {
		return false
	}
	t.room.used += n
	t.bytes += n
	return true
}

// give gives n bytes back.
func (t *taken) give(n int) {
	t.room.mu.Lock()
	defer t.room.mu.Unlock()
	t.room.used -= n
	t.bytes -= n
}

// leave gives back all there is.
func (t *taken) leave() { t.give(t.bytes) }

func noRoom() *fault {
	return busy("as much is being read here as this server has room for: try again")
}
