package wire

import "strings"

// Fault is what is wrong with one field.
type Fault struct {
	Field   string // path from the document's root, as in allocations[3].weight; "" is the document
	Problem string // goes on from the field's name: "is missing"
}

// Error returns the field and the problem.
func (f Fault) Error() string {
	if f.Field == "" {
		return "the document " + f.Problem
	}
	return f.Field + " " + f.Problem
}

// Faults are all faults of one document.
type Faults []Fault

// shownFaults bounds a message; the rest is counted.
const shownFaults = 20

// Error lists the faults, parted by semicolons.
func (f Faults) Error() string {
	var b strings.Builder
	for i, fault := range f {
		if i == shownFaults {
			b.WriteString("; and more")
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(fault.Error())
	}
	return b.String()
}

// Err returns the faults as an error, nil when there are none.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Add adds a fault of the field at the path.
func (f *Faults) Add(field, problem string) { *f = append(*f, Fault{field, problem}) }
