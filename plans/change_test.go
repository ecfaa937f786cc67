package plans

import (
	"math"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/quotashare/quotashare/wire"
)

// TestChange changes the settings given last, one change after the other, and
// shows those that have a value, or every fault.
func TestChange(t *testing.T) {
	datadriven.Walk(t, "testdata/change", func(t *testing.T, path string) {
		now := DefaultSettings()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			doc := parse(t, d.Input)
			if d.Cmd == "settings" {
				var faults wire.Faults
				if now, faults = ParseSettings(doc); len(faults) > 0 {
					t.Fatal(faults)
				}
				return ""
			}
			next, faults := now.Change(doc)
			if len(faults) > 0 {
				return lines(faults)
			}
			now = next
			return string(AppendSettingsJSON(nil, &now)) + "\n"
		})
	})
}

// TestChangeFromMsgpack: NaN is no number of JSON, but one of msgpack.
func TestChangeFromMsgpack(t *testing.T) {
	for value, want := range map[float64]string{
		0.25:        "",
		math.NaN():  "saturationThreshold is not a number within 0 to 1, with at most 6 decimals",
		math.Inf(1): "saturationThreshold is not a number within 0 to 1, with at most 6 decimals",
	} {
		body, err := msgpack.Marshal(map[string]float64{"saturationThreshold": value})
		if err != nil {
			t.Fatal(err)
		}
		doc, err := wire.ParseMsgpack(body)
		if err != nil {
			t.Fatal(err)
		}
		if _, faults := DefaultSettings().Change(doc); faults.Error() != want {
			t.Errorf("%v: %q, want %q", value, faults, want)
		}
	}
}

// TestFaultyChangeKeepsValues: with faults nothing faulty is taken over.
func TestFaultyChangeKeepsValues(t *testing.T) {
	now := DefaultSettings()
	now[MaxLagMs] = SettingValue{N: 7, Origin: Stored}
	next, faults := now.Change(parse(t, `{"maxLagMs":"abc","holdTtlMs":{},"colour":1}`))
	if len(faults) != 3 || next != now {
		t.Errorf("%v: %+v", faults, next)
	}
}
