package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quotashare/quotashare/events"
)

// Options say what is measured and where.
type Options struct {
	// Quick takes seconds in place of minutes. It shows that everything works;
	// its figures say little.
	Quick bool
	// Only are names of measures, or beginnings of them; none = all.
	Only []string
	// Dir is where the data lies meanwhile; "" = the system's directory for
	// temporary files. Nothing is left there.
	Dir string
	// Auditor audits the log in a process of its own, for the measure of that.
	Auditor Auditor
	// Progress, when set, is told the name of each measure before it begins.
	Progress func(name string)
	// JSON makes Main print JSON in place of the table.
	JSON bool
}

// measure is one part of a run, in a directory of its own.
type measure struct {
	name string
	run  func(ctx context.Context, r *runner) ([]Row, error)
}

var measures = []measure{
	{"pure", pure},
	{"ruled", ruled},
	{"decide-1", decideWith(1)},
	{"decide-64", decideWith(64)},
	{"decide-256", decideWith(256)},
	{"reserve-1", reserveWith(1)},
	{"reserve-64", reserveWith(64)},
	{"reserve-256", reserveWith(256)},
	{"pipelined", pipelined},
	{"arrays", arrays},
	{"fold-single", foldLog(logShape{perMessage: 1})},
	{"fold-ids", foldLog(logShape{perMessage: 1, ids: true})},
	{"fold-arrays", foldLog(logShape{perMessage: 500})},
	{"fold-arrays-ids", foldLog(logShape{perMessage: 500, ids: true})},
	{"fold-settles", foldLog(logShape{perMessage: 1, ids: true, requests: true})},
	{"fold-holds", foldLog(logShape{perMessage: 500, ids: true, requests: true, holds: true})},
	{"replay", replays},
	{"visible", visible},
	{"taken-1", takenWith(1, 1)},
	{"taken-64", takenWith(1, most)},
	{"taken-arrays", takenWith(events.MaxEvents, 8)},
	{"isolated", isolated},
	{"beside", beside},
	{"audit", audit},
	{"gateway-1", gatewayWith(1)},
	{"gateway-16", gatewayWith(16)},
	{"gateway-stream", gatewayStream},
	{"pairs", pairs},
	{"snapshot", snapshot},
	{"start-snapshot", startSnapshot},
}

// Names returns the names of all measures in the order of a run.
func Names() []string {
	names := make([]string, len(measures))
	for i := range measures {
		names[i] = measures[i].name
	}
	return names
}

// sizes are how much is measured.
type sizes struct {
	rounds     int           // pairs of slices
	slice      time.Duration // one slice of requests
	calls      int           // pure decisions in a slice
	events     int           // in the log that is folded
	foldRounds int           // pairs of whole reads of it
	replayed   int           // events in the log that is replayed
	burst      int           // events that are published as fast as they are taken
	publishes  int           // in a slice, each waited for
	besideFor  time.Duration // a slice of requests beside events
	pairs      int           // (connection, key) pairs
}

var (
	fullSizes = sizes{
		rounds: 31, slice: 200 * time.Millisecond, calls: 200_000, events: 500_000, foldRounds: 7, replayed: 1_000_000, burst: 200_000,
		publishes: 20, besideFor: time.Second, pairs: 1_000_000,
	}
	quickSizes = sizes{
		rounds: 3, slice: 10 * time.Millisecond, calls: 1_000, events: 5_000, foldRounds: 1, replayed: 5_000, burst: 5_000,
		publishes: 3, besideFor: 100 * time.Millisecond, pairs: 5_000,
	}
)

// runner is what a measure works with.
type runner struct {
	sizes
	dir string // its own, empty
	// snapshots is where an engine keeps snapshots, "" = it keeps none.
	snapshots string
	auditor   Auditor
	log       *slog.Logger
}

// below returns a runner with a new directory in this one's.
func (r *runner) below(name string) (*runner, error) {
	next := *r
	next.dir = filepath.Join(r.dir, name)
	return &next, os.Mkdir(next.dir, 0o700)
}

// ErrUnknown says that Options.Only names no measure.
var ErrUnknown = errors.New("no such measure")

// Run measures. It returns what was measured even when a measure fails.
func Run(ctx context.Context, o Options) (Report, error) {
	report := newReport(o.Quick)
	chosen, err := choose(o.Only)
	if err != nil {
		return report, err
	}
	size := fullSizes
	if o.Quick {
		size = quickSizes
	}
	for _, m := range chosen {
		if o.Progress != nil {
			o.Progress(m.name)
		}
		rows, err := m.in(ctx, &o, size)
		for i := range rows {
			rows[i].Measure = m.name
		}
		report.Rows = append(report.Rows, rows...)
		if err != nil {
			return report, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return report, nil
}

// choose returns the measures that one of the beginnings fits.
func choose(only []string) ([]measure, error) {
	if len(only) == 0 {
		return measures, nil
	}
	wanted := make([]bool, len(measures))
	for _, prefix := range only {
		found := false
		for i := range measures {
			if strings.HasPrefix(measures[i].name, prefix) {
				found, wanted[i] = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%w %q: choose from %s", ErrUnknown, prefix, strings.Join(Names(), ", "))
		}
	}
	var chosen []measure
	for i := range measures {
		if wanted[i] {
			chosen = append(chosen, measures[i])
		}
	}
	return chosen, nil
}

// in runs the measure in a directory that is gone afterwards.
func (m *measure) in(ctx context.Context, o *Options, size sizes) (rows []Row, err error) {
	dir, err := os.MkdirTemp(o.Dir, "quotashare-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return m.run(ctx, &runner{sizes: size, dir: dir, log: slog.New(slog.DiscardHandler), auditor: o.Auditor})
}

// Main runs and prints the report, also when it ends early.
func Main(ctx context.Context, o Options, stdout io.Writer) error {
	report, err := Run(ctx, o)
	if o.JSON {
		return errors.Join(err, report.WriteJSON(stdout))
	}
	return errors.Join(err, report.WriteText(stdout))
}
