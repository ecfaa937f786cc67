package quota

// Unit says what an amount counts.
type Unit uint8

// The four units, in the order in which they are stored and shown.
const (
	Requests Unit = iota
	Tokens
	USD
	Percent
)

// NumUnits is the number of units; arrays indexed by Unit have this length.
const NumUnits = 4

type unitInfo struct {
	name   string
	digits int   // decimals kept
	scale  int64 // 10^digits: steps in one whole
	max    int64 // largest single amount, in wholes
}

var units = [NumUnits]unitInfo{
	Requests: {"requests", 3, 1e3, 1e12},
	Tokens:   {"tokens", 3, 1e3, 1e12},
	USD:      {"usd", 9, 1e9, 1e6},
	Percent:  {"percent", 6, 1e6, 1e12},
}

// ParseUnit returns the unit of that exact name.
func ParseUnit(name string) (Unit, bool) {
	for u := range units {
		if units[u].name == name {
			return Unit(u), true
		}
	}
	return 0, false
}

// String returns the unit's name on the wire.
func (u Unit) String() string { return units[u].name }

// Valid reports whether u is one of the four units.
func (u Unit) Valid() bool { return u < NumUnits }

// Digits returns the number of decimals an amount of this unit keeps.
func (u Unit) Digits() int { return units[u].digits }

// Scale returns the steps in one whole: 1 token is Tokens.Scale() steps.
func (u Unit) Scale() int64 { return units[u].scale }

// Max returns the largest single amount: 1e12 of the unit, 1e6 for usd.
func (u Unit) Max() Amount { return Amount(units[u].max * units[u].scale) }

// UnitNames lists the names for messages to people.
const UnitNames = "requests, tokens, usd or percent"
