package plans

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Setting is one number of the rules that is the same for the whole system.
type Setting uint8

// The settings, in the order in which they are stored and shown.
const (
	SaturationThreshold Setting = iota
	SoftDeprioritizeFactor
	ConsumptionRetentionDays
	SignalTTLMs
	HoldTTLMs
	DecisionSampleRate
	MaxLagMs
)

// NumSettings is the number of settings.
const NumSettings = 7

var settings = [NumSettings]struct {
	name               string
	ratio              bool // else a whole number
	low, high, initial int64
}{
	SaturationThreshold:      {"saturationThreshold", true, 0, 1e6, 5e5},
	SoftDeprioritizeFactor:   {"softDeprioritizeFactor", true, 0, 1e6, 7e5},
	ConsumptionRetentionDays: {"consumptionRetentionDays", false, 1, 3_650, 14},
	SignalTTLMs:              {"signalTtlMs", false, 1, 86_400_000, 30_000},
	HoldTTLMs:                {"holdTtlMs", false, 1, 3_600_000, 300_000}, // a lease is 1 ms to 1 h
	DecisionSampleRate:       {"decisionSampleRate", true, 0, 1e6, 1e4},
	MaxLagMs:                 {"maxLagMs", false, 1, 3_600_000, 5_000},
}

// SettingNames lists the names for messages to people.
const SettingNames = "saturationThreshold, softDeprioritizeFactor, consumptionRetentionDays, signalTtlMs, holdTtlMs, decisionSampleRate or maxLagMs"

// ParseSetting returns the setting of that exact name.
func ParseSetting(name string) (Setting, bool) {
	for s := range settings {
		if settings[s].name == name {
			return Setting(s), true
		}
	}
	return 0, false
}

// String returns the setting's name on the wire.
func (s Setting) String() string { return settings[s].name }

// Origin says where the value of a setting comes from.
type Origin uint8

// A setting has its default, or a value stored through the API, or one written
// by a program that found it in its environment.
const (
	Default Origin = iota
	Stored
	Environment
)

// SettingValue is the value of one setting. N is in millionths for the ratios,
// else the number itself.
type SettingValue struct {
	N      int64
	Origin Origin
	From   string // who wrote it, "" = not said
}

// Settings are the values in force; begin with DefaultSettings.
type Settings [NumSettings]SettingValue

// DefaultSettings returns the settings when nothing is set.
func DefaultSettings() (s Settings) {
	for i := range s {
		s[i].N = settings[i].initial
	}
	return s
}

// SaturationThreshold is the use from which a pool is strict.
func (s *Settings) SaturationThreshold() quota.Ratio {
	return quota.Ratio(s[SaturationThreshold].N)
}

// SoftDeprioritizeFactor multiplies the score of a deprioritized answer.
func (s *Settings) SoftDeprioritizeFactor() quota.Ratio {
	return quota.Ratio(s[SoftDeprioritizeFactor].N)
}

// ConsumptionRetentionDays is the least age at which usage is forgotten.
func (s *Settings) ConsumptionRetentionDays() int64 { return s[ConsumptionRetentionDays].N }

// SignalTTLMs is how long a reading without a reset stands.
func (s *Settings) SignalTTLMs() int64 { return s[SignalTTLMs].N }

// HoldTTLMs is the lease of a hold that asks for none.
func (s *Settings) HoldTTLMs() int64 { return s[HoldTTLMs].N }

// DecisionSampleRate is the part of the allowed answers that is recorded.
func (s *Settings) DecisionSampleRate() quota.Ratio {
	return quota.Ratio(s[DecisionSampleRate].N)
}

// MaxLagMs is the age of the state from which an answer is degraded.
func (s *Settings) MaxLagMs() int64 { return s[MaxLagMs].N }

// ReadSetting reads the field of that name as a value of the setting; ok is
// false when it is absent or a fault.
func ReadSetting(r wire.Reader, field string, s Setting) (n int64, ok bool) {
	row := &settings[s]
	if !row.ratio {
		return r.Int(field, row.low, row.high)
	}
	v, ok := r.Ratio(field, quota.Ratio(row.low), quota.Ratio(row.high))
	return int64(v), ok
}

