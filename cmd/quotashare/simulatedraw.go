package main

import (
	"fmt"
	"strings"

	"github.com/quotashare/quotashare/lab"
	"github.com/quotashare/quotashare/lab/chart"
	"github.com/quotashare/quotashare/quota"
)

// limitDrawn is the limit in a picture; so are an amount of lab.Whole and a part of one.
const limitDrawn = int64(quota.RatioOne)

// picture draws the block, and names the file.
func (b *compared) picture() (name string, svg []byte) {
	c := chart.Chart{
		Title: fmt.Sprintf("%s, %s", b.Name, kindWords(b.Kind)),
		Y:     chart.Axis{Name: "% of the limit", To: limitDrawn, Ticks: ticks(limitDrawn, 4, 100)},
	}
	switch {
	case b.Rows[0].Result == nil:
		b.drawMany(&c)
	case b.busy() == 1:
		b.drawLone(&c)
	default:
		b.drawKeys(&c)
	}
	c.Description = b.words()
	return fmt.Sprintf("%s-%s.svg", slug(b.Name), b.Kind), c.SVG()
}

// ticks are at so many steps of an axis, numbered up to last.
func ticks(to int64, steps, last int64) (all []chart.Tick) {
	for i := range steps + 1 {
		all = append(all, chart.Tick{At: to * i / steps, Text: fmt.Sprint(last * i / steps)})
	}
	return all
}

// time makes the axis one of windows.
func (b *compared) time(c *chart.Chart) {
	n := int64(b.Windows)
	c.X = chart.Axis{Name: "windows", To: n * b.Window.Millis(), Ticks: ticks(n*b.Window.Millis(), min(n, 10), n)}
}

// busy is how many keys ask for anything.
func (b *compared) busy() (n int) {
	for _, k := range b.Rows[0].Result.Keys {
		if k.Asked > 0 {
			n++
		}
	}
	return n
}

// drawLone draws one key: a line for each rule.
func (b *compared) drawLone(c *chart.Chart) {
	b.time(c)
	panel := chart.Panel{Title: fmt.Sprintf("one key among %d", len(b.Rows[0].Result.Keys))}
	for i := range b.Rows {
		panel.Lines = append(panel.Lines, allKeys(b.Rows[i].Rule.Name, b.Rows[i].Result))
	}
	c.Panels = []chart.Panel{panel}
}

// mostLines is how many keys are drawn alone: more cannot be told apart.
const mostLines = 7

// drawKeys draws a panel for each rule, in which each key has a line.
func (b *compared) drawKeys(c *chart.Chart) {
	b.time(c)
	for i := range b.Rows {
		r := &b.Rows[i]
		panel := chart.Panel{Title: r.Rule.Name, Lines: []chart.Line{allKeys("all keys", r.Result)}}
		panel.Lines[0].Mark = true
		for k, key := range r.Result.Keys {
			if k == mostLines && len(r.Result.Keys) > mostLines+1 {
				panel.Lines = append(panel.Lines, someKeys(fmt.Sprintf("%d more", len(r.Result.Keys)-k), r.Result, k, len(r.Result.Keys)))
				break
			}
			panel.Lines = append(panel.Lines, someKeys(key.Name, r.Result, k, k+1))
		}
		c.Panels = append(c.Panels, panel)
	}
}

func allKeys(name string, r *lab.Result) chart.Line { return someKeys(name, r, 0, len(r.Keys)) }

// someKeys is what the keys from one on until another have together, by time.
func someKeys(name string, r *lab.Result, from, to int) chart.Line {
	l := chart.Line{Name: name}
	for _, p := range r.Points {
		var sum quota.Amount
		for _, a := range p.Used[from:to] {
			sum += a
		}
		l.Points = append(l.Points, chart.Point{X: p.At, Y: int64(sum / (lab.Whole / quota.Amount(limitDrawn)))})
	}
	return l
}

// drawMany draws the gaps of many pools, from the smallest on: a line for each rule.
func (b *compared) drawMany(c *chart.Chart) {
	n := int64(b.Rows[0].Runs)
	c.X = chart.Axis{Name: "% of the pools have no larger gap", To: max(n-1, 1), Ticks: ticks(max(n-1, 1), 4, 100)}
	panel := chart.Panel{Title: "gap"}
	for i := range b.Rows {
		l := chart.Line{Name: b.Rows[i].Rule.Name}
		for k, gap := range b.Rows[i].Gaps {
			l.Points = append(l.Points, chart.Point{X: int64(k), Y: int64(gap)})
		}
		panel.Lines = append(panel.Lines, l)
	}
	c.Panels = []chart.Panel{panel}
}

// words says what the picture shows.
func (b *compared) words() string {
	var all []string
	for i := range b.Rows {
		r := &b.Rows[i]
		all = append(all, fmt.Sprintf("%s: %s %% of the limit served, gap %s %%", r.Rule.Name, points(r.Served), points(r.Gap)))
	}
	return b.About + ". " + strings.Join(all, "; ") + "."
}
