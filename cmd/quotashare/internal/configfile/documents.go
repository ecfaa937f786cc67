package configfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/wire"
)

// Pool is a pool of the file, and its path there.
type Pool struct {
	*plans.Pool
	Path string
}

// Plan is the plan of a connection in the file.
type Plan struct {
	ConnectionID string
	Dimensions   []plans.Dimension
}

// Pools returns the pools of the file, or everything that is wrong with them.
func (f *File) Pools() ([]Pool, error) {
	section, err := f.section(Pools)
	if err != nil {
		return nil, err
	}
	var faults wire.Faults
	var pools []Pool
	for _, it := range section.list(&faults) {
		p, wrong := plans.ParsePool("", it.value)
		faults = append(faults, under(it.path, needed("id", it.value, readable(wrong, plans.UnknownPoolFields(it.value))))...)
		if p != nil {
			pools = append(pools, Pool{p, it.path})
		}
	}
	uniquePools(pools, &faults)
	return pools, f.err(faults)
}

// needed makes it a fault that a document does not say what it is of.
func needed(id string, doc wire.Value, faults wire.Faults) wire.Faults {
	if r, ok := wire.Read(doc, "", new(wire.Faults)); ok && !r.Has(id) {
		faults.Add(id, "is missing: a file must say what each document is of")
	}
	return faults
}

// readable puts together what is wrong with a document, in words for a file:
// YAML takes 12 for a number where a name was meant, and what the API ignores
// is not ignored here.
func readable(faults, unknown wire.Faults) wire.Faults {
	all := slices.Concat(faults, unknown)
	for i := range all {
		if strings.HasSuffix(all[i].Problem, ", not a string") {
			all[i].Problem += ": put it in quotes"
		}
		all[i].Problem = strings.Replace(all[i].Problem, " and was ignored", "", 1)
	}
	return all
}

// uniquePools finds ids and connections that two pools of the file have.
func uniquePools(pools []Pool, faults *wire.Faults) {
	ids, owners := map[string]string{}, map[string]string{} // paths
	for _, p := range pools {
		if first, twice := ids[p.ID]; twice && p.ID != "" {
			*faults = append(*faults, under(p.Path, wire.Faults{{Field: "id", Problem: "is that of " + first + " too: keep one"}})...)
		}
		ids[p.ID] = p.Path
		for i, c := range p.Connections {
			first, taken := owners[c.ConnectionID]
			if taken && first != p.Path && c.ConnectionID != "" {
				field := fmt.Sprintf("connections[%d]", i)
				problem := fmt.Sprintf("is %s, which %s has too: a connection is in one pool", wire.Show(c.ConnectionID), first)
				*faults = append(*faults, under(p.Path, wire.Faults{{Field: field, Problem: problem}})...)
			}
			owners[c.ConnectionID] = p.Path
		}
	}
}

// Plans returns the plans of the file, or everything that is wrong with them.
func (f *File) Plans() ([]Plan, error) {
	section, err := f.section(Plans)
	if err != nil {
		return nil, err
	}
	var faults wire.Faults
	var all []Plan
	paths := map[string]string{}
	for _, it := range section.list(&faults) {
		dimensions, wrong := plans.ParsePlan(it.value)
		wrong = needed("connectionId", it.value, readable(wrong, plans.UnknownPlanFields(it.value)))
		r, _ := wire.Read(it.value, "", new(wire.Faults))
		id := r.ID("connectionId")
		if first, twice := paths[id]; twice && id != "" {
			wrong.Add("connectionId", "is that of "+first+" too: keep one")
		}
		paths[id] = it.path
		faults = append(faults, under(it.path, wrong)...)
		all = append(all, Plan{id, dimensions})
	}
	return all, f.err(faults)
}

// Settings returns the settings as the file wants them, now being those there
// are, or everything that is wrong with them. A name that the file has not keeps
// its value, or, with prune, no longer has a stored one.
func (f *File) Settings(now plans.Settings, prune bool) (plans.Settings, error) {
	section, err := f.section(Settings)
	if err != nil {
		return now, err
	}
	wanted := section.value
	if prune {
		wanted.Fields = slices.Concat(wanted.Fields, unlisted(now, wanted))
	}
	next, faults := now.Change(wanted)
	return next, f.err(under(section.path, faults))
}

// unlisted are the stored settings that an object has not, each as null.
func unlisted(now plans.Settings, object wire.Value) []wire.Field {
	listed := fields(object)
	var nulls []wire.Field
	for name := range plans.Setting(plans.NumSettings) {
		if _, there := listed[name.String()]; !there && now[name].Origin == plans.Stored {
			nulls = append(nulls, wire.Field{Name: name.String(), Value: wire.Value{Kind: wire.Null}})
		}
	}
	return nulls
}
