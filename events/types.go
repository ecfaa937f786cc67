package events

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Kind is the type of an event; each has its subject.
type Kind uint8

// The kinds of event of stream QUOTA.
const (
	Consumption Kind = iota
	Saturation
	Adjustment
	Release
	Hold
	Due
	ConfigPool
	ConfigPlan
	ConfigSettings
)

// IsConfig reports whether the kind is configuration.
func (k Kind) IsConfig() bool { return k >= ConfigPool }

// Reason is why an event was rejected; its text is fixed.
type Reason string

// The reasons of quota.rejected.
const (
	Undecodable    Reason = "undecodable"
	Invalid        Reason = "invalid"
	IDConflict     Reason = "id-conflict"
	OverflowReason Reason = "overflow"
	UnknownSubject Reason = "unknown-subject"
	TTLNotAllowed  Reason = "ttl-not-allowed"
	ConfigUnmarked Reason = "config-unmarked"
	ConfigInvalid  Reason = "config-invalid"
)

// Rejection says why one event, or a whole message, cannot be folded. It is an
// error, and its text names the field and what to do.
type Rejection struct {
	Reason  Reason
	Message string
}

// Error returns the message.
func (r *Rejection) Error() string { return r.Message }

// Message is one stored message of the log, as the broker has it.
type Message struct {
	Subject string
	Header  map[string][]string // nil when there is none; keys as sent
	Data    []byte
	Seq     uint64
	Time    int64 // broker's timestamp, epoch ms
}

// Reading is what a provider says about one of its windows.
type Reading struct {
	Window      quota.Window // Rate too
	Scope       string
	UsedPercent quota.Amount // unit percent
	ResetAt     int64        // epoch ms; 0 = not said
}

// Candidate is a connection that a caller offers for a hold, with its score.
type Candidate struct {
	ConnectionID string
	Score        quota.Ratio
	HasScore     bool
}

// Event is one decoded event of any kind; the fields that its kind does not
// have are zero. Strings may share the memory of the message they came from.
type Event struct {
	Kind   Kind
	ID     string // "" = none
	Source string // of a CloudEvent
	Time   int64  // epoch ms as published; 0 = absent

	APIKeyID     string
	ConnectionID string
	Provider     string
	Model        string
	RequestID    string
	Reason       string // of an adjustment
	Partial      bool
	Estimated    bool

	// Cost are the amounts with requests defaulted; Given has bit
	// 1<<unit set for each unit that was in the message.
	Cost  quota.Amounts
	Given uint8

	Readings []Reading
	Status   int               // HTTP status of the response; 0 = absent
	Headers  map[string]string // raw response headers, names as sent

	// Hold only.
	Pool       string
	Candidates []Candidate
	LeaseMs    int64
	MaxWaitMs  int64
	DecisionID string // of a release too: it ends the hold of that decision alone; "" = any

	// Config only. ConfigID is the pool or connection id of the subject,
	// unescaped. Delete means header Quota-Config: delete; else Document is
	// the whole new document.
	ConfigID string
	Delete   bool
	Document wire.Value
	Actor    string // Quota-Actor
	Why      string // Quota-Reason
}

// Item is one place in a message: an event, or why there is none.
type Item struct {
	Event Event
	Err   *Rejection
	// Raw is the bytes of this event in the message, for quota.rejected.
	Raw []byte
}
