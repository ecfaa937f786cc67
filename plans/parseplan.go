package plans

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// ParsePlan reads the plan document of a connection and names every fault by
// its field. The document must name the connection; with connectionID "" it
// need not and any will do. A limit that is absent is unknown, like 0. As with
// ParsePool the plan is returned with its faults.
func ParsePlan(connectionID string, doc wire.Value) (Plan, wire.Faults) {
	var faults wire.Faults
	plan := Plan{Source: Manual}
	r, ok := wire.Read(doc, "", &faults)
	if !ok {
		return plan, faults
	}
	parseOwnID(r, "connectionId", connectionID)
	r.Need("dimensions")
	objects, _ := r.Objects("dimensions", maxDimensions)
	places := seen[Dimension]{}
	for _, o := range objects {
		d, ok := parseUnitWindow(o)
		if !ok {
			continue
		}
		if places.again(d) {
			o.Fault("window", twice)
		}
		d.Limit = parseLimit(o, d.Unit)
		plan.Dimensions = append(plan.Dimensions, d)
	}
	return plan, faults
}

func parseLimit(o wire.Reader, u quota.Unit) quota.Amount {
	limit, _ := o.Amount("limit", u)
	if limit < 0 {
		o.Fault("limit", "is below 0: use 0 for unknown")
		return 0
	}
	return limit
}
