package plans

// word is one enum value's name on the wire; the lists below are the only place
// where these names are written.
var (
	policyWords     = []string{Hard: "hard", Soft: "soft", Burst: "burst"}
	modeWords       = []string{Enforce: "enforce", Observe: "observe", Off: "off"}
	ruleWords       = []string{Threshold: "threshold", Guarantee: "guarantee"}
	onDegradedWords = []string{Open: "open", Closed: "closed"}
	sourceWords     = []string{None: "none", Catalogue: "catalogue", Manual: "manual"}
	originWords     = []string{Default: "default", Stored: "stored", Environment: "environment"}
)

// String returns the policy's name on the wire.
func (p Policy) String() string { return policyWords[p] }

// String returns the mode's name on the wire.
func (m Mode) String() string { return modeWords[m] }

// String returns the rule's name on the wire.
func (r Rule) String() string { return ruleWords[r] }

// String returns the name on the wire.
func (o OnDegraded) String() string { return onDegradedWords[o] }

// String returns the source's name on the wire.
func (s Source) String() string { return sourceWords[s] }

// String returns the origin's name on the wire.
func (o Origin) String() string { return originWords[o] }

// parseWord returns a parser of the enum whose names are words.
func parseWord[T ~uint8](words []string) func(string) (T, bool) {
	return func(name string) (T, bool) {
		for i, w := range words {
			if w == name {
				return T(i), true
			}
		}
		return 0, false
	}
}
