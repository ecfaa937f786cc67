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

// snapshotFigure is about the newest one; none took no time.
type snapshotFigure struct {
	bytes int64
	took  time.Duration
}

func (f *snapshotFigures) taken(got *takenSnapshot, took time.Duration) {
	f.took.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = snapshotFigure{bytes: got.sum.Bytes, took: took}
}

func (f *snapshotFigures) newest() snapshotFigure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

var (
	snapshotsDesc     = prometheus.NewDesc("quotashare_snapshots_total", "Snapshots of the state, by what became of them.", []string{"outcome"}, nil)
	snapshotAgeDesc   = prometheus.NewDesc("quotashare_snapshot_age_seconds", "Age of the last message in the newest snapshot in the data directory; absent while there is none.", nil, nil)
	snapshotBytesDesc = prometheus.NewDesc("quotashare_snapshot_bytes", "Size of the newest snapshot taken by this process.", nil, nil)
	snapshotTimeDesc  = prometheus.NewDesc("quotashare_snapshot_seconds", "How long the newest snapshot took.", nil, nil)
)

// collect gives the figures. Those of the newest are absent until there is one: an
// age of 0 would look like one that was just taken. The age is that of the newest on
// the disk: a process that was just started, and cannot take any, has none of its own.
func (k *snapshotKeeper) collect(ch chan<- prometheus.Metric, now int64) {
	f := &k.figures
	ch <- prometheus.MustNewConstMetric(snapshotsDesc, prometheus.CounterValue, float64(f.took.Load()), "taken")
	ch <- prometheus.MustNewConstMetric(snapshotsDesc, prometheus.CounterValue, float64(f.failed.Load()), "failed")
	if k.dir == nil {
		return
	}
	if newest, _ := k.findNewest(); newest.Seq > 0 { // who takes them tells of an error
		ch <- prometheus.MustNewConstMetric(snapshotAgeDesc, prometheus.GaugeValue, float64(max(0, now-newest.Time))/1e3)
	}
	if last := f.newest(); last.took > 0 {
		ch <- prometheus.MustNewConstMetric(snapshotBytesDesc, prometheus.GaugeValue, float64(last.bytes))
		ch <- prometheus.MustNewConstMetric(snapshotTimeDesc, prometheus.GaugeValue, last.took.Seconds())
	}
}
