package vitals

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// write makes a file of so many bytes below dir.
func write(t *testing.T, dir, name string, bytes int) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, bytes), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shown returns the figures without labels, and with the last one's value.
func shown(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "quotashare_")
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			all[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return all
}

// TestVitals: what runs, whether it has its broker, and the room on its disk.
func TestVitals(t *testing.T) {
	dir, connected := t.TempDir(), true
	v := New(Options{
		Program: "p", Version: "1.2.3", DataDir: dir,
		Connected: func() bool { return connected }, Reconnects: func() uint64 { return 3 },
	})
	got := shown(t, v)
	if free, size := got["disk_free_bytes"], got["disk_size_bytes"]; free <= 0 || size < free {
		t.Errorf("%g of %g bytes are free", free, size)
	}
	delete(got, "disk_free_bytes")
	delete(got, "disk_size_bytes")
	if d := cmp.Diff(map[string]float64{
		"build_info " + runtime.Version() + " p 1.2.3": 1, "broker_connected": 1, "broker_reconnects_total": 3,
		"data_bytes log": 0, "data_bytes state": 0, "data_bytes snapshots": 0, "data_bytes spool": 0, "data_bytes other": 0,
	}, got); d != "" {
		t.Error(d)
	}
	connected = false
	if got := shown(t, v)["broker_connected"]; got != 0 {
		t.Errorf("without a connection it is %g", got)
	}
	few := shown(t, New(Options{Program: "p", Connected: func() bool { return true }}))
	if len(few) != 2 {
		t.Errorf("of one without a disk and without a count there are %v", few)
	}
}

// TestPartsOfADirectory: each file is in one of them, and they are looked at anew only
// after a while.
func TestPartsOfADirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "nats/jetstream/a/b", 1)
	write(t, dir, "nats/c", 2)
	write(t, dir, "state/d", 4)
	write(t, dir, "snapshots/e", 8)
	write(t, dir, "spool/refused/f", 16)
	write(t, dir, "state.aside/g", 32)
	write(t, dir, "nats.conf", 64)
	p := &parts{dir: dir}
	want := map[string]int64{"log": 3, "state": 4, "snapshots": 8, "spool": 16, "other": 96}
	if d := cmp.Diff(want, p.look()); d != "" {
		t.Error(d)
	}
	if err := os.RemoveAll(filepath.Join(dir, "nats")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, p.look()); d != "" {
		t.Errorf("looked at again at once: %s", d)
	}
	p.looked = time.Now().Add(-lookEvery)
	want["log"] = 0
	if d := cmp.Diff(want, p.look()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int64{"log": 0, "state": 0, "snapshots": 0, "spool": 0, "other": 0}, sizes(filepath.Join(dir, "nowhere"))); d != "" {
		t.Error(d)
	}
}
