package assembly

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/internal/vitals"
)

// registry has the figures of the parts that the process has.
func (r *run) registry(engine *decider.Engine, l *logOf) (*prometheus.Registry, error) {
	all := []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		vitals.New(vitals.Options{
			Program: r.parts.Name, Version: program.Version, DataDir: r.cfg.DataDir,
			Connected: l.conn.IsConnected, Reconnects: func() uint64 { return l.conn.Stats().Reconnects },
		}),
		l.intake,
	}
	if l.server != nil {
		all = append(all, l.server)
	}
	if r.parts.Decides {
		all = append(all, engine.Metrics())
	}
	registry := prometheus.NewRegistry()
	for _, c := range all {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return registry, nil
}
