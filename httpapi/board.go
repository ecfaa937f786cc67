package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

const (
	// lookEvery is the time between looks at what happened, and stateEvery how
	// many of them come to one at the state and at usage.
	lookEvery  = 200 * time.Millisecond
	stateEvery = 5
	// lookWithin bounds a question to the engine, which may ask a log that does
	// not answer.
	lookWithin = time.Second

	// What of changes and blocks is kept in memory; older changes are in the log.
	maxNotes     = 256
	maxNoteBytes = 4 << 20
	changesPage  = 100
)

// board shows what happens to all who watch. One goroutine writes it, so that
// whatever the number of watchers a document is made once; each watcher reads on
// from where it is. What a watcher has not read yet is not kept for it: of the
// state and of usage there is the newest alone, changes are in the log, and rows
// of blocks are gone when newer ones came.
type board struct {
	feed   *feed
	engine Engine
	end    context.CancelFunc
	over   chan struct{} // closed when nothing more will be written

	mu       sync.Mutex
	turn     chan struct{} // closed, and replaced, when there is something new
	watchers map[*watcher]bool
	versions uint64 // of all sheets so far
	state    sheet
	usage    []sheet // by pool; never changed, but replaced
	usageAt  uint64  // version of the newest of them
	known    bool    // the changes are: the state was there
	changes  notes
	blocks   notes
}

// sheet is a document of which only the newest counts.
type sheet struct {
	pool    string
	version uint64
	doc     []byte
	bare    []byte // what tells whether it changed
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

// after returns the notes after that number. whole means that there were no
// others between.
func (n *notes) after(seq uint64) (list []note, whole bool) {
	i, found := slices.BinarySearchFunc(n.list, seq, func(one note, seq uint64) int { return cmp.Compare(one.seq, seq) })
	if found {
		i++
	}
	return n.list[i:], seq >= n.from
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
	defer func() {
		if p := recover(); p != nil {
			b.feed.log.Error("the stream of what happens panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for n := 0; ; n++ {
		if !b.look(ctx, n%stateEvery == 0) {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// look writes down what is new, all at once. It reports whether the log is still
// the one that it was.
func (b *board) look(ctx context.Context, all bool) (same bool) {
	same = true
	news := []func() bool{b.lookAtBlocks()}
	if b.engine.Ready() {
		news = append(news, b.lookAtChanges(ctx))
		if all {
			news = append(news, b.lookAtUsage(ctx))
		}
	}
	if all {
		var state func() bool
		state, same = b.lookAtState(ctx)
		news = append(news, state)
	}
	b.write(news)
	return same
}

// write calls what changes the board, under its lock. Who waits is told when one
// reports that there is something new.
func (b *board) write(news []func() bool) {
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
			b.changes.add(note{seq: list[i].Seq, doc: list[i].append(nil)})
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
	doc := b.stateDoc(s, err)
	if err != nil && faultOf(err) == nil && !bytes.Equal(doc, b.state.bare) {
		b.feed.log.Error("the state cannot be told to those who watch", "err", err)
	}
	return func() bool { return b.state.become(b, doc, doc) }, err != nil || !b.known || s.LastSeq >= b.changes.to
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

// become replaces the page by a document if that differs.
func (p *sheet) become(b *board, doc, bare []byte) bool {
	if p.version > 0 && bytes.Equal(p.bare, bare) {
		return false
	}
	b.versions++
	p.version, p.doc, p.bare = b.versions, doc, bare
	return true
}

// lookAtUsage makes the sheets of the pools that somebody watches anew; those of
// others would be old when somebody comes.
func (b *board) lookAtUsage(ctx context.Context) func() bool {
	var sheets []sheet
	fresh := false
	for _, pool := range b.watched() {
		p := sheet{pool: pool}
		if i, there := sheetOf(b.usage, pool); there {
			p = b.usage[i]
		}
		changed, err := b.lookAtPool(ctx, &p)
		if errors.Is(err, ErrNotFound) || p.version == 0 {
			continue
		}
		sheets, fresh = append(sheets, p), fresh || changed
	}
	return func() bool {
		b.usage = sheets
		if fresh {
			b.usageAt = b.versions
		}
		return fresh
	}
}

func sheetOf(sheets []sheet, pool string) (i int, there bool) {
	return slices.BinarySearchFunc(sheets, pool, func(p sheet, pool string) int { return strings.Compare(p.pool, pool) })
}

// watched returns the pools that somebody watches.
func (b *board) watched() (list []string) {
	pools := b.engine.Pools()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range pools {
		for w := range b.watchers {
			if w.watches(p.Doc.ID) {
				list = append(list, p.Doc.ID)
				break
			}
		}
	}
	return list
}

// lookAtPool makes the page of a pool anew. What is new at every look, the time
// and what it is as of, is no change.
func (b *board) lookAtPool(ctx context.Context, p *sheet) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	u, err := b.engine.Usage(ctx, p.pool)
	if err != nil {
		return false, err
	}
	bare := *u
	bare.GeneratedAt, bare.AsOf = 0, questions.AsOf{}
	was := p.bare
	now := bare.Append(make([]byte, 0, len(was)))
	if p.version > 0 && bytes.Equal(was, now) {
		return false, nil
	}
	doc := u.Append(append(make([]byte, 0, len(now)+128), `{"usage":`...))
	return p.become(b, append(doc, '}'), now), nil
}
