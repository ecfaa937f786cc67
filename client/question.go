package client

import (
	"slices"
	"time"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Question asks whether a key may use a connection, or any connection of a pool.
type Question struct {
	APIKeyID     string
	ConnectionID string // or Pool
	Pool         string // a pool's id, when the connection is not chosen yet
	Model        string // for caps of models
	Estimate     Amounts

	// Reserve holds the estimate until the call is over. Then an allow is to be
	// followed by Settle, or by Release when the call was never made; a block holds
	// nothing.
	Reserve bool
	// RequestID names the request. A question that reserves and has none is given
	// one, so that even a hold whose answer was lost can be settled.
	RequestID string
	Lease     time.Duration // of the hold, 1 ms to 1 h; 0 = the engine's setting

	MinSeq  uint64        // answer from a state that includes this sequence of the log
	MaxWait time.Duration // for MinSeq and the verdict on a hold; 0 = as long as the deadline allows
	At      time.Time     // ask for that time; zero = now
	Explain bool          // show every dimension
}

// Decision is the answer to a question.
type Decision struct {
	Allow        bool
	Reason       string // the engine's, or ReasonFailOpen, or ReasonDegraded
	DecisionID   string // "" when the engine gave no answer
	Deprioritize bool
	ScoreFactor  float64 // what to multiply the connection's score by; 1 = nothing
	Status       int     // what to tell one's own caller: 200, 429 or 503
	Message      string  // of a block, for people
	RetryAfter   time.Duration
	RetryAt      time.Time // zero = not known
	Binding      *questions.Binding
	Scope        string
	Alternatives []string
	WouldBlock   bool
	AsOf         questions.AsOf
	Degraded     []string // what is wrong with the answer; without an answer, its Cause
	Detail       string   // more about that
	Dimensions   []questions.Dimension
	Traffic      *questions.Traffic // with Explain, of a connection of a pool; else nil

	ConnectionID string                     // that Route chose, and where the call is held
	Candidates   []questions.RouteCandidate // of Route, in the order in which they are to be tried

	// Hold names the request, for Settle, Renew and Release.
	Hold Hold
}

// Answer is a Decision, or why the question cannot be answered.
type Answer struct {
	Decision

	Err error
}

// Reasons of decisions that the client makes by itself.
const (
	ReasonFailOpen = "fail-open" // allowed because there was no answer
	ReasonDegraded = "degraded"  // blocked for that, by Options.FailClosed
)

// form makes a question of the engine's form. The error says what is wrong with
// it, as the engine would.
func (q *Question) form() (f questions.Question, err error) {
	f = questions.Question{
		APIKeyID: q.APIKeyID, ConnectionID: q.ConnectionID, Pool: q.Pool, Model: q.Model, RequestID: q.RequestID,
		Reserve: q.Reserve, LeaseMs: millisUp(q.Lease), MinSeq: q.MinSeq, MaxWaitMs: -1, Explain: q.Explain,
	}
	if !q.At.IsZero() {
		f.At = q.At.UnixMilli()
	}
	if q.APIKeyID == "" {
		return f, invalid("apiKeyId is missing: name the key that asks")
	}
	var given uint8
	if f.Estimate, given, err = q.Estimate.exact(); err != nil {
		return f, invalid("estimate." + err.Error())
	}
	if q.Reserve && given&(1<<quota.Requests) == 0 {
		f.Estimate[quota.Requests] = quota.Amount(quota.Requests.Scale())
	}
	return f, checkTexts(f.APIKeyID, "apiKeyId", f.ConnectionID, "connectionId", f.Pool, "pool", f.Model, "model", f.RequestID, "requestId")
}

// checkTexts checks ids, each with its field's name after it. An absent one is for
// others to miss. It is done before they are written, because writing puts U+FFFD
// in the place of what is no UTF-8, and two keys could become one.
func checkTexts(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == "" {
			continue
		}
		if err := quota.ValidateID(pairs[i]); err != nil {
			return invalid(pairs[i+1] + " " + err.Error())
		}
	}
	return nil
}

func invalid(message string) error {
	return &questions.Error{Code: questions.CodeInvalid, Message: message}
}

// check reads a written question as the engine will, so that a bad one is an error
// whether the engine answers or not.
func check(body []byte) error {
	var r questions.Request
	if err := r.Decode(body, wire.JSON); err != nil {
		return err
	}
	return nil
}

// millisUp rounds up: what lasts at all lasts a millisecond, and 0 is the default.
func millisUp(d time.Duration) int64 {
	if d <= 0 {
		return int64(d / time.Millisecond)
	}
	return int64((d-1)/time.Millisecond) + 1
}

// decision makes a Decision of a reply.
func decision(q *questions.Question, r *questions.Reply) Decision {
	d := Decision{
		Allow: r.Allow, Reason: r.Reason, DecisionID: r.DecisionID, Deprioritize: r.Deprioritize,
		ScoreFactor: float64(r.ScoreFactor) / float64(quota.RatioOne), Status: r.HTTPStatus, Message: r.Message,
		RetryAfter: time.Duration(r.RetryAfterMs) * time.Millisecond, Scope: r.Scope, Alternatives: r.Alternatives,
		WouldBlock: r.WouldBlock, ConnectionID: r.ConnectionID, Candidates: r.Candidates, AsOf: r.AsOf, Degraded: slices.Clip(r.Degraded), Detail: r.Detail, Dimensions: r.Dimensions,
		Hold: holdOf(q, r.RequestID),
	}
	if r.RetryAt != 0 {
		d.RetryAt = time.UnixMilli(r.RetryAt)
	}
	if r.HasBinding {
		d.Binding = &r.Binding
	}
	if r.HasTraffic {
		d.Traffic = &r.Traffic
	}
	if r.ConnectionID != "" {
		d.Hold.ConnectionID = r.ConnectionID
	}
	return d
}

func holdOf(q *questions.Question, requestID string) Hold {
	if requestID == "" {
		requestID = q.RequestID
	}
	return Hold{APIKeyID: q.APIKeyID, ConnectionID: q.ConnectionID, Model: q.Model, RequestID: requestID}
}
