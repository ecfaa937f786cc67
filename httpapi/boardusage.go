package httpapi

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/quotashare/quotashare/questions"
)

// The pace of usage. A sheet of 10,000 keys on 20 connections takes seconds, and
// watching it would take from a small machine half of what it has for decisions
// and the fold. So all sheets together have a quarter of the time of one
// processor, and share it as keys share a limit: each has what it takes, or an
// equal part of what those leave that take less. One that takes more than its
// part is made anew less often. Making all of them less often would be simpler,
// but then one large pool would hold up a hundred small ones.
const (
	usageEvery = stateEvery * lookEvery
	usageTime  = usageEvery / 4 // of all sheets, out of usageEvery
	// usageRow is about what one key takes on one connection. By it those are put in
	// order that were not made yet.
	usageRow = 10 * time.Microsecond
)

// gather begins to make the sheets that are due, unless that is under way. It may
// take seconds, and what else happens is not to wait for it.
func (b *board) gather(ctx context.Context) {
	if !b.feed.gathering.TryLock() {
		return
	}
	go func() {
		defer b.feed.gathering.Unlock()
		defer b.caught()
		b.lookAtUsage(ctx)
	}()
}

// lookAtUsage makes the sheets that are due, the quick ones first, and writes them
// before one that others would have to wait for.
func (b *board) lookAtUsage(ctx context.Context) {
	sheets, wrote := b.watched(), time.Now()
	for _, p := range due(sheets, wrote) {
		if ctx.Err() != nil {
			return
		}
		if time.Since(wrote)+p.took >= lookEvery {
			b.writeUsage(sheets)
			wrote = time.Now()
		}
		b.lookAtPool(ctx, p)
	}
	b.writeUsage(sheets)
}

// watched returns the sheets of the pools that somebody watches, by pool; those of
// others would be old when somebody comes. One that is not on the board has no
// document yet.
func (b *board) watched() (sheets []sheet) {
	pools := b.engine.Pools()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range pools {
		if !b.isWatched(p.Doc.ID) {
			continue
		}
		if i, there := sheetOf(b.usage, p.Doc.ID); there {
			sheets = append(sheets, b.usage[i])
		} else {
			rows := len(p.Doc.Allocations) * len(p.Doc.Connections)
			sheets = append(sheets, sheet{pool: p.Doc.ID, took: time.Duration(rows) * usageRow})
		}
	}
	return sheets
}

func (b *board) isWatched(pool string) bool {
	for w := range b.watchers {
		if w.watches(pool) {
			return true
		}
	}
	return false
}

func sheetOf(sheets []sheet, pool string) (i int, there bool) {
	return slices.BinarySearchFunc(sheets, pool, func(p sheet, pool string) int { return strings.Compare(p.pool, pool) })
}

// due returns those of the sheets that are to be made now, the quick ones first.
// One that takes longer than its part of the time rests until it has taken that
// part of the time since it was begun.
func due(sheets []sheet, now time.Time) (list []*sheet) {
	for i := range sheets {
		list = append(list, &sheets[i])
	}
	slices.SortStableFunc(list, func(a, b *sheet) int { return cmp.Compare(a.took, b.took) })
	part := partOf(list)
	return slices.DeleteFunc(list, func(p *sheet) bool {
		looks := (p.took + part - 1) / part // how many parts it took
		return looks > 1 && now.Sub(p.begun) < looks*usageEvery
	})
}

// partOf returns how much of usageTime each sheet may take at most, of sheets in
// the order of what they take. It is never less than an equal part of all.
func partOf(sheets []*sheet) time.Duration {
	left := usageTime
	for i, p := range sheets {
		part := left / time.Duration(len(sheets)-i)
		if p.took > part {
			return part
		}
		left -= p.took
	}
	return usageTime
}

// lookAtPool makes a sheet anew. What is new at every look, the time and what it
// is as of, is no change. One that cannot be made now stays as it was.
func (b *board) lookAtPool(ctx context.Context, p *sheet) {
	p.begun = time.Now()
	defer func() { p.took = time.Since(p.begun) }()
	u, err := b.engine.Usage(ctx, p.pool)
	if errors.Is(err, ErrNotFound) {
		p.version = 0
	}
	if err != nil {
		return
	}
	bare := *u
	bare.GeneratedAt, bare.AsOf = 0, questions.AsOf{}
	if now := bare.Append(make([]byte, 0, len(p.bare))); p.become(b.usageAt+1, now) {
		doc := u.Append(append(make([]byte, 0, len(now)+128), `{"usage":`...))
		p.doc = append(doc, '}')
	}
}

// writeUsage writes the sheets that have a document. All that are new since the
// last time have one version.
func (b *board) writeUsage(sheets []sheet) {
	there := slices.DeleteFunc(slices.Clone(sheets), func(p sheet) bool { return p.version == 0 })
	at := b.usageAt
	for i := range there {
		at = max(at, there[i].version)
	}
	b.write(func() bool {
		fresh := at > b.usageAt
		b.usage, b.usageAt = there, at
		return fresh
	})
}
