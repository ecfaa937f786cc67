package fairshare

import (
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// AnyConnection as Question.Connection asks for the pool: the account is not
// chosen yet.
const AnyConnection = -1

// Question is what is asked, with the names already looked up. It does not
// change while the Facts gathered for it are in use.
type Question struct {
	Pool       *plans.Resolved // nil: the connection is in no pool
	Allocation int             // Pool.Allocation(APIKeyID)
	Connection int             // index in pool order, or AnyConnection
	APIKeyID   string
	Model      string // "" = not named
	Estimate   quota.Amounts
	Threshold  quota.Ratio // strict from here on
	SoftFactor quota.Ratio // of a deprioritized answer
	RoomAt     int64       // first instant with room for one more hold, 0 = now; only of a question that reserves
	PlaceAt    []int64     // of it too: by connection, first instant with a place on it, 0 = now; nil = all have places
	// NotBefore, when set, is the first instant at which a hold may be opened whatever
	// the rules say and wherever it is: the wait of the request is over, and nothing is
	// held for it. A pool that only observes, or is off, blocks then, too.
	NotBefore int64
	Explain   bool // Facts.Explain is to show who caused what the provider says
	// NoRetry says that the facts are for Judge alone and the question names its
	// connection, as a fold that nobody waits for does. Then the list of the holds is
	// not asked for, and the retry instant of Decide means nothing.
	NoRetry bool
	// Brief says that the facts are for this instant alone, and neither for Explain nor
	// for Promises. Under the rule guarantee the other keys are looked at then where the
	// outcome, or the end of a block, depends on what each of them used.
	Brief bool
	// Crowd, when set, is where the facts of all questions that share it have how the
	// allocations stand.
	Crowd *Crowd
}

// Counters is the state a question is judged on. Connections are named by
// their index in the pool; the asker, its model and the pool are known to the
// implementation. All calls are made from within one Gather.
type Counters interface {
	// Key is the asker's counter. When the asker's allocation is that of
	// quota.AllOthers it is that of all unlisted keys, see windows.Others.
	Key(conn int, u quota.Unit, w quota.Window) windows.Counter
	// Total is the counter over all keys of the connection, in the pool or not.
	Total(conn int, u quota.Unit, w quota.Window) windows.Counter
	// Model is the asker's hourly counter of the asked model. It is called for
	// a key with model caps only, and means that key alone, never the others.
	Model(conn int, u quota.Unit) windows.Counter
	// As is the same state as the keys of another allocation of the pool would ask it, by
	// its index: Key, the part in Reading, and what Held has of the asker are theirs. It
	// is called for pools of the rule guarantee, and good until it is called again.
	As(allocation int) Counters
	// Reading is what the provider says without a scope; the zero Reading when
	// it said nothing.
	Reading(conn int, w quota.Window) Reading
	// Scoped appends what the provider says for the scopes that the asked
	// model's name contains. It is called only when a model is named.
	Scoped(conn int, w quota.Window, dst []Level) []Level
	// Held sums what the open holds on the pool's connections hold of a unit at
	// instant now, each with at most most (0 = with all it holds), except the one
	// that the question would replace. The sum stays at the largest amount
	// instead of passing it.
	Held(u quota.Unit, most quota.Amount, whose Whose, now int64) quota.Amount
	// Holds appends the same holds one by one, in any order. One whose lease is over
	// is not counted, appended or not. It is called only for a question that is
	// blocked: to let pass, the sums do.
	Holds(dst []Hold) []Hold
}

// Level is a value that the provider gave for one window, in points of its
// 100, and how long it stands.
type Level struct {
	Used quota.Amount // unit percent
	// Until is the first instant at which it is unknown again: the reset, or
	// the end of its life-time without a newer word. 0 = there is none.
	Until    int64
	ResetAt  int64 // as the provider says, 0 = it does not
	Observed int64 // instant of the newest word taken in
}

// larger returns the larger of two levels at instant now; the zero Level when
// neither stands.
func (l Level) larger(m Level, now int64) Level {
	if now >= l.Until {
		l = Level{}
	}
	if now < m.Until && (l.Until == 0 || m.Used > l.Used) {
		return m
	}
	return l
}

// Reading is what is known from the provider about one window of one
// connection. The zero Reading knows nothing.
type Reading struct {
	Current Level // the open cycle
	Other   Level // another window remembered beside it
	// Part is what the asker has of the cycle, in points; it stands until
	// PartUntil, 0 = the cycle gives no parts. PartAt is the latest time of the
	// usage, of any key, that it was worked out from; 0 = there was none.
	Part      quota.Amount
	PartUntil int64
	PartAt    int64
	// Attributed is what all keys have of the cycle, in points; it stands as long
	// as Part does. Only Question.Explain needs it, of the connections that may
	// answer, for it takes a step for every key; else it may be 0.
	Attributed quota.Amount
}

// at returns the level that counts at instant now; Until 0 when it is unknown.
func (r *Reading) at(now int64) Level { return r.Current.larger(r.Other, now) }

// later reports whether what the provider said lies after instant at.
func (r *Reading) later(at int64) bool { return max(r.Current.Observed, r.Other.Observed) > at }

// partLater reports whether the part that counts at instant at was worked out
// from later usage. That of one key changes the parts of all.
func (r *Reading) partLater(at int64) bool { return at < r.PartUntil && r.PartAt > at }

// split returns the points of the level at instant now that keys caused and
// those that none did; ok is false when the level is unknown.
func (r *Reading) split(now int64) (attributed, unattributed quota.Amount, ok bool) {
	level := r.at(now)
	if level.Until == 0 {
		return 0, 0, false
	}
	if now < r.PartUntil {
		attributed = r.Attributed
	}
	return attributed, level.Used - attributed, true
}
