package chart

// Chart is a picture of one or more panels. Texts may be anything: they are escaped.
type Chart struct {
	Title       string
	Description string // in words, for those who do not see the curves
	X, Y        Axis   // of all panels
	Panels      []Panel
}

// Axis goes from 0 to To, in a unit of the caller's. What is beyond is drawn at the edge.
type Axis struct {
	Name  string
	To    int64 // 0 counts as 1
	Ticks []Tick
}

// Tick is a place on an axis that has a text.
type Tick struct {
	At   int64
	Text string
}

// Panel is one plot.
type Panel struct {
	Title string
	Lines []Line
}

// Line is a curve. Lines of one name look alike in all panels and are once in the legend.
type Line struct {
	Name   string
	Mark   bool // something to compare with: thin, grey and dotted
	Points []Point
}

// Point is a place in a panel. Points are joined by straight lines in the order in which
// they are given.
type Point struct{ X, Y int64 }

// SVG returns the picture, which ends with a newline.
func (c *Chart) SVG() []byte {
	d := newDrawing(c)
	d.open()
	for i := range c.Panels {
		d.panel(i)
	}
	d.legend()
	d.text("</svg>\n")
	return d.out
}
