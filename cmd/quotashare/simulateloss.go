package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/lab"
	"github.com/quotashare/quotashare/quota"
)

// leastLoss is what counts as a loss.
const leastLoss = quota.RatioOne / 1_000

// loss is where a rule does worse than one of another kind: it serves less, or what it
// serves is farther from what is best.
type loss struct {
	scenario  string
	kind      lab.Kind
	served    bool // it is about what was served, else about the gap
	its, best quota.Ratio
	of        string // the rule that does best
}

func (l *loss) by() quota.Ratio { return max(l.its-l.best, l.best-l.its) }

func (l *loss) String() string {
	what := "gap"
	if l.served {
		what = "served"
	}
	return fmt.Sprintf("%s, %s: %s %s, %s with %s", configfile.Show(l.scenario), l.kind, what, points(l.its), points(l.best), l.of)
}

// losses are those of the rule of an index, the largest first. A scenario is told once for
// each kind of window, with the number of keys and the figure in which it is worst.
func losses(found []compared, rule int) (all []loss) {
	for i := range found {
		for _, l := range []loss{lossOf(&found[i], rule, true), lossOf(&found[i], rule, false)} {
			if l.by() >= leastLoss {
				all = append(all, l)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b loss) int { return cmp.Compare(b.by(), a.by()) })
	type place struct {
		scenario string
		kind     lab.Kind
	}
	told := map[place]bool{}
	return slices.DeleteFunc(all, func(l loss) bool {
		base, _, _ := strings.Cut(l.scenario, " of ")
		at := place{base, l.kind}
		again := told[at]
		told[at] = true
		return again
	})
}

// lossOf compares the rule with the best of another kind, the earlier of several.
func lossOf(c *compared, rule int, served bool) loss {
	of := func(r *ruled) quota.Ratio {
		if served {
			return -r.Served // less is worse
		}
		return r.Gap
	}
	its := &c.Rows[rule]
	best := its
	for i := range c.Rows {
		if r := &c.Rows[i]; ruleName(r.Rule) != ruleName(its.Rule) && of(r) < of(best) {
			best = r
		}
	}
	l := loss{scenario: c.Name, kind: c.Kind, served: served, its: of(its), best: of(best), of: best.Rule.Name}
	l.its, l.best = max(l.its, -l.its), max(l.best, -l.best)
	return l
}

// ruleName is the kind of a rule, whatever its knob: one of ruleNames.
func ruleName(r lab.Rule) string {
	if r == lab.FirstCome() {
		return ruleNames[0]
	}
	return r.Rule.String()
}
