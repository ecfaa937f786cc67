package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestAQuickRunHasEveryRow looks at everything but the figures: what they are
// depends on what else the machine does.
func TestAQuickRunHasEveryRow(t *testing.T) {
	dir := t.TempDir()
	var begun []string
	report, err := Run(t.Context(), Options{Quick: true, Dir: dir, Progress: func(name string) { begun = append(begun, name) }})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(begun, Names()) {
		t.Errorf("measured %v, want %v", begun, Names())
	}
	var rows []string
	for _, r := range report.Rows {
		rows = append(rows, r.Name+" "+r.Unit)
		if r.Ours <= 0 && r.Unit != "allocations" {
			t.Errorf("%s has no figure", r.Name)
		}
		if (r.Bare == 0) != (r.Ratio == 0) {
			t.Errorf("%s: bare %v and ratio %v do not go together", r.Name, r.Bare, r.Ratio)
		}
		if (r.Target == nil) != (r.Meets == nil) {
			t.Errorf("%s: a target and its verdict go together", r.Name)
		}
	}
	if !slices.Equal(rows, wantRows) {
		t.Errorf("rows:\n%s\nwant:\n%s", strings.Join(rows, "\n"), strings.Join(wantRows, "\n"))
	}
	checkJSON(t, &report)
	checkText(t, &report)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

var wantRows = []string{
	"pure decision, 2 dimensions ns",
	"pure decision, 2 dimensions allocations",
	"decide, 1 in flight requests/s",
	"decide, 64 in flight requests/s",
	"decide, 256 in flight requests/s",
	"decide, pipelined client, 256 in flight requests/s",
	"decide, arrays of 100, 16 in flight decisions/s",
	"fold, one event a message events/s",
	"fold, one event a message, with ids events/s",
	"fold, arrays of 500 events/s",
	"fold, arrays of 500, with ids events/s",
	"replay in memory, one event a message, with ids events/s",
	"publish to visible, fsync always, p50 ms",
	"publish to visible, fsync always, p99 ms",
	"publish to visible, fsync every 100ms, p50 ms",
	"publish to visible, fsync every 100ms, p99 ms",
	"decide while 50,000 events/s are folded, p50 ms",
	"decide while 50,000 events/s are folded, p99 ms",
	"start to first answer s",
	"live heap for a (connection, key) pair bytes",
}

func checkJSON(t *testing.T, r *Report) {
	t.Helper()
	var text bytes.Buffer
	if err := r.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(text.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Rows) != len(r.Rows) || !back.Quick {
		t.Errorf("the JSON has lost something: %s", text.Bytes())
	}
}

func checkText(t *testing.T, r *Report) {
	t.Helper()
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if !strings.Contains(text.String(), row.Name) {
			t.Errorf("the table has no row %q:\n%s", row.Name, text.String())
		}
	}
}

func TestOnlyTakesBeginnings(t *testing.T) {
	for only, want := range map[string][]string{
		"decide":     {"decide-1", "decide-64", "decide-256"},
		"decide-256": {"decide-256"},
		"pairs":      {"pairs"},
	} {
		chosen, err := choose([]string{only})
		var names []string
		for _, m := range chosen {
			names = append(names, m.name)
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%s: %v, %v; want %v", only, names, err, want)
		}
	}
	if _, err := Run(t.Context(), Options{Only: []string{"fast"}}); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown measure: %v", err)
	}
}

func TestVerdicts(t *testing.T) {
	row := Row{Ours: 5, Ratio: 0.8}
	for _, tt := range []struct {
		target *Target
		meets  bool
		text   string
	}{
		{atLeast(5), true, "≥ 5.00"},
		{atLeast(5.1), false, "≥ 5.10"},
		{atMost(5), true, "≤ 5.00"},
		{atMost(4.9), false, "≤ 4.90"},
		{ratioAtLeast(0.8), true, "≥ 0.80 × bare"},
		{ratioAtLeast(0.9), false, "≥ 0.90 × bare"},
		{ratioAtMost(0.8), true, "≤ 0.80 × bare"},
		{ratioAtMost(0.7), false, "≤ 0.70 × bare"},
		{atMost(0), false, "≤ 0"},
	} {
		got := row.judged(tt.target)
		if *got.Meets != tt.meets || got.target() != tt.text {
			t.Errorf("%+v: meets %v, %q; want %v, %q", *tt.target, *got.Meets, got.target(), tt.meets, tt.text)
		}
	}
}

func TestQuantilesAndTurns(t *testing.T) {
	if got := median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("median %v", got)
	}
	if got := quantile([]float64{1, 2, 3, 4}, 0.99); got != 4 {
		t.Errorf("p99 %v", got)
	}
	var turns []byte
	turn := func(mark byte, value float64) side {
		return func(context.Context) (slice, error) {
			turns = append(turns, mark)
			return slice{value: value}, nil
		}
	}
	d, err := alternate(t.Context(), 3, turn('o', 8), turn('b', 4))
	if err != nil || string(turns) != "boobbo"+"ob" {
		t.Errorf("turns %s, %v", turns, err)
	}
	if row := d.row("x", "y"); row.Ours != 8 || row.Bare != 4 || row.Ratio != 2 || len(d.ours) != 3 {
		t.Errorf("%+v", row)
	}
}

// BenchmarkMeasures runs each measure in full and reports its rows:
//
//	go test -run - -bench Measures/fold-ids -benchtime 1x -cpuprofile cpu.out ./bench
func BenchmarkMeasures(b *testing.B) {
	for _, name := range Names() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				report, err := Run(b.Context(), Options{Only: []string{name}, Dir: b.TempDir()})
				if err != nil {
					b.Fatal(err)
				}
				for _, r := range report.Rows {
					unit := strings.ReplaceAll(r.Name, " ", "_") + "_" + r.Unit
					b.ReportMetric(r.Ours, unit)
					if r.Ratio != 0 {
						b.ReportMetric(r.Ratio, unit+"_ratio")
					}
				}
			}
		})
	}
}
