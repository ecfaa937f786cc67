package guarantee

import "github.com/quotashare/quotashare/quota"

// Outcome is what the rule says of one dimension, in the order in which it is asked.
type Outcome uint8

// The outcomes that allow come first.
const (
	OK         Outcome = iota
	Guaranteed         // the asker stays inside its promise
	Borrowed           // it goes over its share, which nobody needs
	Outside            // it has no allocation, and nobody needs what it asks for
	Yield              // block: those who used less for their weight go first
	Reserved           // block: what is left is kept for keys that used less
	Full               // block: nothing is left
)

var outcomes = [...]string{
	OK: "ok", Guaranteed: "guaranteed", Borrowed: "borrowed", Outside: "", Yield: "yield", Reserved: "reserved", Full: "",
}

// String is the detail that an answer has of the outcome, "" for one that says it all.
func (o Outcome) String() string { return outcomes[o] }

// Blocks reports whether the outcome is to block.
func (o Outcome) Blocks() bool { return o >= Yield }

// Key is one allocation of the pool, as it stands in one dimension.
type Key struct {
	// Used is what it used in this period with what it holds, and Begun whether it used
	// some of that: holds do not count for it.
	Used  quota.Amount
	Begun bool
	Share quota.Amount
	// Weight is its weight, or 1 for all when all weights are 0.
	Weight int64
	// Suspended: nothing is kept for it, and what it used counts.
	Suspended bool
}

// Dimension is what one dimension is judged by at one instant.
type Dimension struct {
	Limit quota.Amount // known: above 0
	// Total is the pool's effective total with all holds, and Spent what was used in this
	// period, also by keys without an allocation, with all holds. Of a cycle they are equal.
	Total, Spent quota.Amount
	Window, Left int64 // ms
	Reserve      int64 // percent, 0..400
	Cycle        bool  // the period is the provider's cycle, else the bucket of a sliding window
	Keys         []Key
	Groups       *Groups // of Keys; nil = each of them is looked at
}

// Asker is who asks, and for what.
type Asker struct {
	Key      int // index in Keys, NoKey = without an allocation
	Estimate quota.Amount
	// Gives: it may go over its share (soft, burst), and leaves the whole promise of the
	// others alone for that.
	Gives bool
}

// Gap is how much of the gap to a key that used less for its weight is left for it when
// the pool is full, as a divisor: a sixteenth. A larger part lets larger requests in, and
// leaves more to nobody while nobody comes. In what it comes to it is no fine point: from an
// eighth to a thirty-second the gap to the best of 120 pools by chance differs by less than
// a hundredth of the limit.
const Gap = 16

// NoKey is an asker without an allocation.
const NoKey = -1

// Verdict is the outcome and how it came about.
type Verdict struct {
	Outcome  Outcome
	Used     quota.Amount // by the asker in this period, with its holds
	Over     bool         // that is more than its share
	Promised quota.Amount // that the asker can still use at once, or by the end of the bucket
	Kept     quota.Amount // Σ need + E: for others, against this question
	Headroom quota.Amount // H: left for those who used less
}

// Judge judges a question by one dimension.
func (d *Dimension) Judge(a Asker) Verdict {
	s := d.begin(a)
	switch {
	case d.Groups != nil:
		d.Groups.scan(&s)
	case a.Key == NoKey:
		s.outsider()
	default:
		s.scan()
	}
	return s.verdict()
}

// verdict compares the sums with the limit, in the order of the rule: nobody is told to
// wait for others when nothing is left for anyone. The first comparison is of all that
// still counts, T; the second of this period alone, C, because a promise is for it, and
// what the last one left behind fades by its end. The third is for sliding windows: a
// cycle comes free all at once, and then everybody begins anew.
func (s *sums) verdict() Verdict {
	v := Verdict{Promised: max(0, s.ends-s.own.Used), Kept: quota.AddSat(s.need, s.extra), Headroom: quota.AddSat(s.headroom[0], s.headroom[1])}
	v.Used, v.Over = s.own.Used, s.a.Key != NoKey && s.own.Used > s.own.Share
	d := s.d
	total := quota.AddSat(d.Total, s.x)
	switch {
	case total > d.Limit:
		v.Outcome = Full
	case quota.AddSat(quota.AddSat(d.Spent, s.x), v.Kept) > d.Limit:
		v.Outcome = Reserved
	case !d.Cycle && quota.AddSat(total, v.Headroom) > d.Limit:
		v.Outcome = Yield
	case s.a.Key == NoKey:
		v.Outcome = Outside
	case s.within:
		v.Outcome = Guaranteed
	case s.after > s.own.Share:
		v.Outcome = Borrowed
	}
	return v
}
