package httpapi

import (
	"context"
	"maps"

	"github.com/quotashare/quotashare/wire"
)

func (b *board) enter(w *watcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers[w] = true
}

// leave reports whether this was the last one.
func (b *board) leave(w *watcher) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.watchers, w)
	return len(b.watchers) == 0
}

// next is closed when there is something that is not on the board yet.
func (b *board) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turn
}

// now is where somebody is who has seen everything on the board.
func (b *board) now() cursor {
	b.mu.Lock()
	defer b.mu.Unlock()
	return cursor{known: b.known, change: b.changes.to, process: b.engine.Process(), block: b.blocks.to}
}

// after returns a copy of the notes after that number, and that from which on
// the board has all.
func (b *board) after(n *notes, seq uint64) (list []note, from uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return n.after(seq), n.from
}

// sendChanges sends the changes after the client's: what is on the board, and
// what is older from the log.
func (w *watcher) sendChanges(ctx context.Context) (again bool, err error) {
	if again, err = w.findLog(ctx); again || err != nil {
		return again, err
	}
	for {
		list, from := w.board.after(&w.board.changes, w.at.change)
		if w.at.change < from {
			if again, err = w.sendOlder(ctx, from); again || err != nil {
				return again, err
			}
			continue
		}
		for _, n := range list {
			w.at.change = n.seq
			if err := w.event(eventConfig, n.doc); err != nil {
				return false, err
			}
		}
		return false, nil
	}
}

// sendOlder sends a page of changes from the log, which bring the client nearer
// to those on the board.
func (w *watcher) sendOlder(ctx context.Context, from uint64) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	last, _ := w.feed.engine.Folded()
	list, next, err := w.feed.engine.Changes(ctx, w.at.change, resumePage)
	if err != nil {
		return true, nil // no log or no state now; the client is told that by the state
	}
	for i := range list {
		w.at.change = list[i].Seq
		if err := w.event(eventConfig, list[i].Append(nil)); err != nil {
			return false, err
		}
	}
	if next == 0 {
		// A state that is made anew may not have come so far.
		w.at.change = max(w.at.change, min(from, last))
		return w.at.change < from, nil
	}
	return false, nil
}

// findLog sees whether the client was told of a log that goes on in this one. A
// state may be behind what another one told; a log that ends before that was
// rolled back, or is another one.
func (w *watcher) findLog(ctx context.Context) (again bool, err error) {
	last, _ := w.feed.engine.Folded()
	if !w.resumes || w.at.change <= last {
		w.resumes = false
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	s, err := w.feed.engine.State(ctx, 0, false)
	if err != nil {
		return true, nil
	}
	w.resumes = false
	if w.at.change <= s.LastSeq {
		return false, nil
	}
	w.at.change = w.board.now().change
	return false, w.gap(eventConfig, "the log is not the one that was told of: read the configuration anew")
}

// sendBlocks sends the rows after the client's as far as they are kept.
func (w *watcher) sendBlocks() error {
	if !w.wantsEvent(eventDecision) {
		return nil
	}
	list, from := w.board.after(&w.board.blocks, w.at.block)
	process := w.board.engine.Process()
	if w.at.process != process {
		w.at.process, w.at.block = process, 0
		list, _ = w.board.after(&w.board.blocks, 0)
		if err := w.gap(eventDecision, "another process answers now: what the other one blocked is not known here"); err != nil {
			return err
		}
	} else if w.at.block < from {
		w.at.block = from
		if err := w.gap(eventDecision, "more was blocked than is kept: the oldest are missing"); err != nil {
			return err
		}
	}
	for _, n := range list {
		w.at.block = n.seq
		if w.pool != "" && w.pool != n.pool {
			continue
		}
		if err := w.event(eventDecision, n.doc); err != nil {
			return err
		}
	}
	return nil
}

// gap says that some events of that name may be missing, and why.
func (w *watcher) gap(name, why string) error {
	var doc wire.Writer
	doc.Object()
	doc.Name("event")
	doc.String(name)
	doc.Name("message")
	doc.String(why)
	doc.End()
	return w.event(eventGap, doc.Bytes())
}

func (w *watcher) sendState() error {
	p := w.board.stateSheet()
	if !w.wantsEvent(eventState) || p.version == w.state {
		return nil
	}
	w.state = p.version
	return w.event(eventState, p.doc)
}

func (b *board) stateSheet() sheet {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

// sendUsage sends the sheets that the client does not have. Each is looked at
// when it is sent: while the client took the ones before, it may have changed.
func (w *watcher) sendUsage() error {
	sheets, at := w.board.usageSheets()
	if at == w.usageAt {
		return nil
	}
	w.usageAt = at
	for i := range sheets {
		pool := sheets[i].pool
		if !w.watches(pool) || sheets[i].version == w.usage[pool] {
			continue
		}
		p := w.board.usageOf(pool)
		if p.version == 0 || p.version == w.usage[pool] {
			continue
		}
		w.usage[pool] = p.version
		if err := w.event(eventUsage, p.doc); err != nil {
			return err
		}
	}
	if len(w.usage) > len(sheets) { // of pools that are no more
		maps.DeleteFunc(w.usage, func(pool string, _ uint64) bool {
			_, there := sheetOf(sheets, pool)
			return !there
		})
	}
	return nil
}

func (b *board) usageSheets() (sheets []sheet, at uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.usage, b.usageAt
}

// usageOf returns the pool's sheet, one of version 0 when there is none.
func (b *board) usageOf(pool string) sheet {
	sheets, _ := b.usageSheets()
	if i, there := sheetOf(sheets, pool); there {
		return sheets[i]
	}
	return sheet{}
}
