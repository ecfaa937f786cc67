package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/livelog"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(auditEnv); url != "" {
		if err := auditOnce(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, brokertest.LostChannel)
}

// auditEnv makes the program of these tests an auditor.
const auditEnv = "QUOTASHARE_BENCH_AUDIT"

func testAuditor(url, _ string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), auditEnv+"="+url), os.Stderr
	return cmd
}

// auditOnce folds the log of a broker.
func auditOnce(url string) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	log, err := livelog.NATSLog(livelog.NATSOptions{Conn: nc, PurgeAge: time.Hour})
	if err != nil {
		return err
	}
	ctx := context.Background()
	p, err := replay.Open(ctx, replay.Options{Log: log, Store: inMemory}, 0)
	if err != nil {
		return err
	}
	return errors.Join(p.To(ctx, p.End()), p.Close())
}

// TestAQuickRunHasEveryRow looks at everything but the figures: what they are
// depends on what else the machine does.
func TestAQuickRunHasEveryRow(t *testing.T) {
	dir := t.TempDir()
	var begun []string
	report, err := Run(t.Context(), Options{Quick: true, Dir: dir, Auditor: testAuditor, Progress: func(name string) { begun = append(begun, name) }})
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

// reserveRows are those of so many in flight; only a hold alone is put beside an
// fsync.
func reserveRows(inFlight int) []string {
	var rows []string
	for _, sync := range []string{"always", "every 100ms"} {
		name := fmt.Sprintf("reserve, %d in flight, fsync %s, beside ", inFlight, sync)
		for _, bare := range []string{"decide", "bare arrays"} {
			rows = append(rows, name+bare+" requests/s", name+bare+", p50 ms", name+bare+", p99 ms")
		}
		if inFlight == 1 && sync == "always" {
			rows = append(rows, name+"an fsync, p50 ms")
		}
	}
	return rows
}

var wantRows = slices.Concat(decideRows, reserveRows(1), reserveRows(64), reserveRows(256), otherRows)

var decideRows = []string{
	"pure decision, 2 dimensions ns",
	"pure decision, 2 dimensions allocations",
	"rule guarantee, 2 dimensions, 10 keys ns",
	"rule guarantee, 2 dimensions, 10 keys allocations",
	"rule guarantee, 2 dimensions, 10 keys, a question beside threshold ns",
	"rule guarantee, 2 dimensions, 100 keys ns",
	"rule guarantee, 2 dimensions, 100 keys allocations",
	"rule guarantee, 2 dimensions, 100 keys, a question beside threshold ns",
	"decide, 1 in flight requests/s",
	"decide, 64 in flight requests/s",
	"decide, 256 in flight requests/s",
}

var otherRows = []string{
	"decide, pipelined client, 256 in flight requests/s",
	"decide, arrays of 100, 16 in flight decisions/s",
	"fold, one event a message events/s",
	"fold, one event a message, with ids events/s",
	"fold, arrays of 500 events/s",
	"fold, arrays of 500, with ids events/s",
	"fold, one event a message, with ids and requestIds events/s",
	"fold, arrays of 500, holds and their settlements events/s",
	"replay in a temporary store on disk, one event a message, with ids events/s",
	"replay in memory, one event a message, with ids events/s",
	"publish to visible, fsync always, p50 ms",
	"publish to visible, fsync always, p99 ms",
	"publish to visible, fsync every 100ms, p50 ms",
	"publish to visible, fsync every 100ms, p99 ms",
	"taken over HTTP, 1 events a body, 1 in flight, fsync always events/s",
	"taken over HTTP, 1 events a body, 1 in flight, fsync always, p50 ms",
	"taken over HTTP, 1 events a body, 1 in flight, fsync always, p99 ms",
	"taken over HTTP, 1 events a body, 64 in flight, fsync always events/s",
	"taken over HTTP, 1 events a body, 64 in flight, fsync always, p50 ms",
	"taken over HTTP, 1 events a body, 64 in flight, fsync always, p99 ms",
	"taken over HTTP, 1000 events a body, 8 in flight, fsync always events/s",
	"taken over HTTP, 1000 events a body, 8 in flight, fsync always, p50 ms",
	"taken over HTTP, 1000 events a body, 8 in flight, fsync always, p99 ms",
	"decide from an account of one's own, 64 in flight requests/s",
	"publish from an account of one's own, 64 in flight messages/s",
	"decide while 50,000 events/s are folded, p50 ms",
	"decide while 50,000 events/s are folded, p99 ms",
	"fold while an audit runs here events/s",
	"decide while an audit runs here, p99 ms",
	"fold while an audit runs in another process events/s",
	"decide while an audit runs in another process, p99 ms",
	"gateway, 1 in flight, fsync always calls/s",
	"gateway, 1 in flight, fsync always, p50 ms",
	"gateway, 1 in flight, fsync always, p99 ms",
	"gateway, 1 in flight, fsync always, added p50 ms",
	"gateway, 1 in flight, fsync every 100ms calls/s",
	"gateway, 1 in flight, fsync every 100ms, p50 ms",
	"gateway, 1 in flight, fsync every 100ms, p99 ms",
	"gateway, 1 in flight, fsync every 100ms, added p50 ms",
	"gateway, 16 in flight, fsync always calls/s",
	"gateway, 16 in flight, fsync always, p50 ms",
	"gateway, 16 in flight, fsync always, p99 ms",
	"gateway, 16 in flight, fsync every 100ms calls/s",
	"gateway, 16 in flight, fsync every 100ms, p50 ms",
	"gateway, 16 in flight, fsync every 100ms, p99 ms",
	"gateway, first byte after the provider's, p50 ms",
	"gateway, first byte after the provider's, p99 ms",
	"start to first answer s",
	"live heap for a (connection, key) pair bytes",
	"snapshot, without ids, a counter set bytes",
	"snapshot, without ids, to save s",
	"snapshot, with ids, a counter set bytes",
	"snapshot, with ids, to save s",
	"start from a snapshot to first answer s",
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

func TestQuantiles(t *testing.T) {
	if got := median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("median %v", got)
	}
	if got := quantile([]float64{1, 2, 3, 4}, 0.99); got != 4 {
		t.Errorf("p99 %v", got)
	}
	took := make([]float64, 200)
	for i := range took {
		took[i] = float64(i)
	}
	if s := (slice{value: 7}).timed(took); s != (slice{value: 7, p50: 100, p99: 198}) {
		t.Errorf("a timed slice: %+v", s)
	}
}

func TestTurns(t *testing.T) {
	var order []byte
	turn := func(mark byte, s slice) side {
		return func(context.Context) (slice, error) {
			order = append(order, mark)
			return s, nil
		}
	}
	ours, bare := turn('o', slice{value: 8, cpu: 5, p50: 3, p99: 9}), turn('b', slice{value: 4, cpu: 6, p50: 1, p99: 2})
	d, err := alternate(t.Context(), 3, ours, bare)
	if err != nil || string(order) != "bo"+"obboob" {
		t.Errorf("order %s, %v", order, err)
	}
	for _, tt := range []struct{ got, want Row }{
		{d.row("x", "y"), Row{Name: "x", Unit: "y", Ours: 8, Bare: 4, Ratio: 2, OursCPU: 5, BareCPU: 6}},
		{d.p50("x"), Row{Name: "x, p50", Unit: "ms", Ours: 3, Bare: 1, Ratio: 3}},
		{d.p99("x"), Row{Name: "x, p99", Unit: "ms", Ours: 9, Bare: 2, Ratio: 4.5}},
	} {
		if tt.got != tt.want {
			t.Errorf("%+v, want %+v", tt.got, tt.want)
		}
	}
	order = nil
	all, err := turns(t.Context(), 2, ours, bare, turn('c', slice{value: 1}))
	if err != nil || string(order) != "cbo"+"obc"+"cbo" {
		t.Errorf("order %s, %v", order, err)
	}
	if len(all) != 3 || len(all[2]) != 2 || all[2][0].value != 1 {
		t.Errorf("%+v", all)
	}
}

// TestHoldsHaveTargets looks at which rows are judged, for a verdict depends on the
// machine.
func TestHoldsHaveTargets(t *testing.T) {
	for _, tt := range []struct {
		inFlight int
		sync     time.Duration
		want     *Target
	}{
		{256, 0, ratioAtLeast(0.3)},
		{256, relaxedSync, ratioAtLeast(0.7)},
		{64, 0, nil},
		{1, relaxedSync, nil},
	} {
		if got := target(tt.inFlight, tt.sync); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%d in flight, sync %s: %+v, want %+v", tt.inFlight, tt.sync, got, tt.want)
		}
	}
}

func TestACrowdDoesAtLeastOneEach(t *testing.T) {
	var done [5]int // each of its own goroutine
	n, err := crowd(t.Context(), len(done), 0, func(_ context.Context, i int) error {
		done[i]++
		return nil
	})
	sum := 0
	for i := range done {
		sum += done[i]
		if done[i] == 0 {
			t.Errorf("goroutine %d did nothing", i)
		}
	}
	if err != nil || n != sum {
		t.Errorf("%d were counted and %d done, %v", n, sum, err)
	}
	// One that fails ends all of them.
	_, err = crowd(t.Context(), len(done), time.Hour, func(ctx context.Context, i int) error {
		if i == 3 {
			return ErrUnknown
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, ErrUnknown) {
		t.Errorf("a crowd with one that fails: %v", err)
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
