package plans

import (
	"strconv"

	"github.com/quotashare/quotashare/wire"
)

// Stamp is what the log knows about the newest change of a document.
type Stamp struct {
	Revision  uint64 // its stream sequence, 0 = there was none
	UpdatedAt int64  // its broker time in epoch ms, 0 = not known
	Actor     string // who made it, "" = not said
	Reason    string // why, "" = not said
}

// append appends the stamp as fields that follow others.
func (s *Stamp) append(dst []byte) []byte {
	dst = strconv.AppendUint(appendName(append(dst, ','), "revision"), s.Revision, 10)
	if s.UpdatedAt != 0 {
		dst = wire.AppendJSONInstant(appendName(append(dst, ','), "updatedAt"), s.UpdatedAt)
	}
	if s.Actor != "" {
		dst = appendText(append(dst, ','), "actor", s.Actor)
	}
	if s.Reason != "" {
		dst = appendText(append(dst, ','), "reason", s.Reason)
	}
	return dst
}

// AppendPoolView appends the pool as the API shows it: the document, its newest
// change, whether it enforces anything, and what an operator should know.
func AppendPoolView(dst []byte, p *Pool, s Stamp, enforcing bool, warnings wire.Faults) []byte {
	dst = s.append(appendPoolFields(dst, p))
	dst = strconv.AppendBool(appendName(append(dst, ','), "enforcing"), enforcing)
	return append(appendWarnings(dst, warnings), '}')
}

func appendWarnings(dst []byte, warnings wire.Faults) []byte {
	return appendList(append(dst, ','), "warnings", warnings, appendWarning)
}

func appendWarning(dst []byte, w *wire.Fault) []byte {
	dst = appendText(append(dst, '{'), "field", w.Field)
	return append(appendText(append(dst, ','), "problem", w.Problem), '}')
}

// PlanView is what the API shows of the plan of one connection. The stamp is
// that of the plan set by hand.
type PlanView struct {
	ConnectionID string
	Provider     string // "" = not known
	Pool         string // id of the pool it is in, "" = none
	Plan         Plan
	Stamp
	Warnings wire.Faults
}

// AppendPlanView appends the plan as the API shows it: the document, whose it
// is, where it comes from, its newest change, and what an operator should know.
func AppendPlanView(dst []byte, v PlanView) []byte {
	dst = appendText(append(dst, '{'), "connectionId", v.ConnectionID)
	dst = appendText(append(dst, ','), "provider", v.Provider)
	if v.Pool == "" {
		dst = append(dst, `,"poolId":null`...)
	} else {
		dst = appendText(append(dst, ','), "poolId", v.Pool)
	}
	dst = appendList(append(dst, ','), "dimensions", v.Plan.Dimensions, appendDimension)
	dst = appendText(append(dst, ','), "source", v.Plan.Source.String())
	return append(appendWarnings(v.append(dst), v.Warnings), '}')
}

// AppendSettingsView appends the settings as the API shows them: for each its
// value, where that comes from, and the default; then their newest change.
func AppendSettingsView(dst []byte, s *Settings, at Stamp) []byte {
	dst = append(dst, '{')
	for name := range Setting(NumSettings) {
		if name > 0 {
			dst = append(dst, ',')
		}
		dst = appendSettingFields(append(appendName(dst, name.String()), '{'), name, &s[name])
		dst = append(name.AppendValue(appendName(append(dst, ','), "default"), settings[name].initial), '}')
	}
	return append(at.append(dst), '}')
}

// AppendProvider appends one row of the catalogue as the API shows it.
func AppendProvider(dst []byte, p Provider) []byte {
	dst = appendText(append(dst, '{'), "provider", p.Name)
	dst = appendList(append(dst, ','), "aliases", p.Aliases, appendString)
	return append(appendList(append(dst, ','), "dimensions", p.Dimensions, appendDimension), '}')
}

func appendString(dst []byte, s *string) []byte { return wire.AppendJSONString(dst, *s) }
