// Package retention plans what may be deleted: snapshots, messages of the log, and
// records of the state. A plan is a function of settings and of what there is; it
// has its steps in an order in which a crash between any two, or in one, loses
// nothing, and doing it again from the start ends where it would have.
//
// Instants are log time and ages are milliseconds, unless a name says otherwise.
package retention

import (
	"errors"
	"fmt"

	"github.com/quotashare/quotashare/quota"
)

const dayMillis int64 = 86_400_000

// Settings say how long things are kept.
type Settings struct {
	// Newest is how many of the newest snapshots are kept. Of one alone the log
	// could have lost what comes before it, and then it must not be damaged.
	Newest int
	// Spacing is how far older snapshots are apart that are kept back to the
	// purge's age. Without them none would ever become old: each would be deleted
	// when Newest others are there.
	Spacing int64
	// Counters is the age at which idle counters may go: those of all windows are
	// one record. Models is that of those for a model, which are hourly.
	Counters, Models int64
	// History is the age at which a minute row may go.
	History int64
	// Purge is the age at which a message of usage, a signal or a hold may go, if
	// the snapshots no longer need it.
	Purge int64
}

const leastDays = 14 // of an idle counter

// DefaultSettings are the settings that follow from how many snapshots are kept and
// the days for which usage is.
func DefaultSettings(newest int, days int64) Settings {
	least := max(days, leastDays) * dayMillis
	s := Settings{
		Newest: newest, Spacing: 10 * dayMillis, History: days * dayMillis,
		Counters: max(2*quota.Monthly.Millis(), least), Models: max(2*quota.Hourly.Millis(), least),
	}
	s.Purge = s.Counters
	return s
}

// Validate returns every fault, joined. Horizon is the one of de-duplication, in ms.
func (s *Settings) Validate(horizon int64) error {
	var faults []error
	need := func(name string, have, least int64, why string) {
		if have < least {
			faults = append(faults, fmt.Errorf("%s: %s is too short, as %s: set it to at least %s", name, age(have), why, age(least)))
		}
	}
	if s.Newest < 2 {
		faults = append(faults, fmt.Errorf("newest: %d leaves no older snapshot for when one is damaged: keep at least 2", s.Newest))
	}
	need("spacing", s.Spacing, dayMillis, "each day's snapshot kept is many already")
	need("counters", s.Counters, 2*quota.Monthly.Millis(), "usage weighs for two windows")
	need("model counters", s.Models, 2*quota.Hourly.Millis(), "usage weighs for two windows")
	need("purge", s.Purge, 2*quota.Monthly.Millis(), "a state folded from the log alone needs two monthly windows of it")
	need("purge", s.Purge, horizon, "a duplicate of a message that is gone would count again")
	need("purge", s.Purge, s.History, "history is drawn from the messages again when a state is rebuilt")
	return errors.Join(faults...)
}

// age is a duration as people say it, whole days or hours where it is one.
func age(ms int64) string {
	switch {
	case ms == dayMillis:
		return "a day"
	case ms%dayMillis == 0:
		return fmt.Sprintf("%d days", ms/dayMillis)
	case ms%3_600_000 == 0:
		return fmt.Sprintf("%d hours", ms/3_600_000)
	}
	return fmt.Sprintf("%d ms", ms)
}