// ParseSettings reads the settings document
//
//	{"values": {<name>: {"value": …, "source": "stored" | "environment", "from"?: …}}}
//
// and names every fault by its field. A name that is not listed has its
// default. An unknown name is a fault, for a typo would otherwise look like a
// setting that does nothing. The settings are returned with their faults.
func ParseSettings(doc wire.Value) (Settings, wire.Faults) {
	var faults wire.Faults
	s := DefaultSettings()
	r, ok := wire.Read(doc, "", &faults)
	if !ok || !r.Need("values") {
		return s, faults
	}
	values, _ := r.Object("values")
	for _, name := range values.Names() {
		setting, known := ParseSetting(name)
		if !known {
			values.Fault(name, "is unknown: use "+SettingNames)
			continue
		}
		if o, ok := values.Object(name); ok {
			s[setting].read(o, setting)
		}
	}
	return s, faults
}

// read takes in the value of the setting if it is right.
func (v *SettingValue) read(o wire.Reader, s Setting) {
	from := o.ID("from")
	var origin Origin
	if o.Need("source") {
		origin, _ = wire.Enum(o, "source", parseOrigin, "stored or environment")
	}
	if !o.Need("value") {
		return
	}
	if n, ok := ReadSetting(o, "value", s); ok && origin != Default {
		*v = SettingValue{n, origin, from}
	}
}

// parseOrigin knows only the origins of a value that is there.
func parseOrigin(name string) (Origin, bool) {
	o, ok := parseWord[Origin](originWords)(name)
	return o, ok && o != Default
}

// Change returns the settings as somebody wants them, {<name>: value | null},
// and names every fault by its field. A value is stored; null takes away what
// is stored or came from an environment, which leaves the default; a name that
// is absent keeps its value. The settings are returned with their faults, and
// what is faulty keeps its value.
func (s Settings) Change(doc wire.Value) (Settings, wire.Faults) {
	var faults wire.Faults
	r, _ := wire.Read(doc, "", &faults)
	for _, f := range doc.Fields {
		name, known := ParseSetting(f.Name)
		switch {
		case !known:
			r.Fault(wire.Show(f.Name), "is unknown: use "+SettingNames)
		case f.Value.Kind == wire.Null: // absent to a Reader, but not here
			s[name] = SettingValue{N: settings[name].initial}
		case f.Value.Kind == wire.Object:
			r.Fault(f.Name, "is an object, not a number: send the value itself")
		default:
			s[name].change(r, name)
		}
	}
	return s, faults
}

// change stores the field of r, if it is a value of the setting. The faults of
// ReadSetting are put into one that says what is legal.
func (v *SettingValue) change(r wire.Reader, name Setting) {
	var ignored wire.Faults
	value := wire.Value{Kind: wire.Object, Fields: []wire.Field{{Name: name.String(), Value: r.Get(name.String())}}}
	one, _ := wire.Read(value, "", &ignored)
	n, ok := ReadSetting(one, name.String(), name)
	if !ok {
		r.Fault(name.String(), "is not "+name.legal())
		return
	}
	*v = SettingValue{N: n, Origin: Stored}
}

// legal says what values the setting may have.
func (s Setting) legal() string {
	low, high := string(s.AppendValue(nil, settings[s].low)), string(s.AppendValue(nil, settings[s].high))
	if settings[s].ratio {
		return "a number within " + low + " to " + high + ", with at most 6 decimals"
	}
	return "a whole number within " + low + " to " + high
}

// Adopt returns the settings with what a program found set in its environment,
// as far as that differs, and the values that this replaces which another
// environment had set. A stored value stands: somebody chose it for the whole
// system.
func (s Settings) Adopt(environment *Settings, from string) (next Settings, replaced []Setting, changed bool) {
	for name := range Setting(NumSettings) {
		mine, now := environment[name], s[name]
		if mine.Origin != Environment || now.Origin == Stored || now.Origin == Environment && now.N == mine.N {
			continue
		}
		if now.Origin == Environment {
			replaced = append(replaced, name)
		}
		s[name] = SettingValue{N: mine.N, Origin: Environment, From: from}
		changed = true
	}
	return s, replaced, changed
}

// Fill returns the settings with the values of the environment where there are
// none, and whether there were such.
func (s Settings) Fill(environment *Settings, from string) (next Settings, some bool) {
	for name := range Setting(NumSettings) {
		if mine := environment[name]; mine.Origin == Environment && s[name].Origin == Default {
			s[name] = SettingValue{N: mine.N, Origin: Environment, From: from}
			some = true
		}
	}
	return s, some
}
