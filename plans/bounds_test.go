package plans

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// TestTheLargestPoolCanBeReadBack: a document within the bounds, with every
// default written out, is still one that can be read. Else a pool could be folded
// once and never loaded again.
func TestTheLargestPoolCanBeReadBack(t *testing.T) {
	p := &Pool{ID: "p", Name: "p", Provider: "kimi", Reserve: 100, CreatedAt: 1_700_000_000_000}
	for i := range MaxConnections {
		p.Connections = append(p.Connections, Connection{ConnectionID: fmt.Sprint("c", i), Weight: 7, MaxConcurrent: 3})
	}
	left := MaxCaps
	for i := range MaxAllocations {
		a := Allocation{APIKeyID: fmt.Sprint("k", i), Weight: 1, Suspended: true, CapUnit: quota.Tokens, CapValue: 5}
		for d := range min(left, maxDimensions) {
			a.Caps = append(a.Caps, Cap{quota.Unit(d % quota.NumUnits), quota.Window(d / quota.NumUnits), 9})
		}
		left -= len(a.Caps)
		p.Allocations = append(p.Allocations, a)
	}
	for i := range MaxModelCaps {
		p.ModelCaps = append(p.ModelCaps, ModelCap{APIKeyID: fmt.Sprint("k", i), Model: "m", CapUnit: quota.Tokens, CapValue: 5})
	}
	doc, err := wire.ParseJSON(AppendPoolJSON(nil, p))
	if err != nil {
		t.Fatal(err)
	}
	if _, faults := ParsePool("p", doc); len(faults) > 0 {
		t.Errorf("the largest pool has faults: %v", faults)
	}
	last := &p.Allocations[MaxAllocations-1]
	last.Caps = append(last.Caps, Cap{Value: 9})
	doc, err = wire.ParseJSON(AppendPoolJSON(nil, p))
	if err != nil {
		t.Fatal(err)
	}
	if _, faults := ParsePool("p", doc); len(faults) != 1 || faults[0].Field != "allocations" {
		t.Errorf("one cap more: %v, want a fault of the allocations", faults)
	}
}
