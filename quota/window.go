package quota

// Window is a rolling period that amounts are counted over.
type Window uint8

// The rolling windows, in the order in which they are stored and shown. Rate
// is no rolling window of ours: it is the place for a provider's short-term
// rate limit, which only readings have.
const (
	Hourly Window = iota
	FiveHour
	Daily
	Weekly
	Monthly
	Rate
)

// NumWindows is the number of rolling windows, Rate not among them.
const NumWindows = 5

var windows = [...]struct {
	name   string
	millis int64
}{
	Hourly:   {"hourly", 3_600_000},
	FiveHour: {"5h", 18_000_000},
	Daily:    {"daily", 86_400_000},
	Weekly:   {"weekly", 604_800_000},
	Monthly:  {"monthly", 2_592_000_000}, // 30 days
	Rate:     {"rate", 86_400_000},
}

// ParseWindow returns the rolling window of that exact name; "rate" is none.
func ParseWindow(name string) (Window, bool) {
	for w := range Window(NumWindows) {
		if windows[w].name == name {
			return w, true
		}
	}
	return 0, false
}

// ParseReadingWindow is ParseWindow for readings, which may also say "rate".
func ParseReadingWindow(name string) (Window, bool) {
	if name == windows[Rate].name {
		return Rate, true
	}
	return ParseWindow(name)
}

// String returns the window's name on the wire.
func (w Window) String() string { return windows[w].name }

// Millis returns the window's length W in milliseconds.
func (w Window) Millis() int64 { return windows[w].millis }

// WindowNames lists the names for messages to people.
const WindowNames = "hourly, 5h, daily, weekly or monthly"
