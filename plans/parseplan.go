package plans

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// ParsePlan reads the plan document of a connection, {"connectionId"?: …,
// "dimensions": [{"unit": …, "window": …, "limit"?: …}]}, and names every fault
// by its field. Which connection it is for is known from where it is written;
// the name in it is only checked to be an id. A limit that is absent is
// unknown, like 0. As with ParsePool the dimensions are returned with the
// faults.
func ParsePlan(doc wire.Value) ([]Dimension, wire.Faults) {
	var faults wire.Faults
	var dimensions []Dimension
	r, ok := wire.Read(doc, "", &faults)
	if !ok {
		return nil, faults
	}
	r.ID("connectionId")
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
		dimensions = append(dimensions, d)
	}
	return dimensions, faults
}

func parseLimit(o wire.Reader, u quota.Unit) quota.Amount {
	limit, _ := o.Amount("limit", u)
	if limit < 0 {
		o.Fault("limit", "is below 0: use 0 for unknown")
		return 0
	}
	return limit
}
