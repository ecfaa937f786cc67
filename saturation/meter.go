package saturation

import "github.com/quotashare/quotashare/quota"

// How far apart two resets may be and still be said of one window, and by how
// much a reading must fall for the provider to have started anew.
const (
	// Jitter: providers compute a reset from their clock at each response, so
	// the resets of one window differ by seconds. The shortest window is an hour.
	Jitter int64 = 60_000 // ms

	restarted = 1e6      // 1 point or less is a new beginning however little it fell
	bigFall   = 20 * 1e6 // points that no delayed answer falls by
	fall      = 5 * 1e6  // points that count once the higher level was not said for long
)

// Meter is what one provider says about one window of one connection (and
// scope), made steady, and split among the keys that caused it. Readings come
// twice, late, from several gateways and with resets that jitter; Read decides
// what each one is.
//
// The caller brings, in log order, each reading with the life-time that a signal
// has there (Read), and each consumption of the connection (Use). What follows is
// plain arithmetic, so a replay of the log ends in the same meter.
//
// # How a fold keeps meters
//
// There is a meter from the first reading on; before that nothing is counted,
// so a connection whose provider says nothing costs nothing. A consumption goes
// to every meter without scope of its connection. Scoped meters need no Use:
// nothing is ever split by a scope.
//
// A store has one record for the Head and one for each row, under the meter, the
// number of its cycle and the key. A meter is put on a list when Changed was
// false and an operation made it true; a commit then does, for each on the list,
//
//	from, to := m.Dropped()     // delete the rows of cycles from ≤ n < to as one range
//	m.ChangedRows(func(cycle, key, u) { … })
//	m.Head.Append(record)
//	m.Saved()
//
// so a new cycle costs one range however many keys it had. Restore and PutRow
// load a meter again. A digest takes the Head with Number 0, and the Rows of the
// open cycle and then of the next, each in the order of the keys' names: numbers
// and handles are the store's.
//
// Keys are handles of the caller's. A row takes 32 bytes and its place in the
// index 10 to 21; neither has a pointer. Read, Use, PutRow and Saved run alone;
// what only looks may run beside others that do.
type Meter struct {
	Head
	width   int64  // W, ms
	local   ledger // usage in the open cycle
	next    ledger // usage from its reset on
	kept    uint64 // the oldest cycle that may have rows in the store
	changed bool   // since Saved
}

// Head is a meter without the rows of its keys.
type Head struct {
	// Number counts cycles from 1; 0 is a meter that has read nothing. The rows
	// of the cycle are stored under it, those of the next under the number after
	// it, and no number is ever used again.
	Number   uint64
	Used     quota.Amount // unit percent, the last one taken in
	ResetAt  int64        // 0 = not known
	Observed int64        // when Used was last said
	Start    int64        // observation that opened the cycle
	Pot      quota.Amount // points of Used that were caused by local usage
	// Waiting says that usage was counted since the last increase: the next one
	// goes to the pot.
	Waiting bool
	// Unpriced and NextUnpriced say that an event of the cycle, or of the next,
	// had no usd. Then usd does not split.
	Unpriced, NextUnpriced bool
	// Newest and NextNewest are the latest times of usage in the cycle, and in the
	// next, 0 = there was none. Before Newest the parts were others than now.
	Newest, NextNewest int64
	Other              Window
}

// Window is another window that the provider spoke of under the same name.
// Some answer from two of them in turn.
type Window struct {
	Used     quota.Amount
	ResetAt  int64 // 0 = there is none
	Observed int64
}

// Observation is a reading and its place.
type Observation struct {
	Used    quota.Amount // unit percent: 100 % is 100e6, and more is possible
	ResetAt int64        // epoch ms, 0 = not said
	At      int64        // when it was observed, epoch ms
	// HoldOpen: a request is in flight on the connection at the reading's place
	// in the log, so an increase can be its doing though it is not counted yet.
	HoldOpen bool
}

// Outcome is what a reading was taken for.
type Outcome uint8

// The outcomes, in the order in which they are tried but for Replaced and
// EarlyReset, which stand beside what they are told from.
const (
	Stale       Outcome = iota // older than what is known: nothing happens
	First                      // the first: taken over, nothing is attributed
	Rollover                   // the cycle was over: a new one, with the usage since its reset
	Moved                      // the same cycle ends at another time
	Replaced                   // another window stands in its place: a new cycle, the old one remembered
	OlderWindow                // of another window that ends earlier: remembered
	Advance                    // the cycle goes on
	EarlyReset                 // the provider began anew before the reset: a new cycle
	Noise                      // lower for no reason: nothing happens
)

var outcomes = [...]string{
	Stale: "stale", First: "first", Rollover: "rollover", Moved: "moved", Replaced: "rollover",
	OlderWindow: "older-window", Advance: "advance", EarlyReset: "early-reset", Noise: "noise",
}

