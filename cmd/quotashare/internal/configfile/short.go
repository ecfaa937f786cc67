package configfile

import (
	"slices"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/wire"
)

// PoolDocument returns the pool's document with every default written out: what
// two pools are compared by. It errs when the pool has more values than a
// document may have.
func PoolDocument(p *plans.Pool) (wire.Value, error) {
	doc, err := wire.ParseJSON(plans.AppendPoolJSON(nil, p))
	drop(&doc, "connectionIds") // it says what connections says
	return doc, err
}

// PlanDocument returns the document of a connection's plan.
func PlanDocument(connectionID string, dimensions []plans.Dimension) (wire.Value, error) {
	return wire.ParseJSON(plans.AppendPlanJSON(nil, connectionID, dimensions))
}

// defaults are the fields of a pool that say nothing when they have this value.
var defaults = map[string]string{
	"mode":       plans.Enforce.String(),
	"rule":       plans.Threshold.String(),
	"reserve":    "100",
	"onDegraded": plans.Open.String(),
}

// Short returns the document of PoolDocument without the defaults, as people
// write it. An allocation keeps its weight and policy: they are what one looks
// for.
func Short(doc wire.Value) wire.Value {
	short := doc
	short.Fields = nil
	for _, f := range doc.Fields {
		text, usual := defaults[f.Name]
		switch {
		case usual && f.Value.Text == text:
		case f.Value.Kind == wire.Array && len(f.Value.Items) == 0:
		case f.Name == "connections":
			short.Fields = append(short.Fields, wire.Field{Name: f.Name, Value: shortConnections(f.Value)})
		default:
			short.Fields = append(short.Fields, f)
		}
	}
	return short
}

func shortConnections(list wire.Value) wire.Value {
	list.Items = slices.Clone(list.Items)
	for i := range list.Items {
		list.Items[i].Fields = slices.DeleteFunc(slices.Clone(list.Items[i].Fields), func(f wire.Field) bool {
			return f.Name == "weight" && f.Value.Text == "100"
		})
	}
	return list
}

// drop takes a field out of an object of which nobody else knows.
func drop(doc *wire.Value, name string) {
	doc.Fields = slices.DeleteFunc(doc.Fields, func(f wire.Field) bool { return f.Name == name })
}
