package fairshare

import (
	"math"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// book is a state of one pool and one asker that is written down directly.
type book struct {
	conns []bookConn
	holds []Hold
}

type bookConn struct {
	key, total [quota.NumUnits][quota.NumWindows]windows.Counter
	model      [quota.NumUnits]windows.Counter
	readings   [quota.NumWindows]Reading
	scoped     [quota.NumWindows][]Level
}

func newBook(conns int) *book { return &book{conns: make([]bookConn, conns)} }

func (b *book) Key(conn int, u quota.Unit, w quota.Window) windows.Counter {
	return b.conns[conn].key[u][w]
}

func (b *book) As(int) Counters { return b }

func (b *book) Total(conn int, u quota.Unit, w quota.Window) windows.Counter {
	return b.conns[conn].total[u][w]
}

func (b *book) Model(conn int, u quota.Unit) windows.Counter { return b.conns[conn].model[u] }

func (b *book) Reading(conn int, w quota.Window) Reading { return b.conns[conn].readings[w] }

func (b *book) Scoped(conn int, w quota.Window, dst []Level) []Level {
	return append(dst, b.conns[conn].scoped[w]...)
}

func (b *book) Held(u quota.Unit, most quota.Amount, whose Whose, now int64) quota.Amount {
	return heldOf(b.holds, u, most, whose, now)
}

// heldOf adds the holds up one by one, to the largest amount at most.
func heldOf(holds []Hold, u quota.Unit, most quota.Amount, whose Whose, now int64) (sum quota.Amount) {
	for _, h := range holds {
		counts := map[Whose]bool{OfAll: true, OfAsker: h.Key, OfAskersModel: h.Model}[whose]
		if amount := h.Amounts[u]; counts && now < h.End {
			if most > 0 && amount > most {
				amount = most
			}
			if sum += amount; sum < 0 {
				return math.MaxInt64
			}
		}
	}
	return sum
}

func (b *book) Holds(dst []Hold) []Hold { return append(dst, b.holds...) }

// ask returns a question of the key with the default settings.
func ask(p *plans.Resolved, key string, conn int) *Question {
	s := plans.DefaultSettings()
	return &Question{
		Pool: p, Allocation: p.Allocation(key), Connection: conn, APIKeyID: key,
		Threshold: s.SaturationThreshold(), SoftFactor: s.SoftDeprioritizeFactor(),
	}
}

// gather returns the facts of a question, in the place of those of another one that
// was blocked by its holds.
func gather(q *Question, b *book, now int64) *Facts {
	f := new(Facts)
	before, holds := oneAbove(2)
	f.Gather(before, holds, benchNow)
	f.Decide(benchNow)
	f.Gather(q, b, now)
	return f
}
