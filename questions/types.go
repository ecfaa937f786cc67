package questions

import "github.com/quotashare/quotashare/quota"

// Question is one quota.decide request, or one of quota.route: see Routed.
type Question struct {
	APIKeyID     string
	ConnectionID string // or Pool
	Pool         string // of a route by name, that of the name; so is Model
	Model        string
	Route        string      // the name of a pool's route; "" = absent
	Candidates   []Candidate // to choose from, in place of a pool
	RequestID    string
	Estimate     quota.Amounts
	Reserve      bool
	LeaseMs      int64 // 0 = absent
	At           int64 // epoch ms; 0 = absent
	MinSeq       uint64
	MaxWaitMs    int64 // -1 = absent
	Explain      bool
}

// AsOf names the state an answer was given from.
type AsOf struct {
	Seq   uint64
	Time  int64 // epoch ms
	LagMs int64
}

// Binding is the dimension or cap that decided.
type Binding struct {
	Unit   quota.Unit
	Window quota.Window
	Model  string
}

// Dimension is one judged dimension or cap, shown with explain.
type Dimension struct {
	Unit          quota.Unit
	Window        quota.Window
	Limit         quota.Amount // 0 = unknown, shown as null
	Consumed      quota.Amount
	Held          quota.Amount
	FairShare     quota.Amount
	HasFairShare  bool
	Remaining     quota.Amount
	HasRemaining  bool
	ConsumedTotal quota.Amount
	HeldTotal     quota.Amount
	Mode          string // strict, generous, guarantee
	Borrowing     bool
	Deficit       quota.Amount // signed
	ProviderUsed  quota.Amount // unit percent
	HasProvider   bool
	ResetAt       int64 // of that reading, epoch ms; 0 = absent
	ObservedAt    int64 // when the provider last said it, epoch ms; 0 = absent
	// Of what the provider says of all models, the points that keys caused, and
	// those that none did. Where a reading of some models is higher, ProviderUsed
	// is more than their sum.
	Attributed   quota.Amount // unit percent
	Unattributed quota.Amount // unit percent
	HasSplit     bool         // else both are absent
	// Under the rule guarantee: what the key can still use whatever the others do, what is
	// kept for others against this question, and what is left for those that used less.
	Promised   quota.Amount
	Kept       quota.Amount
	Headroom   quota.Amount
	HasPromise bool // else all three are absent
	// KeptFor is, when that rule blocks, for whom capacity is kept: at most MostKept keys,
	// those with the most first. A key without the right to know others is told of its own.
	KeptFor []Kept
}

// MostKept is for how many keys an answer says that capacity is kept.
const MostKept = 10

// Kept is what is kept for one key.
type Kept struct {
	APIKeyID string // or quota.AllOthers
	Amount   quota.Amount
}

// Reply is the answer to one question, or its error. The zero Reply, and one
// after Reset, has nothing set.
type Reply struct {
	Err *Error // then nothing else counts

	DecisionID   string
	Allow        bool
	Reason       string
	Deprioritize bool
	ScoreFactor  quota.Ratio
	HTTPStatus   int
	Message      string // "" = absent
	RetryAfterMs int64
	RetryAt      int64 // epoch ms; 0 = both absent
	Binding      Binding
	HasBinding   bool
	Scope        string // "" = absent
	Alternatives []string
	WouldBlock   bool
	RequestID    string
	AsOf         AsOf
	Degraded     []string
	Detail       string
	ConnectionID string           // that a route chose; "" = absent
	Candidates   []RouteCandidate // of a route, in their order
	Dimensions   []Dimension      // none = not asked for, unless Explained
	Explained    bool             // dimensions are shown even when there are none
	Traffic      Traffic          // of an explained one
	HasTraffic   bool             // it is about a connection of a pool
	Opened       bool             // it opened a hold, where none of the request was open; is not sent
}

// Error is a question that cannot be answered.
type Error struct {
	Code    string // e.g. "invalid", "at-too-old", "too-large"
	Message string // names the field and what to do
}

// Reset makes the reply ready for the next question; the room of its lists is
// kept.
func (r *Reply) Reset() {
	alternatives, degraded, dimensions, candidates := r.Alternatives[:0], r.Degraded[:0], r.Dimensions[:0], r.Candidates[:0]
	*r = Reply{}
	r.Alternatives, r.Degraded, r.Dimensions, r.Candidates = alternatives, degraded, dimensions, candidates
}

// showsDimensions: an explained reply shows that there are none.
func (r *Reply) showsDimensions() bool { return r.Explained || len(r.Dimensions) > 0 }
