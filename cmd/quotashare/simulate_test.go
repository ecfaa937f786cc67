package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/lab"
	"github.com/quotashare/quotashare/lab/chart"
	"github.com/quotashare/quotashare/quota"
)

var rewrite = flag.Bool("rewrite", false, "write what docs/FAIRNESS.md has of quotashare simulate anew")

// simulate runs the command, and returns what it prints.
func simulate(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	p := program.Process{Name: "quotashare", Args: append([]string{"simulate"}, args...), Stdout: &out, Stderr: &errs}
	if code := run(t.Context(), p); code != program.OK {
		t.Fatalf("exit %d\n%s", code, &errs)
	}
	return out.String()
}

// The marks in docs/FAIRNESS.md around what a command printed: what is between them is
// that, in a block of text.
const (
	printedBy = "<!-- printed by quotashare "
	printed   = "<!-- end -->"
)

// The page's tables and pictures are what the program gives; with -args -rewrite they are
// written anew.
func TestFairnessPageIsOfTheProgram(t *testing.T) {
	page := filepath.Join(repo(t), "docs", "FAIRNESS.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	parts := strings.Split(string(text), printedBy)
	for i, p := range parts[1:] {
		command, rest, ok := strings.Cut(p, " -->\n")
		_, after, ends := strings.Cut(rest, printed)
		args := strings.Fields(command)
		if !ok || !ends || args[0] != "simulate" {
			t.Fatalf("the mark of %q is not whole", command)
		}
		svg := -1
		for k, arg := range args {
			if arg == "--svg" {
				svg = k + 1
				args[svg] = dir
			}
		}
		out := simulate(t, args[1:]...)
		if svg >= 0 {
			out, _, _ = strings.Cut(out, "drawn: ")
			pictures(t, dir)
		}
		parts[i+1] = command + " -->\n```text\n" + out + "```\n" + printed + after
	}
	if len(parts) < 3 {
		t.Fatal("the page has fewer than two tables of the program: is it still about them?")
	}
	hold(t, page, strings.Join(parts, printedBy))
}

// What the page says of a key that works alone among ten, after three tenths of a window, is
// so in both kinds of window: to a tenth of a percent of the limit.
func TestPaceOnTheFairnessPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repo(t), "docs", "FAIRNESS.md"))
	if err != nil {
		t.Fatal(err)
	}
	s := lab.Lone(10)
	for rule, said := range map[lab.Rule]string{
		lab.Guarantee(100): "has %s %% of the limit then", lab.Guarantee(50): "`reserve: 50` makes that %s %%",
	} {
		for _, kind := range []lab.Kind{lab.Sliding, lab.Anchored} {
			r, err := lab.Run(s, kind, rule, rand.New(rand.NewPCG(1, 2)))
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(r.Points, func(p lab.Point) bool { return p.At == s.Window.Millis()*3/10 })
			want := fmt.Sprintf(said, fixed(int64(r.Points[at].Used[0])*100, int64(lab.Whole), 1))
			if !strings.Contains(string(text), want) {
				t.Errorf("%s, %v: the page does not say %q", rule.Name, kind, want)
			}
		}
	}
}

// pictures holds those of the page to what was drawn.
func pictures(t *testing.T, dir string) {
	t.Helper()
	drawn, err := os.ReadDir(dir)
	if err != nil || len(drawn) == 0 {
		t.Fatalf("no picture was drawn: %v", err)
	}
	for _, d := range drawn {
		svg, err := os.ReadFile(filepath.Join(dir, d.Name()))
		if err != nil {
			t.Fatal(err)
		}
		hold(t, filepath.Join(repo(t), "docs", "images", d.Name()), string(svg))
	}
}

// hold holds a file to what it should be, or writes it.
func hold(t *testing.T, file, want string) {
	t.Helper()
	if *rewrite {
		write(t, file, want)
		return
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Errorf("%s is not what the program gives; go test ./cmd/quotashare -run Fairness -args -rewrite writes it (-program +file):\n%s", file, diff)
	}
}

