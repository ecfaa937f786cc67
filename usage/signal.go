package usage

import "github.com/quotashare/quotashare/quota"

// Signal is what a provider says about one window of a connection, whether the
// plan has a dimension for it or not.
type Signal struct {
	ConnectionID string
	Window       quota.Window // quota.Rate too
	Scope        string       // its models have this in their names; "" = all models
	Observed     int64        // when the provider last spoke of it, epoch ms
	// Known says that what it said stands; all below is unknown otherwise.
	Known   bool
	Used    quota.Amount // unit percent, 100e6 is all of it, and more is possible
	ResetAt int64        // of Used, epoch ms; 0 = not said
	// Split is given for all models only: nothing is split by a scope.
	Split
	// Drift is how many points the provider has more than we know of: more than
	// our own count makes in percent of the connection's limit, or where no limit
	// is known, more than the points that our keys caused.
	Drift    quota.Amount
	HasDrift bool
}

// Split is the points of a provider's window: those that keys caused, and the
// rest, which are nobody's. Together they are what is used of it.
type Split struct {
	HasSplit     bool
	Attributed   quota.Amount // unit percent
	Unattributed quota.Amount // unit percent
}

// Percent returns an amount, which is not negative, in percent of the limit,
// floored to its step; more than 100 when it is more than the limit. ok is false
// when the limit is unknown.
//
//	amount × 100 / limit, in millionths: amount × 1e8 / limit
//
// needs 91 bits. A quotient beyond int64 is held at its end.
func Percent(amount, limit quota.Amount) (percent quota.Amount, ok bool) {
	if limit <= 0 {
		return 0, false
	}
	return quota.Amount(mulDiv(int64(amount), 100*quota.Percent.Scale(), int64(limit))), true
}

func (w *writer) signal(s *Signal) {
	w.Object()
	w.text("connectionId", s.ConnectionID)
	w.text("window", s.Window.String())
	if s.Scope != "" {
		w.text("scope", s.Scope)
	}
	w.amount("usedPercent", s.Used, quota.Percent, s.Known)
	w.known("resetAt", s.ResetAt)
	w.instant("observedAt", s.Observed)
	w.split(&s.Split)
	w.amount("drift", s.Drift, quota.Percent, s.HasDrift)
	word := "none"
	if s.Known {
		word = "fresh"
	}
	w.text("signal", word)
	w.End()
}

func (w *writer) split(s *Split) {
	w.amount("attributed", s.Attributed, quota.Percent, s.HasSplit)
	w.amount("unattributed", s.Unattributed, quota.Percent, s.HasSplit)
}
