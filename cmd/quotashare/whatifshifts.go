package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
)

// sayOutcome answers in sentences what people ask of a trial: who gets more, who less,
// and what is left. The tables have all of it.
func sayOutcome(w io.Writer, r *whatif.Report) {
	shifts := r.Shifts()
	for i := range shifts {
		s := &shifts[i]
		more, gain := shifted(s.More, "more", s.Unit)
		less, loss := shifted(s.Less, "less", s.Unit)
		fmt.Fprintf(w, "%s: %s would have been served %s, and %s %s.\n", s.Unit, more, gain, less, loss)
	}
	if len(shifts) == 0 {
		fmt.Fprintln(w, "Nobody would have been served more or less.")
	}
	for i := range r.Pools {
		p := &r.Pools[i]
		before, after := &p.Sides[whatif.Before], &p.Sides[whatif.After]
		name := fmt.Sprintf("%s/%s of pool %s", p.Unit, p.Window, configfile.Show(p.PoolID))
		if left(before, p.Unit) == left(after, p.Unit) {
			fmt.Fprintf(w, "%s: %s, on both sides.\n", name, left(before, p.Unit))
		} else {
			fmt.Fprintf(w, "%s: before %s; after %s.\n", name, left(before, p.Unit), left(after, p.Unit))
		}
	}
	fmt.Fprintln(w)
}

// shifted says who, and how much more or less.
func shifted(list []whatif.Change, how string, u quota.Unit) (who, much string) {
	switch len(list) {
	case 0:
		return "nobody", how
	case 1:
		return configfile.Show(list[0].APIKeyID), by(&list[0], u) + " " + how
	}
	return fmt.Sprintf("%d keys", len(list)), fmt.Sprintf("%s, %s the most (%s)", how, configfile.Show(list[0].APIKeyID), by(&list[0], u))
}

// by is a difference without its sign.
func by(c *whatif.Change, u quota.Unit) string { return strings.TrimPrefix(c.By().Format(u), "-") }

// left says what of a limit nobody used, and what of that somebody wanted.
func left(c *whatif.Capacity, u quota.Unit) string {
	switch {
	case c.Buckets == 0:
		return "there is no limit"
	case c.Withheld == 0:
		return c.Unused.Format(u) + " left unused, nothing while it blocked somebody"
	}
	return fmt.Sprintf("%s left unused, %s while it blocked somebody who had asked for %s of that",
		c.Unused.Format(u), c.Withheld.Format(u), c.Wanted.Format(u))
}

// mostShifts is how many keys are listed that get more, and as many that get less: the
// table before has all.
const mostShifts = 10

// sayShifts lists who gets more, and then who less.
func sayShifts(w io.Writer, shifts []whatif.Shift) error {
	if len(shifts) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	rows := [][]string{{"SERVED", "KEY", "BEFORE", "AFTER", "DIFFERENCE"}}
	for i := range shifts {
		s := &shifts[i]
		rows = append(rows, shiftRows(s.More, "+", s.Unit)...)
		rows = append(rows, shiftRows(s.Less, "", s.Unit)...)
	}
	return table(w, rows...)
}

func shiftRows(list []whatif.Change, sign string, u quota.Unit) (rows [][]string) {
	for i := range list[:min(len(list), mostShifts)] {
		c := &list[i]
		rows = append(rows, []string{u.String(), configfile.Show(c.APIKeyID), c.Before.Format(u), c.After.Format(u), sign + c.By().Format(u)})
	}
	if more := len(list) - mostShifts; more > 0 {
		rows = append(rows, []string{u.String(), "and " + strconv.Itoa(more) + " more"})
	}
	return rows
}
