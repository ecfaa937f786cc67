package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/lab"
	"github.com/quotashare/quotashare/quota"
)

// saySimulated prints a table for each kind of window, and then what follows from it.
func saySimulated(w io.Writer, found []compared, files []string) error {
	for i, b := range found {
		if i > 0 && found[i-1].Kind == b.Kind {
			continue
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s, in %% of the limit\n", kindWords(b.Kind))
		if err := sayKind(w, found[i:]); err != nil {
			return err
		}
	}
	sayLosses(w, found)
	sayPromises(w, found)
	for _, f := range files {
		fmt.Fprintf(w, "drawn: %s\n", f)
	}
	return nil
}

func kindWords(k lab.Kind) string {
	if k == lab.Anchored {
		return "anchored: the cycle of a provider"
	}
	return "sliding: a rolling window of ours"
}

// sayKind prints the blocks of the kind of the first.
func sayKind(w io.Writer, found []compared) error {
	rows := [][]string{{"SCENARIO", "RULE", "SERVED", "GAP", "JAIN", "WAIT, % OF W", "IN VAIN", "BROKEN", "OVER"}}
	for i := range found {
		b := &found[i]
		if b.Kind != found[0].Kind {
			break
		}
		name := configfile.Show(b.Name)
		if n := b.Rows[0].Runs; n > 1 {
			name = fmt.Sprintf("%s, %d pools", name, n)
		}
		for k := range b.Rows {
			rows = append(rows, append([]string{name}, cells(b, &b.Rows[k])...))
			name = ""
		}
	}
	return table(w, rows...)
}

func cells(b *compared, r *ruled) []string {
	return []string{
		r.Rule.Name, points(r.Served), points(r.Gap), fixed(int64(r.Jain), int64(quota.RatioOne), 3),
		fixed(r.WaitMs*100, b.Window.Millis(), 0), count(int64(r.GaveUp)), brokenOf(&r.Figures), count(int64(r.Over)),
	}
}

func brokenOf(f *lab.Figures) string {
	if f.Broken == 0 {
		return "0"
	}
	return fmt.Sprintf("%d of %d", f.Broken, f.Claims)
}

// points writes a part in percent with two decimals, rounded.
func points(r quota.Ratio) string { return fixed(int64(r)*100, int64(quota.RatioOne), 2) }

// fixed writes a / b with so many decimals, rounded. Neither is negative, b is not 0, and a
// is small enough to be a thousand times as large.
func fixed(a, b int64, digits int) string {
	scale := int64(1)
	for range digits {
		scale *= 10
	}
	n := (a*scale + b/2) / b
	if digits == 0 {
		return count(n)
	}
	return fmt.Sprintf("%d.%0*d", n/scale, digits, n%scale)
}

// sayLosses says of every rule where one of another kind does better: its own knob is what
// the table is for.
func sayLosses(w io.Writer, found []compared) {
	first := found[0].Rows
	if !slices.ContainsFunc(first, func(r ruled) bool { return ruleName(r.Rule) != ruleName(first[0].Rule) }) {
		return
	}
	fmt.Fprintf(w, "\nwhere each rule loses to one of another kind, by %s points or more:\n", points(leastLoss))
	for rule, r := range first {
		all := losses(found, rule)
		if len(all) == 0 {
			fmt.Fprintf(w, "- %s: nowhere\n", r.Rule.Name)
			continue
		}
		fmt.Fprintf(w, "- %s:\n", r.Rule.Name)
		for _, l := range all {
			fmt.Fprintf(w, "    %s\n", l.String())
		}
	}
}

// sayPromises says what became of the promises in all runs together.
func sayPromises(w io.Writer, found []compared) {
	fmt.Fprintln(w, "\npromises broken, of those that the rule guarantee makes:")
	over := 0
	for rule, r := range found[0].Rows {
		var all lab.Figures
		for i := range found {
			f := &found[i].Rows[rule].Figures
			all.Broken, all.Claims, over = all.Broken+f.Broken, all.Claims+f.Claims, over+f.Over
		}
		fmt.Fprintf(w, "- %s: %d of %d\n", r.Rule.Name, all.Broken, all.Claims)
	}
	fmt.Fprintf(w, "let pass beyond a limit: %d times\n", over)
}
