package ingest

import "github.com/prometheus/client_golang/prometheus"

var (
	clientsDesc = prometheus.NewDesc("quotashare_server_clients", "Connections to the NATS server in this process.", nil, nil)
	slowDesc    = prometheus.NewDesc("quotashare_server_slow_consumers_total", "Clients that the server has cut because they did not read fast enough.", nil, nil)
	peersDesc   = prometheus.NewDesc("quotashare_server_peers", "Other nodes of the cluster that the server is connected to.", nil, nil)
	leaderDesc  = prometheus.NewDesc("quotashare_server_has_leader", "1 while the cluster has a leader that the server knows, always for one alone.", nil, nil)
	storeDesc   = prometheus.NewDesc("quotashare_server_store_bytes", "What the streams of the server have on disk.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *Server) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, ch) }

// Collect implements prometheus.Collector.
func (s *Server) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	gauge(clientsDesc, float64(s.nats.NumClients()))
	ch <- prometheus.MustNewConstMetric(slowDesc, prometheus.CounterValue, float64(s.nats.NumSlowConsumers()))
	gauge(peersDesc, float64(s.nats.NumRemotes()))
	info, err := s.nats.Jsz(nil)
	if err != nil || info.Disabled {
		return // it is being shut down
	}
	leader := 1.0
	if info.Meta != nil && info.Meta.Leader == "" {
		leader = 0
	}
	gauge(leaderDesc, leader)
	gauge(storeDesc, float64(info.Store))
}
