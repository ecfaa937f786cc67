package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "write the pictures of testdata anew")

// two panels, with one line in both, one that is a mark, and names that XML would trip on.
func sampleChart() *Chart {
	return &Chart{
		Title: "Use <of> a limit", Description: `"a & b" to the end`,
		X: Axis{Name: "minutes", To: 60, Ticks: []Tick{{0, "0"}, {30, "30"}, {60, "60"}}},
		Y: Axis{Name: "% of the limit", To: 1000, Ticks: []Tick{{0, "0"}, {500, "50"}, {1000, "100"}}},
		Panels: []Panel{
			{Title: "first", Lines: []Line{
				{Name: "the best there is", Mark: true, Points: []Point{{0, 0}, {60, 1000}}},
				{Name: "a & b", Points: []Point{{0, 0}, {15, 333}, {60, 500}}},
			}},
			{Title: "second", Lines: []Line{
				{Name: "c", Points: []Point{{0, 0}, {60, 900}}},
				{Name: "a & b", Points: []Point{{0, 0}, {60, 100}}},
			}},
		},
	}
}

// element is one of the picture, as a reader of XML finds it.
type element struct {
	name  string
	attrs map[string]string
	text  string
}

// parsed reads a whole picture, and fails when it is not well-formed.
func parsed(t interface{ Fatalf(string, ...any) }, svg []byte) []element {
	var all []element
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, svg)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := element{name: x.Name.Local, attrs: map[string]string{}}
			for _, a := range x.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			all = append(all, e)
		case xml.CharData:
			if len(all) > 0 {
				all[len(all)-1].text += string(x)
			}
		}
	}
}

func TestPicture(t *testing.T) {
	got := sampleChart().SVG()
	file := filepath.Join("testdata", "two.svg")
	if *rewrite {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("go test ./lab/chart -args -rewrite writes it anew (-want +got):\n%s", diff)
	}
}

// Who cannot see it is told the title and the description, and is not read the labels.
func TestItIsReadAloud(t *testing.T) {
	all := parsed(t, sampleChart().SVG())
	root := all[0]
	if root.attrs["role"] != "img" || root.attrs["aria-labelledby"] != "title desc" {
		t.Errorf("the root has %v", root.attrs)
	}
	for i, want := range []element{{name: "title", text: "Use <of> a limit"}, {name: "desc", text: `"a & b" to the end`}} {
		if got := all[i+1]; got.name != want.name || got.attrs["id"] != want.name || strings.TrimSpace(got.text) != want.text {
			t.Errorf("element %d is %+v", i+1, got)
		}
	}
	for _, e := range all {
		if e.name == "text" && e.attrs["aria-hidden"] != "true" {
			t.Errorf("%q is read aloud too", e.text)
		}
	}
}

// paths returns the d of the paths of a class.
func paths(t *testing.T, c *Chart, class string) (list []string) {
	t.Helper()
	for _, e := range parsed(t, c.SVG()) {
		if e.name == "path" && e.attrs["class"] == class {
			list = append(list, e.attrs["d"])
		}
	}
	return list
}

// A name has one look in all panels and in the legend; a mark takes no colour from the
// lines.
func TestLinesAreTheSameEverywhere(t *testing.T) {
	for class, want := range map[string][]string{
		"mark":    {"M0 170L250 0", "M48 292h26"},
		"line l0": {"M0 170L62.5 113.4L250 85", "M0 170L250 153", "M215 292h26"},
		"line l1": {"M0 170L250 17", "M298 292h26"},
	} {
		if diff := cmp.Diff(want, paths(t, sampleChart(), class)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", class, diff)
		}
	}
}

func TestBeyondTheAxesIsTheEdge(t *testing.T) {
	c := &Chart{X: Axis{To: 10}, Y: Axis{To: math.MaxInt64}, Panels: []Panel{{Lines: []Line{
		{Name: "a", Points: []Point{{-5, -1}, {5, math.MaxInt64/2 + 1}, {11, math.MaxInt64}, {math.MaxInt64, math.MaxInt64}}},
	}}}}
	if got := paths(t, c, "line l0")[0]; got != "M0 170L250 85L500 0" {
		t.Errorf("drawn %s", got)
	}
}

// What falls on one place is drawn once, so a long history makes no long file.
func TestManyPointsAreFew(t *testing.T) {
	line := Line{Name: "a"}
	for i := range int64(1_000_000) {
		line.Points = append(line.Points, Point{i, i})
	}
	c := &Chart{X: Axis{To: 1_000_000}, Y: Axis{To: 1_000_000}, Panels: []Panel{{Lines: []Line{line}}}}
	if n := len(c.SVG()); n > 80_000 {
		t.Errorf("a million points make %d bytes", n)
	}
}

func TestNothingIsAPictureToo(t *testing.T) {
	for _, c := range []*Chart{{}, {Panels: []Panel{{}}}, {Panels: []Panel{{Lines: []Line{{Name: "none"}}}}}} {
		parsed(t, c.SVG())
	}
}

// No name can break the picture or get an element into it.
func TestAnyTextIsEscaped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.SampledFrom([]string{"</text><script>", "]]>", "\x00\x1b", "\ufffe\uffff", "&amp;", "\"'"})).Draw(t, "text")
		c := sampleChart()
		plain := parsed(t, c.SVG())
		c.Title, c.Description, c.X.Name, c.Y.Ticks[1].Text, c.Panels[0].Title, c.Panels[1].Lines[0].Name = text, text, text, text, text, text
		if got := parsed(t, c.SVG()); len(got) != len(plain) && text != "a & b" {
			t.Fatalf("%d elements, with plain texts %d", len(got), len(plain))
		}
	})
}

// A legend wraps rather than leave the picture.
func TestLegendStaysInside(t *testing.T) {
	c := &Chart{Panels: []Panel{{}}}
	for _, name := range strings.Fields("guarantee threshold first-come guarantee-50 threshold-0.8 guarantee-200 the-best the-worst") {
		c.Panels[0].Lines = append(c.Panels[0].Lines, Line{Name: name})
	}
	d := newDrawing(c)
	if len(d.rows()) < 2 {
		t.Errorf("%d names are in one row of %d pixels", len(d.names), d.width)
	}
	for _, row := range d.rows() {
		width := leftRoom
		for _, name := range row {
			width += entryWidth(name)
		}
		if width > d.width {
			t.Errorf("%q takes %d of %d pixels", row, width, d.width)
		}
	}
}
