package decider

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

const (
	maxBlocks = 256
	// blockSpan is how long equal blocks are one row, in ms. A row is shown when
	// it is over, so that it is shown once.
	blockSpan = 1000
)

// blocks are the newest rows of requests that were blocked. Nobody waits here: a
// block that finds the rows in use is counted as missed. Allows never come here.
type blocks struct {
	missed atomic.Uint64

	mu   sync.Mutex
	last uint64 // number of the newest row
	rows [maxBlocks]blockRow
	open map[blockKey]uint64 // number of the newest row of each key
}

type blockRow struct {
	blockKey
	httpapi.Block
}

// blockKey is what equal blocks have in common.
type blockKey struct {
	key, connection, pool string
	reason                string
	binding               questions.Binding
	would                 bool
}

func (b *blocks) at(seq uint64) *blockRow { return &b.rows[seq%maxBlocks] }

// add takes in an answer that blocks, or would; now is epoch ms.
func (b *blocks) add(q *questions.Question, a *projector.Asked, r *questions.Reply, now int64) {
	if !b.mu.TryLock() {
		b.missed.Add(1)
		return
	}
	defer b.mu.Unlock()
	key := blockKey{key: q.APIKeyID, connection: q.ConnectionID, reason: r.Reason, binding: r.Binding, would: r.WouldBlock}
	if a.Pool != nil {
		key.pool = a.Pool.ID
	}
	if seq := b.open[key]; seq != 0 && !over(b.at(seq).Time, now) {
		row := b.at(seq)
		row.Count++
		if row.Model != q.Model {
			row.Model = "" // that of one would be taken for that of all
		}
		return
	}
	b.push(key, q, r, now)
}

// over reports whether a row that began at that time takes nothing more in. A
// clock that was set back ends it too: it would stay open until then.
func over(began, now int64) bool { return now < began || now >= began+blockSpan }

// push begins a row in the place of the oldest. Texts of a question are parts
// of a message, which they would keep.
func (b *blocks) push(key blockKey, q *questions.Question, r *questions.Reply, now int64) {
	key.key, key.connection = strings.Clone(key.key), strings.Clone(key.connection)
	key.binding.Model = strings.Clone(key.binding.Model)
	b.last++
	row := b.at(b.last)
	if b.open[row.blockKey] == row.Seq {
		delete(b.open, row.blockKey)
	}
	row.blockKey = key
	row.Block = httpapi.Block{
		Seq: b.last, Time: now, APIKeyID: key.key, ConnectionID: key.connection, PoolID: key.pool,
		Model: strings.Clone(q.Model), Reason: key.reason, Binding: key.binding, HasBinding: r.HasBinding,
		RetryAt: r.RetryAt, DecisionID: r.DecisionID, Count: 1, WouldBlock: key.would,
	}
	if b.open == nil {
		b.open = make(map[blockKey]uint64, maxBlocks)
	}
	b.open[key] = b.last
}

// after returns the rows after that number which are over at now, oldest first.
func (b *blocks) after(seq uint64, now int64) (list []httpapi.Block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last > maxBlocks {
		seq = max(seq, b.last-maxBlocks)
	}
	for seq++; seq <= b.last && over(b.at(seq).Time, now); seq++ {
		list = append(list, b.at(seq).Block)
	}
	return list
}

// Process implements httpapi.Watched.
func (e *Engine) Process() string { return strings.TrimSuffix(e.ids.prefix, "-") }

// Blocks implements httpapi.Watched.
func (e *Engine) Blocks(after uint64) []httpapi.Block { return e.blocks.after(after, e.now()) }
