package lab

import (
	"strconv"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// Whole is the limit of every dimension here: 100 points, in millionths of one.
const Whole quota.Amount = 100_000_000

// Kind is the kind of a dimension.
type Kind uint8

// The kinds: a rolling window of ours, and the provider's cycle.
const (
	Sliding Kind = iota
	Anchored
)

// String is the kind's name in reports.
func (k Kind) String() string {
	if k == Anchored {
		return "anchored"
	}
	return "sliding"
}

// Rule is a rule of sharing with its knob.
type Rule struct {
	Name      string
	Rule      plans.Rule
	Threshold quota.Ratio // of the rule threshold
	Reserve   int64       // of the rule guarantee, percent
}

// FirstCome is first come, first served.
func FirstCome() Rule { return Rule{Name: "first come", Threshold: quota.RatioOne} }

// Threshold is the rule threshold, strict from that part of the limit on.
func Threshold(at quota.Ratio) Rule { return Rule{Name: "threshold " + at.String(), Threshold: at} }

// Request is one request of a key: when it comes, in ms after the beginning of the
// scenario, and how much it uses, in millionths of a point (1..Whole).
type Request struct {
	At   int64
	Size quota.Amount
}

// Key is one API key of the pool, with an allocation of its own.
type Key struct {
	Name     string
	Weight   quota.Ratio // 0..100, in millionths of a point
	Requests []Request   // by time
}

// Scenario is a pool and everything that is asked of it.
type Scenario struct {
	Name  string
	About string // a sentence for people
	// Window is the dimension's; the scenario lasts for Windows of it, of which the first
	// Warmup are not measured.
	Window          quota.Window
	Windows, Warmup int
	// Retry is how long after a refusal a key asks again, in ms, about; at least 1.
	Retry int64
	Keys  []Key
}

// Share is what a key got in the measured windows, means over them.
type Share struct {
	Name    string
	Weight  quota.Ratio
	Share   quota.Amount // by its weight
	Asked   quota.Amount
	Optimum quota.Amount
	Served  quota.Amount
	WaitMs  int64 // the longest within its share
}

// Point is how much every key has of the limit at an instant, by its place in the
// scenario: in its cycle, or effective, before what comes at that instant.
type Point struct {
	At   int64 // ms after the beginning
	Used []quota.Amount
}

// Figures are what a run, or many, come to: see the package for what each means.
type Figures struct {
	Served, Missed, Excess, Gap quota.Ratio
	Jain                        quota.Ratio
	WaitMs                      int64 // the longest of a key within its share, until it was served
	GaveUp                      int   // how often such a key was not, in that window
	Claims, Broken              int   // of the promise
	Over                        int   // over-admissions
	Questions, Refused          int   // asked, and refused
}

// Optimum is what all keys would be served at best: all that they ask for, or the limit.
func (f *Figures) Optimum() quota.Ratio { return f.Served + f.Missed - f.Excess }

// Result is what came of a run.
type Result struct {
	Scenario string
	Kind     Kind
	Rule     Rule
	Figures
	Keys   []Share // in the scenario's order
	Points []Point // at 200 instants from the beginning on, and at the end
}

// Guarantee is the rule guarantee with that reserve, in percent.
func Guarantee(reserve int64) Rule {
	return Rule{Name: "guarantee " + strconv.FormatInt(reserve, 10), Rule: plans.Guarantee, Reserve: reserve}
}

// Rules are those that are compared when nobody says which.
func Rules() []Rule {
	return []Rule{
		FirstCome(), Threshold(quota.RatioOne / 2), Threshold(quota.RatioOne * 4 / 5), Guarantee(50), Guarantee(100), Guarantee(200),
	}
}
