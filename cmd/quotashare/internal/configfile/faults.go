package configfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/wire"
)

// Faults is everything that is wrong with a file.
type Faults struct {
	wire.Faults
	lines map[string]int
}

// shown bounds the lines of one error.
const shown = 50

// Error has one line for each fault.
func (f *Faults) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the file has %d fault(s):", len(f.Faults))
	for i, fault := range f.Faults {
		if i == shown {
			fmt.Fprintf(&b, "\n  and %d more", len(f.Faults)-shown)
			break
		}
		b.WriteString("\n  " + fault.Error())
		if line := f.line(fault.Field); line > 0 {
			fmt.Fprintf(&b, " (line %d)", line)
		}
	}
	return b.String()
}

// line returns where a field is, or, if it is missing, what should have it; 0
// when that is not known.
func (f *Faults) line(path string) int {
	for {
		if line := f.lines[path]; line > 0 || path == "" {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}

// err returns the faults and those of the form, in the order of their lines; nil
// when there are none. Of a value whose form is wrong nothing else is said: what
// stands for it is not what was written.
func (p *parsed) err(faults wire.Faults) error {
	all := slices.Clone(p.faults)
	said := make(map[string]bool, len(all))
	for _, fault := range all {
		said[fault.Field] = true
	}
	for _, fault := range faults {
		if !said[fault.Field] {
			all = append(all, fault)
		}
	}
	if len(all) == 0 {
		return nil
	}
	f := &Faults{all, p.lines}
	slices.SortStableFunc(all, func(a, b wire.Fault) int { return cmp.Compare(f.line(a.Field), f.line(b.Field)) })
	return f
}

// under returns the faults of the document at the path, with texts for people
// who write files.
func under(path string, faults wire.Faults) wire.Faults {
	moved := make(wire.Faults, len(faults))
	for i, f := range faults {
		switch {
		case path == "" || strings.HasPrefix(f.Field, "["):
			f.Field = path + f.Field
		case f.Field == "":
			f.Field = path
		default:
			f.Field = path + "." + f.Field
		}
		moved[i] = f
	}
	return moved
}
