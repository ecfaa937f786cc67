// Package vitals tells what every program does of its process: what runs, whether it
// has its broker, and how much room its disk has.
package vitals

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// Options say what to tell of.
type Options struct {
	Program, Version string
	// Connected reports whether there is a connection to the broker.
	Connected func() bool
	// Reconnects returns how often it was lost and came back; nil = nobody counts.
	Reconnects func() uint64
	// DataDir is the data directory, "" = there is none.
	DataDir string
}

var (
	buildDesc      = prometheus.NewDesc("quotashare_build_info", "Always 1; the labels say what runs.", []string{"program", "version", "goversion"}, nil)
	connectedDesc  = prometheus.NewDesc("quotashare_broker_connected", "1 while there is a connection to the broker.", nil, nil)
	reconnectsDesc = prometheus.NewDesc("quotashare_broker_reconnects_total", "Times that the connection to the broker was lost and came back.", nil, nil)
	freeDesc       = prometheus.NewDesc("quotashare_disk_free_bytes", "Free space, for this user, of the file system that has the data directory.", nil, nil)
	sizeDesc       = prometheus.NewDesc("quotashare_disk_size_bytes", "Size of the file system that has the data directory.", nil, nil)
	dataDesc       = prometheus.NewDesc("quotashare_data_bytes", "Files in the data directory, by part; looked at every half minute at most.", []string{"part"}, nil)
)

// Vitals is a prometheus.Collector.
type Vitals struct {
	o     Options
	parts parts
}

// New returns the vitals of a process.
func New(o Options) *Vitals { return &Vitals{o: o, parts: parts{dir: o.DataDir}} }

// Describe implements prometheus.Collector.
func (v *Vitals) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(v, ch) }

// Collect implements prometheus.Collector.
func (v *Vitals) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
	}
	gauge(buildDesc, 1, v.o.Program, v.o.Version, runtime.Version())
	connected := 0.0
	if v.o.Connected() {
		connected = 1
	}
	gauge(connectedDesc, connected)
	if v.o.Reconnects != nil {
		ch <- prometheus.MustNewConstMetric(reconnectsDesc, prometheus.CounterValue, float64(v.o.Reconnects()))
	}
	if v.o.DataDir == "" {
		return
	}
	if free, size, ok := room(v.o.DataDir); ok { // not every system tells
		gauge(freeDesc, float64(free))
		gauge(sizeDesc, float64(size))
	}
	for part, bytes := range v.parts.look() {
		gauge(dataDesc, float64(bytes), part)
	}
}
