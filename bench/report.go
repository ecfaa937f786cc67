package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what a run found.
type Report struct {
	Time  time.Time `json:"time"`
	Go    string    `json:"go"`
	OS    string    `json:"os"`
	Arch  string    `json:"arch"`
	CPUs  int       `json:"cpus"`
	Quick bool      `json:"quick"`
	Rows  []Row     `json:"rows"`
}

// Row is one figure, beside that of the bare part when there is one.
type Row struct {
	Measure string  `json:"measure"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Ours    float64 `json:"ours"`
	Bare    float64 `json:"bare,omitempty"`
	// Ratio is the median of the slices' ours / bare.
	Ratio float64 `json:"ratio,omitempty"`
	// OursCPU and BareCPU are microseconds of CPU for one operation, of all
	// parts together, the clients too. 0 = not measured.
	OursCPU float64 `json:"oursCpuMicros,omitempty"`
	BareCPU float64 `json:"bareCpuMicros,omitempty"`
	Target  *Target `json:"target,omitempty"`
	Meets   *bool   `json:"meets,omitempty"` // nil without a target
	Note    string  `json:"note,omitempty"`
}

// Target is what a figure should reach.
type Target struct {
	// Of is "ours" or "ratio".
	Of string `json:"of"`
	// AtLeast tells a lower bound from an upper one.
	AtLeast bool    `json:"atLeast"`
	Value   float64 `json:"value"`
}

func atLeast(v float64) *Target      { return &Target{Of: "ours", AtLeast: true, Value: v} }
func atMost(v float64) *Target       { return &Target{Of: "ours", Value: v} }
func ratioAtLeast(v float64) *Target { return &Target{Of: "ratio", AtLeast: true, Value: v} }
func ratioAtMost(v float64) *Target  { return &Target{Of: "ratio", Value: v} }

// judged returns the row with its verdict.
func (r Row) judged(t *Target) Row {
	value := r.Ours
	if t.Of == "ratio" {
		value = r.Ratio
	}
	meets := value <= t.Value
	if t.AtLeast {
		meets = value >= t.Value
	}
	r.Target, r.Meets = t, &meets
	return r
}

func newReport(quick bool) Report {
	return Report{
		Time: time.Now().UTC().Truncate(time.Second), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		CPUs: runtime.GOMAXPROCS(0), Quick: quick, Rows: []Row{},
	}
}

// WriteJSON writes the report as one JSON document.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes the report as a table for people.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s/%s, %d CPUs, %s\n", r.Time.Format(time.RFC3339), r.OS, r.Arch, r.CPUs, r.Go)
	if r.Quick {
		fmt.Fprintln(w, "a quick run: it shows that everything works, its figures say little")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nmeasure\tours\tbare\tratio\tunit\tCPU µs ours/bare\ttarget\t\tnote")
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintln(t, strings.Join([]string{
			row.Name, number(row.Ours), optional(row.Bare), optional(row.Ratio), row.Unit,
			row.cpu(), row.target(), row.verdict(), row.Note,
		}, "\t"))
	}
	return t.Flush()
}

// number prints three significant digits or more.
func number(v float64) string {
	switch {
	case v == 0 || v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// optional prints a figure that is not there as a dash.
func optional(v float64) string {
	if v == 0 {
		return "-"
	}
	return number(v)
}

func (r *Row) cpu() string {
	if r.OursCPU == 0 {
		return "-"
	}
	return number(r.OursCPU) + " / " + number(r.BareCPU)
}

func (r *Row) target() string {
	if r.Target == nil {
		return "-"
	}
	sign, of := "≤ ", ""
	if r.Target.AtLeast {
		sign = "≥ "
	}
	if r.Target.Of == "ratio" {
		of = " × bare"
	}
	return sign + number(r.Target.Value) + of
}

func (r *Row) verdict() string {
	switch {
	case r.Meets == nil:
		return ""
	case *r.Meets:
		return "meets"
	}
	return "misses"
}
