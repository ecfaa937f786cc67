package chart

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
)

// The measures of a picture, in pixels.
const (
	plotWidth  = 250 // of one that is alone twice as much
	plotHeight = 170
	leftRoom   = 48 // for the texts of the axis
	rightRoom  = 14
	topRoom    = 30 // for the title of the panel
	lowRoom    = 40 // for the texts of the axis and its name
	cellHeight = topRoom + plotHeight + lowRoom
	headRoom   = 44 // for the title of the picture
	rowHeight  = 20 // of the legend
	sample     = 26 // the piece of a line in the legend
	perRow     = 3  // panels
)

// letter is how wide one is taken to be: fonts differ, and an SVG cannot ask.
const letter = 7

// drawing is a picture that is being made.
type drawing struct {
	chart         *Chart
	names         []string // of the lines, as they come first
	marks         []bool
	plot          int // how wide the plots are
	width, height int
	legendAt      int // y of its first row
	out           []byte
}

func newDrawing(c *Chart) *drawing {
	d := &drawing{chart: c, plot: plotWidth}
	if len(c.Panels) == 1 {
		d.plot = 2 * plotWidth
	}
	for i := range c.Panels {
		for _, l := range c.Panels[i].Lines {
			if !slices.Contains(d.names, l.Name) {
				d.names, d.marks = append(d.names, l.Name), append(d.marks, l.Mark)
			}
		}
	}
	columns := min(max(len(c.Panels), 1), perRow)
	d.width = columns * d.cell()
	if least := 2*leftRoom + letter*9/8*len([]rune(c.Title)); d.width < least {
		d.width = least
	}
	d.legendAt = headRoom + (len(c.Panels)+perRow-1)/perRow*cellHeight
	d.height = d.legendAt + len(d.rows())*rowHeight + 8
	return d
}

func (d *drawing) printf(format string, args ...any) { d.out = fmt.Appendf(d.out, format, args...) }

func (d *drawing) text(s string) { d.out = append(d.out, s...) }

// cell is how wide a panel is, with the room around it.
func (d *drawing) cell() int { return leftRoom + d.plot + rightRoom }

func (d *drawing) open() {
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc">`+"\n",
		d.width, d.height, d.width, d.height)
	d.printf("<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n", escaped(d.chart.Title), escaped(d.chart.Description))
	d.text(style)
	d.printf(`<rect class="page" width="%d" height="%d"/>`+"\n", d.width, d.height)
	d.label(16, 26, "head", d.chart.Title)
}

// label writes a text at a place. Who reads the title and the description aloud need not
// read the labels too.
func (d *drawing) label(x, y int, class, text string) {
	d.printf(`<text x="%d" y="%d" class="%s" aria-hidden="true">%s</text>`+"\n", x, y, class, escaped(text))
}

// panel draws the panel of an index.
func (d *drawing) panel(i int) {
	p := &d.chart.Panels[i]
	x, y := i%perRow*d.cell(), headRoom+i/perRow*cellHeight
	d.printf(`<g transform="translate(%d %d)">`+"\n", x+leftRoom, y+topRoom)
	d.label(0, -12, "name", p.Title)
	d.axes()
	for _, l := range p.Lines {
		d.line(&l)
	}
	d.text("</g>\n")
}

func (d *drawing) axes() {
	for _, t := range d.chart.Y.Ticks {
		y := plotHeight - tenths(t.At, d.chart.Y.To, plotHeight)/10
		d.printf(`<path class="grid" d="M0 %dH%d"/>`+"\n", y, d.plot)
		d.label(-8, y+4, "tick end", t.Text)
	}
	for _, t := range d.chart.X.Ticks {
		x := tenths(t.At, d.chart.X.To, d.plot) / 10
		d.printf(`<path class="axis" d="M%d %dv4"/>`+"\n", x, plotHeight)
		d.label(x, plotHeight+17, "tick mid", t.Text)
	}
	d.printf(`<path class="axis" d="M0 0V%dH%d"/>`+"\n", plotHeight, d.plot)
	d.label(d.plot/2, plotHeight+33, "tick mid", d.chart.X.Name)
	d.label(d.plot, -12, "tick end", d.chart.Y.Name)
}

// line draws a curve. A point that falls on the one before it is left out: a curve of a
// million points has no more than can be seen.
func (d *drawing) line(l *Line) {
	if len(l.Points) == 0 {
		return
	}
	d.printf(`<path class="%s" d="`, d.class(l.Name))
	last, to := Point{-1, -1}, "M"
	for _, p := range l.Points {
		at := Point{int64(tenths(p.X, d.chart.X.To, d.plot)), int64(10*plotHeight - tenths(p.Y, d.chart.Y.To, plotHeight))}
		if at == last {
			continue
		}
		d.text(to + decimal(at.X) + " " + decimal(at.Y))
		last, to = at, "L"
	}
	d.text("\"/>\n")
}

// class is how the lines of a name look: the hues are used in their order and then again,
// marks use none.
func (d *drawing) class(name string) string {
	hue := 0
	for i, n := range d.names {
		switch {
		case n == name && d.marks[i]:
			return "mark"
		case n == name:
			return "line l" + strconv.Itoa(hue%hues)
		case !d.marks[i]:
			hue++
		}
	}
	return "mark"
}

// rows are the lines of the legend, each with the names that fit into it.
func (d *drawing) rows() (rows [][]string) {
	room := 0
	for _, name := range d.names {
		need := entryWidth(name)
		if room < need || len(rows) == 0 {
			rows, room = append(rows, nil), d.width-leftRoom
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], name)
		room -= need
	}
	return rows
}

func entryWidth(name string) int { return sample + 22 + letter*len([]rune(name)) }

func (d *drawing) legend() {
	for i, row := range d.rows() {
		x, y := leftRoom, d.legendAt+i*rowHeight+8
		for _, name := range row {
			d.printf(`<path class="%s" d="M%d %dh%d"/>`+"\n", d.class(name), x, y, sample)
			d.label(x+sample+6, y+4, "key", name)
			x += entryWidth(name)
		}
	}
}

// tenths returns where v is on an axis of so many pixels, in tenths of a pixel.
func tenths(v, to int64, pixels int) int {
	to = max(to, 1)
	v = min(max(v, 0), to)
	hi, lo := bits.Mul64(uint64(v), uint64(10*pixels))
	q, _ := bits.Div64(hi, lo, uint64(to)) // v ≤ to, so hi < to
	return int(q)
}

// decimal writes tenths as a number.
func decimal(tenths int64) string {
	s := strconv.FormatInt(tenths/10, 10)
	if rest := tenths % 10; rest != 0 {
		s += "." + strconv.FormatInt(rest, 10)
	}
	return s
}
