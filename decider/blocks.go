package decider

import (
	"strings"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/questions"
)

const (
	// maxBlocks is how many of the newest blocks those who watch may look back at.
	maxBlocks = 256
	// blockSpan is how long equal blocks are one row, in ms. A row is shown when
	// it is over, so that it is shown once.
	blockSpan = 1000
)

// blockKey is what equal blocks have in common.
type blockKey struct {
	key, connection, pool string
	reason                string
	binding               questions.Binding
	would                 bool
	routed                bool
	candidates            string // of a route; ids have no zero bytes
}

func blockKeyOf(q *questions.Question, pool string, r *questions.Reply) blockKey {
	k := blockKey{key: q.APIKeyID, connection: q.ConnectionID, pool: pool, reason: r.Reason, binding: r.Binding, would: r.WouldBlock, routed: q.Routed()}
	for i := range q.Candidates {
		k.candidates += q.Candidates[i].ConnectionID + "\x00"
	}
	return k
}

// recent are the newest rows that block, by number.
type recent struct {
	last uint64 // number of the newest row
	rows [maxBlocks]*row
}

func (b *recent) at(seq uint64) **row { return &b.rows[seq%maxBlocks] }

// push numbers a row and puts it in the place of the oldest.
func (b *recent) push(r *row) {
	b.last++
	r.block = b.last
	*b.at(b.last) = r
}

// after returns the rows after that number which are over at now, oldest first.
func (b *recent) after(seq uint64, now int64) (list []httpapi.Block) {
	if b.last > maxBlocks {
		seq = max(seq, b.last-maxBlocks)
	}
	for seq++; seq <= b.last; seq++ {
		r := *b.at(seq)
		if !over(r.Time, now) {
			break
		}
		list = append(list, r.shown())
	}
	return list
}

// shown is the row as those who watch see it.
func (r *row) shown() httpapi.Block {
	b := httpapi.Block{
		Seq: r.block, Time: r.Time, APIKeyID: r.Question.APIKeyID, ConnectionID: r.Question.ConnectionID, PoolID: r.PoolID,
		Reason: r.Reply.Reason, Binding: r.Reply.Binding, HasBinding: r.Reply.HasBinding,
		RetryAt: r.Reply.RetryAt, DecisionID: r.Reply.DecisionID, Count: r.Count, WouldBlock: r.Reply.WouldBlock,
	}
	if !r.models {
		b.Model = r.Question.Model
	}
	return b
}

// Process implements httpapi.Watched.
func (e *Engine) Process() string { return strings.TrimSuffix(e.ids.prefix, "-") }

// Blocks implements httpapi.Watched.
func (e *Engine) Blocks(after uint64) []httpapi.Block { return e.decisions.after(after, e.now()) }
