package plans

import (
	"strconv"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// AppendPoolJSON appends the pool's document: what ParsePool reads, with every
// default written out, fields and items in one fixed order, so that equal pools
// have equal bytes.
func AppendPoolJSON(dst []byte, p *Pool) []byte {
	return append(appendPoolFields(dst, p), '}')
}

func appendPoolFields(dst []byte, p *Pool) []byte {
	dst = appendText(append(dst, '{'), "id", p.ID)
	dst = appendText(append(dst, ','), "name", p.Name)
	dst = appendText(append(dst, ','), "provider", p.Provider)
	dst = appendText(append(dst, ','), "mode", p.Mode.String())
	dst = appendText(append(dst, ','), "rule", p.Rule.String())
	dst = appendInt(append(dst, ','), "reserve", p.Reserve)
	dst = appendText(append(dst, ','), "onDegraded", p.OnDegraded.String())
	dst = appendList(append(dst, ','), "connections", p.Connections, appendConnection)
	dst = appendList(append(dst, ','), "connectionIds", p.Connections, appendConnectionID)
	dst = appendList(append(dst, ','), "allocations", p.Allocations, appendAllocation)
	dst = appendList(append(dst, ','), "modelCaps", p.ModelCaps, appendModelCap)
	if p.CreatedAt != 0 {
		dst = wire.AppendJSONInstant(appendName(append(dst, ','), "createdAt"), p.CreatedAt)
	}
	return dst
}

func appendConnection(dst []byte, c *Connection) []byte {
	dst = appendText(append(dst, '{'), "connectionId", c.ConnectionID)
	dst = appendInt(append(dst, ','), "weight", c.Weight)
	if c.MaxConcurrent > 0 {
		dst = appendInt(append(dst, ','), "maxConcurrent", c.MaxConcurrent)
	}
	return append(dst, '}')
}

func appendConnectionID(dst []byte, c *Connection) []byte {
	return wire.AppendJSONString(dst, c.ConnectionID)
}

func appendAllocation(dst []byte, a *Allocation) []byte {
	dst = appendText(append(dst, '{'), "apiKeyId", a.APIKeyID)
	dst = a.Weight.Append(appendName(append(dst, ','), "weight"))
	dst = appendText(append(dst, ','), "policy", a.Policy.String())
	if a.Suspended {
		dst = append(dst, `,"suspended":true`...)
	}
	if len(a.Caps) > 0 {
		dst = appendList(append(dst, ','), "caps", a.Caps, appendCap)
	}
	if a.CapValue > 0 {
		dst = appendCapValue(append(dst, ','), a.CapUnit, a.CapValue)
	}
	return append(dst, '}')
}

func appendCap(dst []byte, c *Cap) []byte {
	dst = appendText(append(dst, '{'), "unit", c.Unit.String())
	dst = appendText(append(dst, ','), "window", c.Window.String())
	dst = c.Value.Append(appendName(append(dst, ','), "value"), c.Unit)
	return append(dst, '}')
}

func appendCapValue(dst []byte, u quota.Unit, v quota.Amount) []byte {
	dst = appendText(dst, "capUnit", u.String())
	return v.Append(appendName(append(dst, ','), "capValue"), u)
}

func appendModelCap(dst []byte, c *ModelCap) []byte {
	dst = appendText(append(dst, '{'), "apiKeyId", c.APIKeyID)
	dst = appendText(append(dst, ','), "model", c.Model)
	return append(appendCapValue(append(dst, ','), c.CapUnit, c.CapValue), '}')
}

// AppendPlanJSON appends the plan's document, what ParsePlan reads.
func AppendPlanJSON(dst []byte, connectionID string, dimensions []Dimension) []byte {
	dst = appendText(append(dst, '{'), "connectionId", connectionID)
	return append(appendList(append(dst, ','), "dimensions", dimensions, appendDimension), '}')
}

func appendDimension(dst []byte, d *Dimension) []byte {
	dst = appendText(append(dst, '{'), "unit", d.Unit.String())
	dst = appendText(append(dst, ','), "window", d.Window.String())
	dst = d.Limit.Append(appendName(append(dst, ','), "limit"), d.Unit)
	return append(dst, '}')
}

// AppendSettingsJSON appends the settings' document, what ParseSettings reads:
// those that have a value.
func AppendSettingsJSON(dst []byte, s *Settings) []byte {
	dst = append(dst, `{"values":{`...)
	start := len(dst)
	for name := range Setting(NumSettings) {
		v := &s[name]
		if v.Origin == Default {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(appendName(dst, name.String()), '{')
		dst = append(appendSettingFields(dst, name, v), '}')
	}
	return append(dst, '}', '}')
}

func appendSettingFields(dst []byte, name Setting, v *SettingValue) []byte {
	dst = name.AppendValue(appendName(dst, "value"), v.N)
	dst = appendText(append(dst, ','), "source", v.Origin.String())
	if v.From != "" {
		dst = appendText(append(dst, ','), "from", v.From)
	}
	return dst
}

// AppendValue appends a value of the setting in decimal digits.
func (s Setting) AppendValue(dst []byte, n int64) []byte {
	if settings[s].ratio {
		return quota.Ratio(n).Append(dst)
	}
	return strconv.AppendInt(dst, n, 10)
}

func appendName(dst []byte, name string) []byte {
	return append(wire.AppendJSONString(dst, name), ':')
}

func appendText(dst []byte, name, text string) []byte {
	return wire.AppendJSONString(appendName(dst, name), text)
}

func appendInt(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(appendName(dst, name), n, 10)
}

func appendList[T any](dst []byte, name string, items []T, item func([]byte, *T) []byte) []byte {
	dst = append(appendName(dst, name), '[')
	for i := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item(dst, &items[i])
	}
	return append(dst, ']')
}
