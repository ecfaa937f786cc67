package lab

import "math/rand/v2"

// Line is what came of many runs of one rule and kind.
type Line struct {
	Kind Kind
	Rule Rule
	Figures
}

// Table lets so many pools by chance run under each rule, in both kinds, and returns a line
// for each rule and kind, the rules in their order, of each first Anchored. done, unless it
// is nil, is called after every pool. Pools are the same for every rule, and follow from
// the seed.
func Table(seed uint64, pools int, rules []Rule, done func()) ([]Line, error) {
	tallies := make([]Tally, 2*len(rules))
	for p := range pools {
		s := Random(p, rand.New(rand.NewPCG(seed, uint64(p))))
		for i := range tallies {
			res, err := Run(s, kindOf(i), rules[i/2], rand.New(rand.NewPCG(^seed, uint64(p))))
			if err != nil {
				return nil, err
			}
			tallies[i].Add(&res.Figures)
		}
		if done != nil {
			done()
		}
	}
	lines := make([]Line, len(tallies))
	for i := range lines {
		lines[i] = Line{kindOf(i), rules[i/2], tallies[i].Figures()}
	}
	return lines, nil
}

// kindOf is the kind of the i-th line.
func kindOf(i int) Kind {
	if i%2 == 0 {
		return Anchored
	}
	return Sliding
}