// String returns the outcome's name; both ways to roll over have one.
func (o Outcome) String() string { return outcomes[o] }

// NewMeter returns the meter of a window that has read nothing yet.
func NewMeter(w quota.Window) *Meter { return &Meter{width: w.Millis()} }

// Read takes in one observation, ttl being the life-time of a signal in ms.
// tooFar says that its reset was ignored: no window ends more than twice its
// length ahead, so what was sent is no instant of this window.
func (m *Meter) Read(o Observation, ttl int64) (as Outcome, tooFar bool) {
	if tooFar = o.ResetAt-o.At > 2*m.width; tooFar {
		o.ResetAt = 0
	}
	as = m.classify(&o, ttl)
	switch as {
	case Stale, Noise:
		return as, tooFar
	case First:
		m.open(&o, m.Number+1)
	case Rollover:
		m.rollover(&o)
	case Moved:
		m.move(&o)
	case Replaced:
		m.Other = m.window()
		m.restart(&o)
	case OlderWindow:
		m.Other = Window{o.Used, o.ResetAt, o.At}
	case Advance:
		m.rise(o.Used-m.Used, o.HoldOpen)
		m.observe(&o)
	case EarlyReset:
		m.restart(&o)
	}
	m.changed = true
	return as, tooFar
}

// classify returns the first outcome that fits. Used is compared as it was
// said, beyond 100 too: held at 100, a plan in overdraft would stand still and
// its increases would be nobody's.
func (m *Meter) classify(o *Observation, ttl int64) Outcome {
	lower := m.Used - o.Used // ≤ 0 = it did not fall
	unseen := o.At-m.Observed > ttl
	other := o.ResetAt != 0 && m.ResetAt != 0 && !near(o.ResetAt, m.ResetAt)
	switch {
	case m.Number == 0:
		return First
	case o.At < m.Observed:
		return Stale
	case m.over(o.At):
		return Rollover
	case other && lower <= 0:
		return Moved
	case other && (o.ResetAt > m.ResetAt || unseen):
		return Replaced
	case other:
		return OlderWindow
	case lower <= 0:
		return Advance
	case o.Used <= restarted, lower >= bigFall, lower >= fall && unseen:
		return EarlyReset
	}
	return Noise
}

// near reports whether two resets can be those of one window.
func near(a, b int64) bool { return a-b <= Jitter && b-a <= Jitter }

// over reports whether the cycle's reset has come at instant t.
func (h *Head) over(t int64) bool { return h.ResetAt != 0 && t >= h.ResetAt }

// window returns the open cycle's window, to be remembered.
func (h *Head) window() Window { return Window{h.Used, h.ResetAt, h.Observed} }

// observe takes over what was said of the open cycle. A reading without a reset
// does not take away the one that is known.
func (m *Meter) observe(o *Observation) {
	m.Used, m.Observed = o.Used, o.At
	if o.ResetAt != 0 {
		m.ResetAt = o.ResetAt
	}
}

// open begins the cycle of that number without usage.
func (m *Meter) open(o *Observation, number uint64) {
	m.Head = Head{Number: number, ResetAt: m.ResetAt, Start: o.At, Other: m.Other}
	m.observe(o)
}

// rollover begins the cycle after the one that is over, with the usage that
// already came for it. Its whole first level is an increase.
func (m *Meter) rollover(o *Observation) {
	unpriced, newest := m.NextUnpriced, m.NextNewest
	m.ResetAt = 0
	m.open(o, m.Number+1)
	m.local, m.next = m.next, ledger{}
	m.Unpriced, m.Newest, m.Waiting = unpriced, newest, m.local.n > 0
	m.rise(o.Used, o.HoldOpen)
}

// restart begins a cycle in the middle of another. When it began nobody knows,
// so no usage counted so far is of it, and none is of the one that followed.
func (m *Meter) restart(o *Observation) {
	m.open(o, m.Number+2) // the one that followed has rows under the number between
	m.local, m.next = ledger{}, ledger{}
	m.rise(o.Used, o.HoldOpen)
}

// move goes on with another reset. If that is the reset of the remembered
// window, the provider has come back to it, and what it had then is no increase.
func (m *Meter) move(o *Observation) {
	before := m.Used
	if m.Other.ResetAt != 0 && near(o.ResetAt, m.Other.ResetAt) {
		before = max(before, m.Other.Used)
	}
	m.rise(o.Used-before, o.HoldOpen)
	m.observe(o)
}

// rise attributes an increase, in points: to the pot when a local cause is
// there, else to nobody. One of 0 says nothing and leaves the cause waiting:
// providers report whole points, so much usage shows up in a later one.
func (m *Meter) rise(points quota.Amount, holdOpen bool) {
	if points <= 0 {
		return
	}
	if m.Waiting || holdOpen {
		m.Pot += points // ≤ Used, the sum of all increases
	}
	m.Waiting = false
}