// made is a block of two rules, with what was served and the gaps, in thousandths.
func made(name string, kind lab.Kind, figures ...[2]quota.Ratio) compared {
	c := compared{Name: name, Kind: kind, Window: quota.Hourly, Windows: 1}
	for i, rule := range []lab.Rule{lab.FirstCome(), lab.Threshold(quota.RatioOne / 2), lab.Guarantee(100), lab.Guarantee(200)} {
		f := lab.Figures{Served: figures[i][0] * 1_000, Gap: figures[i][1] * 1_000}
		c.Rows = append(c.Rows, ruled{Rule: rule, Figures: f, Runs: 1})
	}
	return c
}

// A rule is held to those of another kind, in what it is worst at, from a point in a
// thousand on; a scenario of several sizes is told once for each kind of window.
func TestWhereARuleLoses(t *testing.T) {
	found := []compared{
		made("lone of 2", lab.Sliding, [2]quota.Ratio{1000, 0}, [2]quota.Ratio{500, 250}, [2]quota.Ratio{1000, 0}, [2]quota.Ratio{999, 1}),
		made("lone of 10", lab.Sliding, [2]quota.Ratio{1000, 0}, [2]quota.Ratio{490, 255}, [2]quota.Ratio{1000, 0}, [2]quota.Ratio{1000, 0}),
		made("flood", lab.Sliding, [2]quota.Ratio{1000, 500}, [2]quota.Ratio{850, 75}, [2]quota.Ratio{1000, 10}, [2]quota.Ratio{1000, 5}),
		made("flood", lab.Anchored, [2]quota.Ratio{1000, 400}, [2]quota.Ratio{1000, 30}, [2]quota.Ratio{1000, 33}, [2]quota.Ratio{1000, 40}),
	}
	for rule, want := range [][]string{
		{"flood, sliding: gap 50.00, 0.50 with guarantee 200", "flood, anchored: gap 40.00, 3.00 with threshold 0.5"},
		{"lone of 10, sliding: served 49.00, 100.00 with first come", "flood, sliding: served 85.00, 100.00 with first come"},
		{"flood, anchored: gap 3.30, 3.00 with threshold 0.5"},
		{"flood, anchored: gap 4.00, 3.00 with threshold 0.5", "lone of 2, sliding: served 99.90, 100.00 with first come"},
	} {
		var got []string
		for _, l := range losses(found, rule) {
			got = append(got, l.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rule %d (-want +got):\n%s", rule, diff)
		}
	}
}

func TestOverAdmissionsAreAnError(t *testing.T) {
	found := []compared{made("flood", lab.Anchored, [2]quota.Ratio{}, [2]quota.Ratio{}, [2]quota.Ratio{}, [2]quota.Ratio{})}
	if err := overAdmitted(found); err != nil {
		t.Errorf("none: %v", err)
	}
	found[0].Rows[2].Over = 3
	if err := overAdmitted(found); err == nil || !strings.HasPrefix(err.Error(), "flood, anchored, guarantee 100: more was let pass than the limit allows, 3 times") {
		t.Errorf("three: %v", err)
	}
}

func TestNumbersAreRounded(t *testing.T) {
	for want, got := range map[string]string{
		"0.00": points(49), "0.01": points(50), "99.99": points(999_949), "100.00": points(999_950),
		"1": fixed(1, 2, 0), "0.500": fixed(1, 2, 3), "0.667": fixed(2, 3, 3), "33": fixed(1_199_999*100, 3_600_000, 0),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Every picture is well-formed, whatever the keys are called.
func TestPicturesAreWellFormed(t *testing.T) {
	x := experiment{seed: 1, pools: 2, kinds: []lab.Kind{lab.Anchored}, rules: []lab.Rule{lab.FirstCome(), lab.Guarantee(100)}}
	many := lab.Scenarios()[1]
	many.Name = "a <b> & \x00c"
	for len(many.Keys) < 2*mostLines {
		k := many.Keys[0]
		k.Name = strings.Repeat("<", len(many.Keys))
		many.Keys = append(many.Keys, k)
	}
	x.scenarios = []*lab.Scenario{loneAmong(2), many}
	found, err := x.run(t.Context(), func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range found {
		name, svg := found[i].picture()
		names = append(names, name)
		for d := xml.NewDecoder(bytes.NewReader(svg)); err == nil; {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v\n%s", name, err, svg)
		}
		err = nil
	}
	if want := []string{"lone-of-2-anchored.svg", "a--b-----c-anchored.svg", "random-anchored.svg"}; !cmp.Equal(want, names) {
		t.Errorf("the files are %q", names)
	}
	if _, svg := found[1].picture(); !bytes.Contains(svg, []byte(">7 more<")) {
		t.Errorf("14 keys are not 7 and 7 more")
	}
}

// A line is of the keys that it names, in millionths of the limit.
func TestLinesAreOfTheirKeys(t *testing.T) {
	r := lab.Result{Keys: make([]lab.Share, 3), Points: []lab.Point{
		{At: 0, Used: []quota.Amount{0, 0, 0}}, {At: 60_000, Used: []quota.Amount{lab.Whole / 2, lab.Whole / 4, 199}},
	}}
	for _, test := range []struct {
		from, to int
		want     int64
	}{{0, 1, 500_000}, {1, 2, 250_000}, {2, 3, 1}, {0, 3, 750_001}} {
		want := chart.Line{Name: "x", Points: []chart.Point{{}, {X: 60_000, Y: test.want}}}
		if diff := cmp.Diff(want, someKeys("x", &r, test.from, test.to)); diff != "" {
			t.Errorf("keys %d to %d (-want +got):\n%s", test.from, test.to, diff)
		}
	}
}

// Another seed draws other pools; the gaps of many are there by size.
func TestPoolsAreOfTheSeed(t *testing.T) {
	one, other := experiment{seed: 1, pools: 3}, experiment{seed: 2, pools: 3}
	if !cmp.Equal(one.drawn(), one.drawn()) || cmp.Equal(one.drawn()[0], other.drawn()[0]) {
		t.Error("the same seed draws other pools, or another seed the same")
	}
	x := experiment{seed: 1, pools: 6, kinds: []lab.Kind{lab.Anchored}, rules: []lab.Rule{lab.FirstCome()}}
	found, err := x.run(t.Context(), func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	r := found[0].Rows[0]
	mean := quota.Ratio(0)
	for _, gap := range r.Gaps {
		mean += gap / 6
	}
	if len(r.Gaps) != 6 || !slices.IsSorted(r.Gaps) || r.Gaps[0] == r.Gaps[5] || max(mean-r.Gap, r.Gap-mean) > 6 {
		t.Errorf("gaps are %v, their mean is %v", r.Gaps, r.Gap)
	}
}

func TestSimulationIsInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, errs bytes.Buffer
	code := run(ctx, program.Process{Name: "quotashare", Args: []string{"simulate"}, Stdout: &out, Stderr: &errs})
	if code == program.OK || out.Len() > 0 || errs.String() != "quotashare: interrupted\n" {
		t.Errorf("exit %d, %q, %q", code, &out, &errs)
	}
}

func TestBarOfRuns(t *testing.T) {
	var out bytes.Buffer
	b := runsBar{w: &out, shown: true}
	for n := range 1001 {
		b.at(n, 1000)
	}
	b.end()
	if got := strings.Count(out.String(), "\r"); got < 101 || got > 200 {
		t.Errorf("drawn %d times", got)
	}
	if want := "\r[" + strings.Repeat("=", barWidth) + "] 100 %"; !strings.Contains(out.String(), want) || !strings.HasSuffix(out.String(), " runs\n") {
		t.Errorf("at last %q", out.String()[out.Len()-80:])
	}
	out.Reset()
	quiet := runsBar{w: &out}
	quiet.at(1, 2)
	quiet.end()
	if out.Len() > 0 {
		t.Errorf("not on a terminal it draws %q", &out)
	}
}

// A run of minutes does not end without its pictures: whether there is a place for them is
// asked before.
func TestThePlaceOfPicturesIsAskedBefore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	c := simulateCmd{Pools: 1, SVG: file, Scenario: []string{random}, Reserve: []int64{100}}
	if err := c.run(gone, program.Process{Stdout: io.Discard, Stderr: io.Discard}); err == nil || !strings.HasPrefix(err.Error(), "--svg: ") {
		t.Errorf("a run that ends at once: %v", err)
	}
}
