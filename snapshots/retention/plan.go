package retention

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quotashare/quotashare/quota"
)

// Snapshot is one that can be used, by its header: a caller leaves out what is
// damaged, so that it never counts as one of those kept.
type Snapshot struct {
	Seq     uint64 `json:"seq"`
	LogTime int64  `json:"logTime"` // epoch ms
}

// Log is what the log has.
type Log struct {
	First uint64 // the oldest message's sequence
	Last  uint64 // the newest message's
	// Young is the sequence of the first message that is not older than the
	// purge's age, Last + 1 when all are older.
	Young uint64
	// Ahead is the sequence of the first message that is ahead of Have.Clock by more
	// than MostAhead; it matters only when Have.Now is.
	Ahead uint64
}

// Have is what there is.
type Have struct {
	Now       int64      // log time, epoch ms
	Clock     int64      // of the program that plans, epoch ms
	Horizon   int64      // of de-duplication, ms
	Snapshots []Snapshot // of this program
	// Unusable are the sequences of snapshots of this program that are damaged, of
	// other rules or of another log. They go once enough others can be used.
	Unusable []uint64
	// Shared are those that all programs of the log have in common. They are
	// not removed by this plan, and need what follows them as much.
	Shared []Snapshot
	Log    Log
}

// Action is what a step does.
type Action string

// The actions, in the order in which a plan has them: what a purge relies on being
// unused is gone before it; the state, which can be rebuilt, comes after. De-dup
// entries are not among them: they go by the fold, day by day.
const (
	RemoveSnapshot Action = "remove-snapshot" // of Seq
	PurgeLog       Action = "purge-log"       // usage, signals and holds below Seq
	DropCounters   Action = "drop-counters"   // last changed before Before, and read 0
	DropModels     Action = "drop-models"     // counters for models, as well
	DropHistory    Action = "drop-history"    // minute rows of days that end before Before
)

// Step is one thing to do. Done twice it does nothing more.
type Step struct {
	Action Action `json:"action"`
	Seq    uint64 `json:"seq,omitempty"`
	Before int64  `json:"before,omitempty"` // epoch ms, exclusive
	Why    string `json:"why"`
}

// Kept is a snapshot that stays, and why.
type Kept struct {
	Snapshot
	Why string `json:"why"`
}

// Plan is what stays and what goes. It is data: it can be stored before it is
// executed, and taken up after a crash from its first step.
type Plan struct {
	Now   int64  `json:"now"`  // epoch ms
	Keep  []Kept `json:"keep"` // the newest first
	Steps []Step `json:"steps"`
}

// MostAhead is how far log time may be ahead of the clock of who plans, in ms. Clocks
// that are looked after differ by less than a second, and an hour is nothing beside the
// ages here.
const MostAhead int64 = 3_600_000

// Ahead reports whether a log time is so far ahead of a clock that one of them must be
// wrong. Ages by it would be too, and log time never falls: one message that a broker
// stored while its clock was ahead makes all that is before it old, for good.
func Ahead(logTime, clock int64) bool { return logTime-clock > MostAhead }

// timely refuses a log time that is ahead. The text has no clock in it, so that it is the
// same for as long as nothing changes.
func (h *Have) timely() error {
	if !Ahead(h.Now, h.Clock) {
		return nil
	}
	cure := fmt.Sprintf("if a broker's was when it stored message %d, take that out of the log", h.Log.Ahead)
	if h.Log.Ahead > h.Log.Last {
		cure = "else the log has no such message any more, and this program's state has to be folded again"
	}
	return fmt.Errorf("log time: is %s, more than an hour ahead of this program's clock: nothing is deleted, as everything would seem old: "+
		"if the clock of this machine is wrong, set it; %s, as docs/RETENTION.md says", quota.FormatInstant(h.Now), cure)
}

// Make plans. An error says why the settings cannot be followed, or why ages cannot be
// believed; then nothing may be deleted.
func Make(s Settings, have Have) (Plan, error) {
	p := Plan{Now: have.Now}
	if err := cmp.Or(s.Validate(have.Horizon), have.timely()); err != nil {
		return p, err
	}
	p.sort(&s, newestFirst(have.Snapshots))
	for _, seq := range have.Unusable {
		if len(p.Keep) >= s.Newest {
			p.add(Step{Action: RemoveSnapshot, Seq: seq, Why: "it cannot be used, and enough others can"})
		}
	}
	p.purge(&s, &have)
	p.drop(&s)
	return p, nil
}

