package lab

import "github.com/quotashare/quotashare/quota"

// Tally adds up runs: means of the parts, the longest wait, and counts.
type Tally struct {
	Runs int
	sum  Figures
}

// Add takes a run in.
func (t *Tally) Add(f *Figures) {
	t.Runs++
	s := &t.sum
	s.Served, s.Missed, s.Excess, s.Gap, s.Jain = s.Served+f.Served, s.Missed+f.Missed, s.Excess+f.Excess, s.Gap+f.Gap, s.Jain+f.Jain
	s.WaitMs, s.GaveUp = max(s.WaitMs, f.WaitMs), s.GaveUp+f.GaveUp
	s.Claims, s.Broken, s.Over = s.Claims+f.Claims, s.Broken+f.Broken, s.Over+f.Over
	s.Questions, s.Refused = s.Questions+f.Questions, s.Refused+f.Refused
}

// Figures are those of all runs; there is one at least.
func (t *Tally) Figures() Figures {
	f, n := t.sum, quota.Ratio(t.Runs)
	f.Served, f.Missed, f.Excess, f.Gap, f.Jain = f.Served/n, f.Missed/n, f.Excess/n, f.Gap/n, f.Jain/n
	return f
}
