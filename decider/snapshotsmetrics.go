package decider

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// snapshotFigures are those of the snapshots that this process took.
type snapshotFigures struct {
	took   atomic.Uint64
	failed atomic.Uint64
	mu     sync.Mutex
	last   snapshotFigure
}

// snapshotFigure is about the newest one; at is 0 when there is none.
type snapshotFigure struct {
	at    int64 // when it was taken, our clock, epoch ms
	bytes int64
	took  time.Duration
}

func (f *snapshotFigures) taken(got *takenSnapshot, now int64, took time.Duration) {
	f.took.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = snapshotFigure{at: now, bytes: got.sum.Bytes, took: took}
}

func (f *snapshotFigures) newest() snapshotFigure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

var (
	snapshotsDesc     = prometheus.NewDesc("quotashare_snapshots_total", "Snapshots of the state, by what became of them.", []string{"outcome"}, nil)
	snapshotAgeDesc   = prometheus.NewDesc("quotashare_snapshot_age_seconds", "Time since the newest snapshot was taken by this process; absent when it took none.", nil, nil)
	snapshotBytesDesc = prometheus.NewDesc("quotashare_snapshot_bytes", "Size of the newest snapshot taken by this process.", nil, nil)
	snapshotTimeDesc  = prometheus.NewDesc("quotashare_snapshot_seconds", "How long the newest snapshot took.", nil, nil)
)

// collect gives the figures. Those of the newest are absent until there is one: an
// age of 0 would look like one that was just taken.
func (f *snapshotFigures) collect(ch chan<- prometheus.Metric, now int64) {
	ch <- prometheus.MustNewConstMetric(snapshotsDesc, prometheus.CounterValue, float64(f.took.Load()), "taken")
	ch <- prometheus.MustNewConstMetric(snapshotsDesc, prometheus.CounterValue, float64(f.failed.Load()), "failed")
	last := f.newest()
	if last.at == 0 {
		return
	}
	ch <- prometheus.MustNewConstMetric(snapshotAgeDesc, prometheus.GaugeValue, float64(max(0, now-last.at))/1e3)
	ch <- prometheus.MustNewConstMetric(snapshotBytesDesc, prometheus.GaugeValue, float64(last.bytes))
	ch <- prometheus.MustNewConstMetric(snapshotTimeDesc, prometheus.GaugeValue, last.took.Seconds())
}
