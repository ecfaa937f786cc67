package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/quotashare/quotashare/wire"
)

const (
	// lookEvery is the time between looks at what happened, and stateEvery how
	// many of them come to one at the state and at usage.
	lookEvery  = 200 * time.Millisecond
	stateEvery = 5
	// lookWithin bounds a question about changes or the state, for which the engine
	// asks a log that may not answer. Usage is not bounded: it comes from memory
	// and the store, and half a sheet would be of no use.
	lookWithin = time.Second

	// What of changes and blocks is kept in memory; older changes are in the log.
	maxNotes     = 256
	maxNoteBytes = 4 << 20
	changesPage  = 100
)

// board shows what happens to all who watch. One goroutine writes it, and at times
// a second one usage, so that whatever the number of watchers a document is made
// once; each watcher reads on from where it is. What a watcher has not read yet is
// not kept for it: of the state and of usage there is the newest alone, changes
// are in the log, and rows of blocks are gone when newer ones came.
type board struct {
	feed   *feed
	engine Engine
	end    context.CancelFunc
	over   chan struct{} // closed when it has ended

	mu       sync.Mutex
	turn     chan struct{} // closed, and replaced, when there is something new
	watchers map[*watcher]bool
	state    sheet
	usage    []sheet // by pool; never changed, but replaced
	usageAt  uint64  // version of the newest there were
	known    bool    // the changes are: the state was there
	changes  notes
	blocks   notes
}

// sheet is a document of which only the newest counts.
type sheet struct {
	pool    string
	version uint64 // 0 = there is no document
	doc     []byte
	bare    []byte // what tells whether it changed

	begun time.Time     // when it was made the last time, long ago when never
	took  time.Duration // how long that was; before the first time, about how long it will be
}

// become makes the sheet one of that version if it shows something else now. Then
// it needs another document.
func (p *sheet) become(version uint64, bare []byte) bool {
	if p.version > 0 && bytes.Equal(p.bare, bare) {
		return false
	}
	p.version, p.bare = version, bare
	return true
}

// notes are documents of which everyone counts, by number.
type notes struct {
	from, to uint64 // those after from, up to to, are in list
	list     []note
	bytes    int
}

type note struct {
	seq  uint64
	pool string
	doc  []byte
}

func (n *notes) add(one note) {
	n.list = append(n.list, one)
	n.to, n.bytes = one.seq, n.bytes+len(one.doc)
	for len(n.list) > maxNotes || n.bytes > maxNoteBytes && len(n.list) > 1 {
		n.from, n.bytes = n.list[0].seq, n.bytes-len(n.list[0].doc)
		n.list = n.list[1:]
	}
}

// after returns the notes after that number.
func (n *notes) after(seq uint64) []note {
	i, found := slices.BinarySearchFunc(n.list, seq, func(one note, seq uint64) int { return cmp.Compare(one.seq, seq) })
	if found {
		i++
	}
	return n.list[i:]
}

func newBoard(f *feed) *board {
	b := &board{feed: f, engine: f.engine, over: make(chan struct{}), turn: make(chan struct{}), watchers: map[*watcher]bool{}}
	b.begin()
	// Rows from before are for those who saw the ones before them.
	for _, r := range b.engine.Blocks(0) {
		b.noteBlock(&r)
	}
	return b
}

// begin takes note from which change on the board shows them.
func (b *board) begin() {
	if !b.engine.Ready() {
		return
	}
	b.changes.to, _ = b.engine.Folded()
	b.changes.from, b.known = b.changes.to, true
}

// run writes the board until ctx ends, or the log is another one. Then its
// watchers leave, and come back.
func (b *board) run(ctx context.Context) {
	defer close(b.over)
	defer b.caught()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for n := 0; ; n++ {
		all := n%stateEvery == 0
		if !b.look(ctx, all) {
			return
		}
		if all && b.engine.Ready() {
			b.gather(ctx)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// caught ends the streams, and not the server, when something goes wrong in the
// engine.
func (b *board) caught() {
	if p := recover(); p != nil {
		b.feed.log.Error("the stream of what happens panicked", "panic", p, "stack", string(debug.Stack()))
		b.end()
	}
}

// look writes down what is new but for usage, and the state last, for which a log
// is asked that may not answer. It reports whether the log is still the one that
// it was.
func (b *board) look(ctx context.Context, all bool) (same bool) {
	news := []func() bool{b.lookAtBlocks()}
	if b.engine.Ready() {
		news = append(news, b.lookAtChanges(ctx))
	}
	b.write(news...)
	if !all {
		return true
	}
	state, same := b.lookAtState(ctx)
	b.write(state)
	return same
}

// write calls what changes the board, under its lock. Who waits is told when one
// reports that there is something new.
func (b *board) write(news ...func() bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fresh := false
	for _, change := range news {
		fresh = change() || fresh
	}
	if fresh {
		close(b.turn)
		b.turn = make(chan struct{})
	}
}

func (b *board) lookAtBlocks() func() bool {
	list := b.engine.Blocks(b.blocks.to)
	return func() bool {
		for i := range list {
			b.noteBlock(&list[i])
		}
		return len(list) > 0
	}
}

func (b *board) noteBlock(r *Block) {
	if r.Seq > b.blocks.to+1 { // those between are nowhere any more
		b.blocks = notes{from: r.Seq - 1}
	}
	b.blocks.add(note{r.Seq, r.PoolID, r.append(nil)})
}

// lookAtChanges reads on in the log when the state has a change that is not on
// the board. What cannot be read now is read at the next look.
func (b *board) lookAtChanges(ctx context.Context) func() bool {
	if !b.known {
		return func() bool {
			b.begin()
			return b.known
		}
	}
	last, change := b.engine.Folded()
	if change <= b.changes.to {
		return func() bool { return false }
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	list, next, err := b.engine.Changes(ctx, b.changes.to, changesPage)
	return func() bool {
		for i := range list {
			b.changes.add(note{seq: list[i].Seq, doc: list[i].Append(nil)})
		}
		if err == nil && next == 0 { // what the log forgot is not looked for again
			b.changes.to = max(b.changes.to, last)
		}
		return len(list) > 0
	}
}

// lookAtState reports too whether the log is the one that it was: one that ends
// before what the board has of it is another.
func (b *board) lookAtState(ctx context.Context) (news func() bool, same bool) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	s, err := b.engine.State(ctx, 0, false)
	p, doc := b.state, b.stateDoc(s, err)
	fresh := p.become(p.version+1, doc)
	if fresh && err != nil && faultOf(err) == nil {
		b.feed.log.Error("the state cannot be told to those who watch", "err", err)
	}
	p.doc = doc
	news = func() bool {
		b.state = p
		return fresh
	}
	return news, err != nil || !b.known || s.LastSeq >= b.changes.to
}

func (b *board) stateDoc(s State, err error) []byte {
	var doc wire.Writer
	doc.Object()
	doc.Name("ready")
	doc.Bool(b.engine.Ready())
	if err == nil {
		stateFields(&doc, s, false)
	} else {
		f := faultOf(err)
		if f == nil {
			f = internal()
		}
		doc.Name("error")
		f.append(&doc)
	}
	doc.End()
	return doc.Bytes()
}
