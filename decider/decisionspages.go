package decider

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

// Decisions implements httpapi.Decisions. The order is that of the log, from its
// end; within a page that of time, since each process stores its rows when their
// second is over. A place in the log is what pages can be parted at with no row
// lost or told twice, however wrong some process's clock is.
func (e *Engine) Decisions(ctx context.Context, q *httpapi.DecisionQuery) ([]questions.Record, *httpapi.DecisionPlace, error) {
	p := decisionsPage{e: e, q: q}
	if q.Before != nil {
		p.place = *q.Before
	}
	// What is not stored yet is looked at first: looked at last, what is stored in
	// between would be in neither.
	full := p.takeUnstored()
	if !full {
		if err := p.takeStored(ctx); err != nil {
			return nil, nil, err
		}
	}
	slices.SortStableFunc(p.list, func(a, b questions.Record) int { return cmp.Compare(b.Time, a.Time) })
	if p.ended {
		return p.list, nil, nil
	}
	return p.list, &p.place, nil
}

// decisionsPage is a page that is being filled.
type decisionsPage struct {
	e     *Engine
	q     *httpapi.DecisionQuery
	list  []questions.Record
	place httpapi.DecisionPlace // that it reaches to
	ended bool                  // there is nothing before that
}

// takeUnstored takes what this process has not stored, the newest first, and
// reports whether there is more than the page holds. A reader who began at
// another process has nothing of here in its place, and gets none.
func (p *decisionsPage) takeUnstored() (full bool) {
	process := p.e.decisions.process
	if q := p.q.Before; q != nil && (q.Seq != 0 || q.Process != process) {
		return false
	}
	list, flight := p.e.decisions.unstored()
	list = slices.DeleteFunc(list, func(r questions.Record) bool {
		return !p.q.Wants(&r) || p.q.Before != nil && numberOf(&r) >= p.q.Before.Number
	})
	slices.SortFunc(list, func(a, b questions.Record) int { return cmp.Compare(numberOf(&b), numberOf(&a)) })
	full = len(list) > p.q.Limit
	p.list = list[:min(len(list), p.q.Limit)]
	p.place.Process = process
	if !full {
		p.place.Flight = flight
		return false
	}
	p.place.Number = numberOf(&p.list[len(p.list)-1])
	if p.q.Before == nil {
		p.place.Part = flight
	}
	return true
}

// numberOf is the number of the row's decision in its process.
func numberOf(r *questions.Record) uint64 {
	id := r.Reply.DecisionID
	n, err := strconv.ParseUint(id[strings.LastIndexByte(id, '-')+1:], 36, 64)
	if err != nil {
		return 0 // not made by newDecisionIDs
	}
	return n
}

// takeStored goes on with the log, from the place backwards.
func (p *decisionsPage) takeStored(ctx context.Context) error {
	s, err := p.e.js.Stream(ctx, ingest.DecisionsStream)
	if err != nil {
		return unreadable(err)
	}
	b := backwards{stream: s, filter: ingest.DecisionsPrefix + ">"}
	if p.q.ConnectionID != "" {
		b.filter = decisionSubject(p.q.ConnectionID)
	}
	if err := b.between(ctx, p.q.From, p.q.To); err != nil {
		return unreadable(err)
	}
	if p.place.Seq == 0 {
		p.place.Seq = b.high + 1
	}
	b.high = min(b.high, p.place.Seq) // of that message, take leaves what was given
	for len(p.list) < p.q.Limit && b.more() {
		list, err := b.next(ctx)
		if err != nil {
			return unreadable(err)
		}
		for _, m := range list {
			p.take(m)
		}
		if len(p.list) < p.q.Limit {
			p.place.Seq, p.place.Index = b.high+1, 0
		}
	}
	p.ended = len(p.list) < p.q.Limit && b.high < b.low
	return nil
}

// take takes the rows of a message that are wanted, from its end or from where
// the page before ended, as many as the page holds.
func (p *decisionsPage) take(m jetstream.Msg) {
	if len(p.list) == p.q.Limit {
		return
	}
	at, err := m.Metadata()
	if err != nil || !p.mayHave(m.Data()) {
		return
	}
	seq := at.Sequence.Stream
	rows, err := questions.ParseRecords(m.Data())
	if err != nil {
		// Whoever reaches the broker can publish there, or name such a subject for
		// the broker's reply. One stray message must not hide the others.
		p.e.o.Log.Warn("a message among the decisions is none of them", "seq", seq, "subject", m.Subject(), "err", err)
		return
	}
	if seq == p.place.Seq {
		rows = rows[:min(len(rows), p.place.Index)]
	}
	flight := flightOf(m.Headers().Get(events.HeaderMsgID))
	for i := len(rows) - 1; i >= 0 && len(p.list) < p.q.Limit; i-- {
		if p.q.Wants(&rows[i]) && !p.place.Given(flight.process, flight.number, numberOf(&rows[i])) {
			p.list = append(p.list, rows[i])
			if len(p.list) == p.q.Limit {
				p.place.Seq, p.place.Index = seq, i
			}
		}
	}
}

// mayHave reports whether the message can have a row that is wanted, from its
// bytes: to parse all costs more than to read them.
func (p *decisionsPage) mayHave(data []byte) bool {
	for _, text := range []string{p.q.APIKeyID, p.q.PoolID, p.q.DecisionID, p.q.Reason} {
		if text != "" && !bytes.Contains(data, wire.AppendJSONString(nil, text)) {
			return false
		}
	}
	return true
}
