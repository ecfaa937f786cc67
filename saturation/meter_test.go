package saturation

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/quota"
)

// A decision takes a meter's levels as they are.
var _ = fairshare.Level(Level{})

// vectorTTL is the life-time of a signal in the vectors.
const vectorTTL = 30_000

// vector is one provider window of one connection.
type vector struct {
	Name, Window string
	Ops          []vectorOp
	At           int64
	UsedPercent  *string
	Keys         map[string]string
	Unattributed *string
}

type vectorOp struct {
	Op          string
	Time        int64
	UsedPercent string
	ResetAt     int64 // null is 0
	Outcome     string
	APIKeyID    string
	Cost        map[string]json.RawMessage // numbers, and usd as text
}

func TestAttributionVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/attribution.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []vector }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for i := range file.Cases {
		t.Run(file.Cases[i].Name, file.Cases[i].run)
	}
}

func (v *vector) run(t *testing.T) {
	w, _ := quota.ParseWindow(v.Window)
	m, keys := NewMeter(w), map[string]uint32{}
	for i := range v.Ops {
		o := &v.Ops[i]
		if o.Op == "usage" {
			if _, known := keys[o.APIKeyID]; !known {
				keys[o.APIKeyID] = uint32(len(keys))
			}
			cost, priced := costOf(t, o.Cost)
			m.Use(keys[o.APIKeyID], o.Time, &cost, priced)
			continue
		}
		as, _ := m.Read(Observation{Used: amount(t, o.UsedPercent, quota.Percent), ResetAt: o.ResetAt, At: o.Time}, vectorTTL)
		if as.String() != o.Outcome {
			t.Errorf("op %d is taken for %v, want %s", i, as, o.Outcome)
		}
	}
	v.look(t, m, keys)
}

// look compares what the meter says at the instant asked for.
func (v *vector) look(t *testing.T, m *Meter, keys map[string]uint32) {
	got := vector{Name: v.Name, Window: v.Window, Ops: v.Ops, At: v.At, Keys: map[string]string{}}
	if l, ok := m.At(v.At, vectorTTL); ok {
		got.UsedPercent = text(l.Used)
	}
	if points, ok := m.Unattributed(v.At, vectorTTL); ok {
		got.Unattributed = text(points)
	}
	for id, key := range keys {
		if part := m.Part(m.Local(key)); part != 0 && v.At < m.PartsUntil() {
			got.Keys[id] = part.Format(quota.Percent)
		}
	}
	if d := cmp.Diff(*v, got); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
}

func text(a quota.Amount) *string {
	s := a.Format(quota.Percent)
	return &s
}

func amount(t *testing.T, text string, u quota.Unit) quota.Amount {
	t.Helper()
	a, err := quota.ParseAmount(text, u)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return a
}

func costOf(t *testing.T, fields map[string]json.RawMessage) (cost quota.Amounts, priced bool) {
	for name, raw := range fields {
		u, ok := quota.ParseUnit(name)
		if !ok {
			t.Fatalf("unit %q", name)
		}
		number := string(raw)
		if raw[0] == '"' {
			number = number[1 : len(number)-1]
		}
		cost[u] = amount(t, number, u)
	}
	_, priced = fields["usd"]
	return cost, priced
}
