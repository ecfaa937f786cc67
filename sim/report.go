package sim

import (
	"fmt"
	"strings"
)

// Thing is something worth happening: a run without it proves nothing about it.
type Thing int

// The things, by who brings them about.
const (
	// The log.
	StoredAgain Thing = iota
	SentAgain
	SentOld
	AckLost
	Reordered
	LogStopped
	ClockStood
	ClockJumped
	ClockWentBack
	RejectedConfig
	Copies
	Conflicts

	// Deciders.
	Crashed
	CrashedWithHolds
	CrashedWhileAsked
	StoreLost
	StartedLate
	BlockedAtOnce
	WrittenTogether
	NoVerdict
	VerdictAtTheLastMoment
	RefusedInTheFold
	AllowedInTheFold
	ViewsCompared
	DigestsCompared

	// Holds.
	HoldOpened
	HoldReplaced
	HoldMoved
	HoldRefused
	HoldRefusedAndLost
	HoldLate
	HoldSettled
	HoldSettledElsewhere
	SettledWithoutHold
	HoldLowered
	HoldReleased
	ReleasedNothing
	HoldExpired
	Forgotten
	HeldInNoPool
	HeldWhileOff
	HeldThoughWouldBlock
	HeldWithoutAllocation
	HeldForTheOthers
	HeldAboveLimit
	HoldOutlivedPool
	HoldFoundInNewPool
	FullToTheBrim

	// Reasons of blocks in the fold.
	BlockedCapacity
	BlockedFairShare
	BlockedReserved
	BlockedYield
	BlockedSaturated
	BlockedByReading
	BlockedCap
	BlockedModelCap
	BlockedSuspended
	Deprioritized
	RetriesProved
	WithinPromise
	WithinShare
	Borrowed
	GuaranteedRetriesProved
	CycleJudged
	CycleKept

	numThings
)

var things = [numThings]string{
	StoredAgain: "message stored again", SentAgain: "message sent again", SentOld: "old message sent again",
	AckLost: "acknowledgement lost", Reordered: "message stored after a later one", LogStopped: "log stopped",
	ClockStood: "broker's clock stood still", ClockJumped: "broker's clock jumped ahead", ClockWentBack: "broker's clock went back",
	RejectedConfig: "configuration rejected", Copies: "copy of an event", Conflicts: "other content under an id",
	Crashed: "decider crashed", CrashedWithHolds: "decider crashed with holds in flight",
	CrashedWhileAsked: "decider crashed while it was asked", StoreLost: "store lost", StartedLate: "decider started late and empty",
	BlockedAtOnce: "blocked on the view", WrittenTogether: "several holds in one message", NoVerdict: "no verdict in time",
	VerdictAtTheLastMoment: "verdict at the last moment", RefusedInTheFold: "refused in the fold after the view allowed",
	AllowedInTheFold: "allowed in the fold after the view blocked", ViewsCompared: "view compared", DigestsCompared: "digests compared",
	HoldOpened: "hold opened", HoldReplaced: "hold replaced", HoldMoved: "hold moved to another connection",
	HoldRefused: "hold refused", HoldRefusedAndLost: "second hold refused, the first one gone",
	HoldLate: "hold after it was settled", HoldSettled: "hold settled", HoldSettledElsewhere: "hold settled on another connection",
	SettledWithoutHold: "settled before the hold", HoldLowered: "hold lowered and renewed", HoldReleased: "hold released",
	ReleasedNothing: "released what is not held", HoldExpired: "lease ended", Forgotten: "request forgotten",
	HeldInNoPool: "held in no pool", HeldWhileOff: "held while the pool is off", HeldThoughWouldBlock: "held where observe would block",
	HeldWithoutAllocation: "held without an allocation", HeldForTheOthers: "held for all other keys", HeldAboveLimit: "held with more than the limit",
	HoldOutlivedPool: "hold outlived its pool", HoldFoundInNewPool: "hold found in a new pool", FullToTheBrim: "limit reached exactly",
	BlockedCapacity: "blocked: capacity", BlockedFairShare: "blocked: fair-share, above it", BlockedReserved: "blocked: fair-share, reserved", BlockedYield: "blocked: fair-share, yield",
	BlockedSaturated: "blocked: global-saturated, by the pool", BlockedByReading: "blocked: global-saturated, by the provider",
	BlockedCap: "blocked: cap-absolute", BlockedModelCap: "blocked: model-cap", BlockedSuspended: "blocked: suspended",
	Deprioritized: "deprioritized", RetriesProved: "retry instant proved",
	WithinPromise: "let pass: guaranteed", WithinShare: "let pass: ok", Borrowed: "let pass: borrowed", GuaranteedRetriesProved: "retry instant under the rule guarantee proved",
	CycleJudged: "judged by the provider's cycle", CycleKept: "kept for others in it",
}

// Things returns all things.
func Things() []Thing {
	list := make([]Thing, numThings)
	for i := range list {
		list[i] = Thing(i)
	}
	return list
}

// String returns what the thing is.
func (t Thing) String() string { return things[t] }

// Report says what a run, or several, had in it.
type Report struct {
	Messages int
	Holds    int // hold events judged
	happened [numThings]int
}

func (r *Report) count(t Thing)            { r.happened[t]++ }
func (r *Report) countMany(t Thing, n int) { r.happened[t] += n }

// Count returns how often the thing happened.
func (r *Report) Count(t Thing) int { return r.happened[t] }

// Add adds what another run had.
func (r *Report) Add(o Report) {
	r.Messages += o.Messages
	r.Holds += o.Holds
	for t := range r.happened {
		r.happened[t] += o.happened[t]
	}
}

// String lists everything that happened, a line for each thing.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8d messages, %d holds judged\n", r.Messages, r.Holds)
	for t, n := range r.happened {
		fmt.Fprintf(&b, "%8d %s\n", n, Thing(t))
	}
	return b.String()
}
