package httpapi

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// maxImport bounds how many pools one import has: they are written one after the
// other.
const maxImport = 1000

// importPools creates all pools of an array, or none: for who moves here from
// another system. It does nothing where there are pools, so that it can be
// repeated.
func (a *api) importPools(w http.ResponseWriter, r *http.Request, items []wire.Value) error {
	m, faults := metaOf(r)
	if m.Trial != nil {
		faults.Add("dryRun", "is for one document: send the pools one by one to see what each would do")
	}
	docs, more := parseImport(items)
	if err := append(faults, more...).Err(); err != nil {
		return err
	}
	made, err := a.engine.CreatePools(r.Context(), docs, m)
	if err != nil {
		return err
	}
	for i := range made {
		made[i].Warnings = append(made[i].Warnings, plans.UnknownPoolFields(items[i])...)
	}
	writePools(w, http.StatusCreated, made, len(made))
	return nil
}

// parseImport reads the documents and names every fault by its place in the
// array, those between two documents too.
func parseImport(items []wire.Value) (docs []*plans.Pool, all wire.Faults) {
	if len(items) == 0 || len(items) > maxImport {
		all.Add("", fmt.Sprintf("has %d pools: send 1 to %d", len(items), maxImport))
		return nil, all
	}
	ids, owners := map[string]int{}, map[string]int{}
	for i, item := range items {
		p, faults := plans.ParsePool("", withRoundWeights(item))
		if p != nil {
			dress(p)
			faults = append(faults, betweenPools(i, p, ids, owners)...)
		}
		for _, f := range faults {
			all.Add(placed(i, f.Field), f.Problem)
		}
		docs = append(docs, p)
	}
	return docs, all
}

// withRoundWeights rounds the weights of a document to as many decimals as weights have.
// The system that it comes from has floats, and a third is 33.333333333333336 there; who
// writes a pool by hand is told instead.
func withRoundWeights(pool wire.Value) wire.Value {
	return mapped(pool, "allocations", func(list wire.Value) wire.Value {
		list.Items = slices.Clone(list.Items)
		for i, item := range list.Items {
			list.Items[i] = mapped(item, "weight", func(weight wire.Value) wire.Value {
				if v, _, err := quota.ParseFixed(weight.Text, quota.RatioDigits); weight.Kind == wire.Number && err == nil {
					weight.Text = quota.Ratio(v).String()
				}
				return weight
			})
		}
		return list
	})
}

// mapped returns a copy of an object with another value in a field, if it has that.
func mapped(o wire.Value, name string, change func(wire.Value) wire.Value) wire.Value {
	o.Fields = slices.Clone(o.Fields)
	for i, f := range o.Fields {
		if f.Name == name {
			o.Fields[i].Value = change(f.Value)
		}
	}
	return o
}

// betweenPools finds what an earlier pool of the array has taken.
func betweenPools(i int, p *plans.Pool, ids, owners map[string]int) (faults wire.Faults) {
	if first, taken := ids[p.ID]; taken {
		faults.Add("id", fmt.Sprintf("is %s, which [%d] has already", quote(p.ID), first))
	}
	ids[p.ID] = i
	for k, c := range p.Connections {
		if first, taken := owners[c.ConnectionID]; taken && first != i {
			faults.Add(fmt.Sprintf("connections[%d].connectionId", k),
				fmt.Sprintf("is %s, which [%d] has already: a connection is in at most one pool", quote(c.ConnectionID), first))
			continue
		}
		owners[c.ConnectionID] = i
	}
	return faults
}

// placed is the path of a field of the i-th document.
func placed(i int, field string) string {
	if field == "" {
		return fmt.Sprintf("[%d]", i)
	}
	return fmt.Sprintf("[%d].%s", i, field)
}
