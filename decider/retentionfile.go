package decider

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/httpapi"
)

// readOutcome reads the file of the last plan; ok is false when there is none.
func readOutcome(file string) (x outcomeOfPlan, ok bool, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return x, false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &x)
	}
	if err != nil {
		return outcomeOfPlan{}, false, err
	}
	return x, true, nil
}

// writeOutcome replaces the file as a whole: it has the old plan or the new one, and
// the new one is on the disk before anything of it is done.
func writeOutcome(file string, x *outcomeOfPlan) error {
	data, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.Create(file + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// view is the last plan as it is shown; nil when there was none.
func (k *retainer) view() *httpapi.Retention {
	x := k.outcome()
	if x.At == 0 {
		return nil
	}
	v := &httpapi.Retention{PlannedAt: x.At, Finished: x.Finished, Problem: x.Error}
	for _, n := range x.Plan.Keep {
		v.Kept = append(v.Kept, httpapi.KeptSnapshot{Seq: n.Seq, LogTime: n.LogTime, Why: n.Why})
	}
	for _, s := range x.Plan.Steps {
		v.Steps = append(v.Steps, httpapi.RetentionStep{Action: string(s.Action), Seq: s.Seq, Before: s.Before, Why: s.Why})
	}
	return v
}

// retentionFigures are those of this process.
type retentionFigures struct {
	done, failed    atomic.Uint64
	counters, pairs atomic.Uint64 // dropped
	purged          atomic.Uint64 // the sequence below which the log was purged last, 0 = not yet
	maxAge          atomic.Int64  // the age limit of the log, ns
}

func (f *retentionFigures) ended(x *outcomeOfPlan) {
	if x.Finished {
		f.done.Add(1)
	} else {
		f.failed.Add(1)
	}
}

var (
	plansDesc   = prometheus.NewDesc("quotashare_retention_plans_total", "Plans of what may be deleted, by what became of them.", []string{"outcome"}, nil)
	maxAgeDesc  = prometheus.NewDesc("quotashare_retention_max_age_seconds", "Age at which the broker deletes of the log by itself, configuration too; 0 = never, as it should be.", nil, nil)
	droppedDesc = prometheus.NewDesc("quotashare_retention_dropped_total", "Idle records of the state that were dropped.", []string{"what"}, nil)
	purgedDesc  = prometheus.NewDesc("quotashare_retention_purged_seq", "Stream sequence below which this process purged the log last.", nil, nil)
	keptDesc    = prometheus.NewDesc("quotashare_retention_kept_snapshots", "Snapshots of this process that the last plan keeps.", nil, nil)
)

func (k *retainer) collectMetrics(ch chan<- prometheus.Metric) {
	f := &k.figures
	count := func(d *prometheus.Desc, n uint64, label ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label...)
	}
	count(plansDesc, f.done.Load(), "done")
	count(plansDesc, f.failed.Load(), "failed")
	count(droppedDesc, f.counters.Load(), "counters")
	count(droppedDesc, f.pairs.Load(), "pairs")
	ch <- prometheus.MustNewConstMetric(maxAgeDesc, prometheus.GaugeValue, time.Duration(f.maxAge.Load()).Seconds())
	ch <- prometheus.MustNewConstMetric(keptDesc, prometheus.GaugeValue, float64(len(k.outcome().Plan.Keep)))
	if below := f.purged.Load(); below > 0 {
		ch <- prometheus.MustNewConstMetric(purgedDesc, prometheus.GaugeValue, float64(below))
	}
}
