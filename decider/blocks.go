package decider

import (
	"strconv"
	"strings"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

const (
	// maxBlocks is how many of the newest blocks those who watch may look back at.
	maxBlocks = 256
	// blockSpan is how long equal blocks are one row, in ms. A row is shown when
	// it is over, so that it is shown once.
	blockSpan = 1000
)

// blockKey is what equal blocks have in common: the whole question but for the name of
// the request, which callers make anew for each try; who is asked about and by whose
// rules; and of the reply what decided, and what is wrong with it. The message and the
// instant to come back at follow from that, and from where each was answered.
type blockKey struct {
	key, connectionID, poolID, model, route string
	candidates                              string
	estimate                                quota.Amounts
	reserve, explain                        bool
	lease, maxWait                          int64
	minSeq                                  uint64

	connection, pool string
	reason, detail   string
	binding          questions.Binding
	would, local     bool
	degraded         string
}

func blockKeyOf(q *questions.Question, a *about, r *questions.Reply) blockKey {
	return blockKey{
		key: q.APIKeyID, connectionID: q.ConnectionID, poolID: q.Pool, model: q.Model, route: q.Route, candidates: candidatesOf(q),
		estimate: q.Estimate, reserve: q.Reserve, explain: q.Explain, lease: q.LeaseMs, maxWait: q.MaxWaitMs, minSeq: q.MinSeq,
		connection: a.connection, pool: a.pool, reason: r.Reason, detail: r.Detail, binding: r.Binding, would: r.WouldBlock, local: a.local,
		degraded: strings.Join(r.Degraded, " "),
	}
}

// candidatesOf are those of a route with what each is worth, in one text: ids have no
// zero bytes.
func candidatesOf(q *questions.Question) string {
	var b []byte
	for i := range q.Candidates {
		c := &q.Candidates[i]
		b = append(append(b, c.ConnectionID...), 0)
		if c.HasScore {
			b = strconv.AppendInt(b, int64(c.Score), 10)
		}
		b = append(b, 0)
	}
	return string(b)
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
	return httpapi.Block{
		Seq: r.block, Time: r.Time, APIKeyID: r.Question.APIKeyID, ConnectionID: r.Question.ConnectionID, PoolID: r.PoolID, Model: r.Question.Model,
		Reason: r.Reply.Reason, Binding: r.Reply.Binding, HasBinding: r.Reply.HasBinding,
		RetryAt: r.Reply.RetryAt, DecisionID: r.Reply.DecisionID, Count: r.Count, WouldBlock: r.Reply.WouldBlock,
	}
}

// Process implements httpapi.Watched.
func (e *Engine) Process() string { return strings.TrimSuffix(e.ids.prefix, "-") }

// Blocks implements httpapi.Watched.
func (e *Engine) Blocks(after uint64) []httpapi.Block { return e.decisions.after(after, e.now()) }