// sort says which of the list, newest first, stay, and plans to remove the others.
func (p *Plan) sort(s *Settings, list []Snapshot) {
	anchor := anchorOf(list, p.Now-s.Purge)
	for i, n := range list {
		switch why := p.reason(s, list, i, anchor); {
		case why != "":
			p.Keep = append(p.Keep, Kept{n, why})
		case i > anchor:
			p.add(Step{Action: RemoveSnapshot, Seq: n.Seq, Why: "a newer one is older than " + age(s.Purge)})
		default:
			p.add(Step{Action: RemoveSnapshot, Seq: n.Seq, Why: "an older one is kept of its stretch of " + age(s.Spacing)})
		}
	}
}

// anchorOf returns the place of the newest snapshot from which every instant since
// the cutoff can be folded, of the oldest one when there is none so old.
func anchorOf(list []Snapshot, cutoff int64) int {
	i := slices.IndexFunc(list, func(n Snapshot) bool { return n.LogTime <= cutoff })
	if i < 0 {
		return len(list) - 1
	}
	return i
}

// reason says why the i-th newest snapshot stays; empty when it does not. Of each
// stretch the oldest stays, as it does not change when another comes.
func (p *Plan) reason(s *Settings, list []Snapshot, i, anchor int) string {
	switch {
	case i < s.Newest:
		return fmt.Sprintf("it is one of the %d newest", s.Newest)
	case i > anchor:
		return ""
	case i == anchor:
		return "what windows, history and audits reach back to begins with it"
	case stretch(list[i], s) != stretch(list[i+1], s):
		return "it is the oldest of its stretch of " + age(s.Spacing)
	}
	return ""
}

// Crowded returns the sequences of the snapshots that are not of the newest, and beside
// which an older one of their stretch stays: any plan would remove them, so they can go
// as soon as another is taken. Those that go for their age are left to a plan: this one
// knows no instant, and no clock that is wrong makes it wrong.
func Crowded(s Settings, have []Snapshot) (seqs []uint64) {
	list := newestFirst(have)
	for i := s.Newest; i+1 < len(list); i++ {
		if stretch(list[i], &s) == stretch(list[i+1], &s) {
			seqs = append(seqs, list[i].Seq)
		}
	}
	return seqs
}

func newestFirst(have []Snapshot) []Snapshot {
	list := slices.Clone(have)
	slices.SortFunc(list, func(a, b Snapshot) int { return cmp.Compare(b.Seq, a.Seq) })
	return list
}

func stretch(n Snapshot, s *Settings) int64 {
	q := n.LogTime / s.Spacing
	if n.LogTime%s.Spacing < 0 {
		q-- // Go rounds towards 0
	}
	return q
}

// purge plans to delete messages: those older than the age that each snapshot that
// stays has, but not the log's newest. With fewer snapshots than are to be kept
// nothing goes, as the log stands in for them.
func (p *Plan) purge(s *Settings, have *Have) {
	if len(p.Keep) < s.Newest {
		return
	}
	oldest := p.Keep[len(p.Keep)-1].Seq
	for _, n := range have.Shared {
		oldest = min(oldest, n.Seq)
	}
	// The oldest snapshot's own message stays: a reader recognises the log by it.
	below := min(oldest, have.Log.Young, have.Log.Last)
	if below <= have.Log.First {
		return
	}
	p.add(Step{Action: PurgeLog, Seq: below, Why: fmt.Sprintf(
		"snapshot %d, the oldest, has them, and they are older than %s", oldest, age(s.Purge),
	)})
}

// drop plans what of the state goes. Whoever executes it looks at what counters read
// too: usage may be ahead of the log time at which it was folded.
func (p *Plan) drop(s *Settings) {
	idle := func(a int64) string { return "they have not changed for " + age(a) + " and read 0" }
	p.add(Step{Action: DropCounters, Before: p.Now - s.Counters, Why: idle(s.Counters)})
	p.add(Step{Action: DropModels, Before: p.Now - s.Models, Why: idle(s.Models)})
	p.add(Step{Action: DropHistory, Before: p.Now - s.History, Why: "history is kept for " + age(s.History)})
}

func (p *Plan) add(s Step) { p.Steps = append(p.Steps, s) }
