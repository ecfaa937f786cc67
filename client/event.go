package client

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// Event is what Publish takes: Consumption, Adjustment or Saturation. Every one may
// have an id, which makes it count once however often it is published, and the time
// at which it happened; without, it is given an id of its own and the time of the
// call.
type Event interface {
	// form makes an event of the engine's form.
	form() (events.Event, error)
}

// Consumption is what a request used.
type Consumption struct {
	ID   string
	Time time.Time

	APIKeyID     string
	ConnectionID string
	Provider     string
	Model        string
	RequestID    string // of a hold, which this settles
	Partial      bool   // more comes: the hold is less by the cost, and its lease begins anew
	Estimated    bool   // the cost is not what the provider said
	Cost         Amounts
}

// Adjustment corrects what was published, or refunds it. Its amounts are signed.
type Adjustment struct {
	ID   string
	Time time.Time

	APIKeyID     string
	ConnectionID string
	Provider     string
	Model        string
	RequestID    string
	Reason       string // 1 to 1,000 characters
	Cost         Amounts
}

// Saturation is what a provider says about its own limits: the headers of a
// response, failed ones too, or readings of whoever knows what they mean.
type Saturation struct {
	ID   string
	Time time.Time

	ConnectionID string
	Provider     string
	Readings     []Reading
	Status       int         // of the response
	Header       http.Header // of the response
}

// Reading is how much of one of its windows a provider says is used.
type Reading struct {
	Window      string // hourly, 5h, daily, weekly, monthly or rate
	Scope       string // the models that have it in their names; "" = all
	UsedPercent Percent
	ResetAt     time.Time // zero = not said
}

// release is a request that was given up.
type release struct{ apiKeyID, requestID string }

// Hold names a request that holds what it was estimated to use.
type Hold struct {
	APIKeyID     string
	ConnectionID string
	Model        string
	RequestID    string

	unanswered fate
}

// fate is what may have become of the hold of a question that was not answered, or
// without a verdict, and whose request has its name from the client: of others nothing
// is known.
type fate uint8

const (
	mayCome   fate = iota + 1 // it may reach the log after what is published about it
	neverSent                 // there is no hold
)

// Consumption returns the consumption that settles the hold.
func (h Hold) Consumption(cost Amounts) Consumption {
	return Consumption{APIKeyID: h.APIKeyID, ConnectionID: h.ConnectionID, Model: h.Model, RequestID: h.RequestID, Cost: cost}
}

// nothing is a consumption of it. It has a price, else the window's calls would not all
// have one.
func (h Hold) nothing() Consumption { return h.Consumption(Amounts{NoRequests: true, Priced: true}) }

func (c Consumption) form() (events.Event, error) {
	e := events.Event{
		Kind: events.Consumption, ID: c.ID, Time: epoch(c.Time), APIKeyID: c.APIKeyID, ConnectionID: c.ConnectionID,
		Provider: c.Provider, Model: c.Model, RequestID: c.RequestID, Partial: c.Partial, Estimated: c.Estimated,
	}
	return e, setCost(&e, &c.Cost)
}

func (a Adjustment) form() (events.Event, error) {
	e := events.Event{
		Kind: events.Adjustment, ID: a.ID, Time: epoch(a.Time), APIKeyID: a.APIKeyID, ConnectionID: a.ConnectionID,
		Provider: a.Provider, Model: a.Model, RequestID: a.RequestID, Reason: a.Reason,
	}
	if !utf8.ValidString(a.Reason) {
		return e, refuse("reason " + quota.ErrIDUTF8.Error())
	}
	return e, setCost(&e, &a.Cost)
}

func setCost(e *events.Event, cost *Amounts) (err error) {
	if e.Cost, e.Given, err = cost.exact(); err != nil {
		return refuse("cost." + err.Error())
	}
	return nil
}

func (s Saturation) form() (events.Event, error) {
	e := events.Event{
		Kind: events.Saturation, ID: s.ID, Time: epoch(s.Time), ConnectionID: s.ConnectionID, Provider: s.Provider, Status: s.Status,
	}
	switch {
	case s.Header != nil && s.Readings != nil:
		return e, refuse("headers is there beside readings: send one of the two")
	case s.Header == nil && len(s.Readings) == 0:
		return e, refuse("readings is missing: send readings, or the headers of a response")
	}
	if s.Header != nil {
		e.Headers = make(map[string]string, len(s.Header))
		for name, values := range s.Header {
			e.Headers[name] = strings.Join(values, ", ")
		}
		return e, nil
	}
	for _, r := range s.Readings {
		w, ok := quota.ParseReadingWindow(r.Window)
		if !ok {
			return e, refuse("readings.window is not one of " + quota.WindowNames + ", or rate")
		}
		if err := checkTexts(r.Scope, "readings.scope"); err != nil {
			return e, refuse(err.Error())
		}
		e.Readings = append(e.Readings, events.Reading{Window: w, Scope: r.Scope, UsedPercent: quota.Amount(r.UsedPercent), ResetAt: epoch(r.ResetAt)})
	}
	return e, nil
}

func (r release) form() (events.Event, error) {
	return events.Event{Kind: events.Release, APIKeyID: r.apiKeyID, RequestID: r.requestID}, nil
}

// epoch returns epoch milliseconds, 0 for no time.
func epoch(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func refuse(message string) error {
	return &events.Rejection{Reason: events.Invalid, Message: message}
}

// encode checks the event as the engine will and returns its bytes. What it refuses
// would be acknowledged by the log and then lie in the list of rejected events,
// where the publisher does not look.
func encode(e *events.Event) ([]byte, error) {
	err := checkTexts(e.ID, "id", e.APIKeyID, "apiKeyId", e.ConnectionID, "connectionId", e.Provider, "provider",
		e.Model, "model", e.RequestID, "requestId")
	if err != nil {
		return nil, refuse(err.Error())
	}
	body := events.AppendJSON(nil, e)
	items := events.Decode(&events.Message{Subject: e.Kind.Subject(""), Data: body}, nil)
	if items[0].Err != nil {
		return nil, items[0].Err
	}
	return body, nil
}
