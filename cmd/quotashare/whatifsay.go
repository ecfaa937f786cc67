package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
)

// sayWhatIf prints what would have been: of each number how it was and how it would
// have been, or just the one when they are equal.
func sayWhatIf(w io.Writer, r *whatif.Report, changed bool) error {
	if r.From > r.To {
		fmt.Fprintf(w, "no messages: nothing was logged in the range, which is behind message %d\n\n", r.To)
	} else {
		fmt.Fprintf(w, "messages %d to %d, %s to %s\n\n", r.From, r.To, instantOf(r.FromAt), instantOf(r.ToAt))
	}
	sayOutcome(w, r)
	if err := sayRows(w, r, changed); err != nil {
		return err
	}
	if err := sayShifts(w, r.Shifts()); err != nil {
		return err
	}
	if len(r.Pools) > 0 {
		fmt.Fprintln(w)
		if err := sayCapacity(w, r.Pools); err != nil {
			return err
		}
	}
	sayAsked(w, &r.Asked)
	for _, n := range r.Notes {
		if strings.ContainsFunc(n, func(r rune) bool { return !unicode.IsPrint(r) }) {
			n = strconv.Quote(n) // it has names that others gave
		}
		fmt.Fprintf(w, "note: %s\n", n)
	}
	return nil
}

func sayRows(w io.Writer, r *whatif.Report, changed bool) error {
	units := r.Units()
	head := []string{"KEY", "ALLOWED", "BLOCKED", "DEPRIORITIZED"}
	for _, u := range units {
		head = append(head, strings.ToUpper(u.String()))
	}
	rows := [][]string{append(head, "NEWLY BLOCKED", "NEWLY ALLOWED", "BLOCKED BY")}
	for i := range r.Rows {
		if x := &r.Rows[i]; !changed || x.Differs() {
			rows = append(rows, rowOf(configfile.Show(x.APIKeyID), x, units))
		}
	}
	total := r.Total()
	return table(w, append(rows, rowOf("total", &total, units))...)
}

func rowOf(name string, x *whatif.Row, units []quota.Unit) []string {
	before, after := &x.Sides[whatif.Before], &x.Sides[whatif.After]
	row := []string{
		name, turned(count(before.Allowed), count(after.Allowed)), turned(count(before.Blocked), count(after.Blocked)),
		turned(count(before.Deprioritized), count(after.Deprioritized)),
	}
	for _, u := range units {
		row = append(row, turned(before.Served[u].Format(u), after.Served[u].Format(u)))
	}
	return append(row, count(x.NewlyBlocked), count(x.NewlyAllowed), orDash(reasonsOf(after)))
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

// turned shows what became of a number.
func turned(before, after string) string {
	if before == after {
		return before
	}
	return before + " -> " + after
}

// reasonsOf lists why a side blocked, as in fair-share 12, model-cap 1.
func reasonsOf(s *whatif.Side) string {
	var list []string
	for _, reason := range slices.Sorted(maps.Keys(s.Reasons)) {
		list = append(list, reason+" "+count(s.Reasons[reason]))
	}
	if s.WouldBlock > 0 {
		list = append(list, "observed only "+count(s.WouldBlock))
	}
	return strings.Join(list, ", ")
}

func sayCapacity(w io.Writer, pools []whatif.Pool) error {
	rows := [][]string{{"POOL", "DIMENSION", "BUCKETS", "LIMIT", "USED", "UNUSED", "WHILE IT BLOCKED", "ASKED FOR"}}
	for i := range pools {
		p := &pools[i]
		before, after := &p.Sides[whatif.Before], &p.Sides[whatif.After]
		amount := func(a, b quota.Amount) string { return turned(a.Format(p.Unit), b.Format(p.Unit)) }
		rows = append(rows, []string{
			configfile.Show(p.PoolID), p.Unit.String() + "/" + p.Window.String(), turned(count(before.Buckets), count(after.Buckets)),
			amount(before.Limit, after.Limit), amount(before.Used, after.Used), amount(before.Unused, after.Unused),
			amount(before.Withheld, after.Withheld), amount(before.Wanted, after.Wanted),
		})
	}
	return table(w, rows...)
}

// sayAsked says what was judged.
func sayAsked(w io.Writer, a *whatif.Asked) {
	fmt.Fprintf(w, "\njudged: %d consumptions, %d holds, %d recorded blocks\n", a.Consumptions, a.Holds, a.Blocks)
	if a.Degraded > 0 {
		fmt.Fprintf(w, "%d recorded blocks are left out: no rule gave them, but the state of an engine\n", a.Degraded)
	}
	if a.Unlike > 0 {
		fmt.Fprintf(w, "%d recorded blocks do not follow from the rules that were in force: verify says more\n", a.Unlike)
	}
	if n := a.Waiting; n[whatif.Before]+n[whatif.After] > 0 {
		fmt.Fprintf(w, "requests that still wait where the range ends: %s\n", turned(count(n[whatif.Before]), count(n[whatif.After])))
	}
}
