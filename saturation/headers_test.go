package saturation

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

func TestHeaderVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/headers.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name, Provider string
			Status         int
			ObservedAt     int64
			Headers        map[string]string
			Readings       []struct {
				Window, Scope, UsedPercent string
				ResetAt                    int64
			}
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			var want []events.Reading
			for _, r := range c.Readings {
				w, ok := quota.ParseReadingWindow(r.Window)
				used, err := quota.ParseAmount(r.UsedPercent, quota.Percent)
				if !ok || err != nil {
					t.Fatal(r, err)
				}
				want = append(want, events.Reading{Window: w, Scope: r.Scope, UsedPercent: used, ResetAt: r.ResetAt})
			}
			got, _ := FromHeaders(c.Provider, c.Status, c.Headers, c.ObservedAt)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
