package events

import (
	"slices"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// scanItems appends the events of a message of the common form. ok is false when
// the message is of another form, or wrong in any way; then the items mean
// nothing, and decodeTree says what it is.
func scanItems(data []byte, enc wire.Encoding, kind Kind, dst []Item) (items []Item, ok bool) {
	s := wire.NewScanner(string(data), enc)
	start := len(dst)
	if !s.IsArray() {
		dst = extend(dst)
		dst[start].Raw = data
		dst[start].Event.scan(&s, kind)
		return dst, s.Done()
	}
	members := s.Array()
	for s.Item(&members) {
		if len(dst)-start == MaxEvents {
			return nil, false
		}
		dst = extend(dst)
		item := &dst[len(dst)-1]
		at := s.Offset()
		item.Event.scan(&s, kind)
		item.Raw = data[at:s.Offset():s.Offset()]
	}
	return dst, s.Done() && len(dst) > start
}

// extend adds an empty item in place; append would build it and copy it.
func extend(dst []Item) []Item {
	dst = slices.Grow(dst, 1)[:len(dst)+1]
	dst[len(dst)-1] = Item{}
	return dst
}

// field is the name of a field that the scanner knows, as a bit.
type field uint32

const (
	fieldID field = 1 << iota
	fieldTime
	fieldType
	fieldAPIKeyID
	fieldConnectionID
	fieldProvider
	fieldModel
	fieldRequestID
	fieldReason
	fieldPartial
	fieldEstimated
	fieldCost
	fieldEstimate
	fieldReadings
	fieldPool
	fieldLease
	fieldMaxWait
	fieldDecisionID
	fieldTree // one that only the tree reads

	fieldUnknown field = 0

	commonFields = fieldID | fieldTime | fieldType
	usageFields  = commonFields | fieldAPIKeyID | fieldConnectionID | fieldProvider | fieldModel | fieldRequestID | fieldCost
)

func fieldOf(name string) field {
	switch name {
	case "id":
		return fieldID
	case "time":
		return fieldTime
	case "type":
		return fieldType
	case "apiKeyId":
		return fieldAPIKeyID
	case "connectionId":
		return fieldConnectionID
	case "provider":
		return fieldProvider
	case "model":
		return fieldModel
	case "requestId":
		return fieldRequestID
	case "reason":
		return fieldReason
	case "partial":
		return fieldPartial
	case "estimated":
		return fieldEstimated
	case "cost":
		return fieldCost
	case "estimate":
		return fieldEstimate
	case "readings":
		return fieldReadings
	case "pool":
		return fieldPool
	case "leaseMs":
		return fieldLease
	case "maxWaitMs":
		return fieldMaxWait
	case "decisionId":
		return fieldDecisionID
	case "specversion", "headers", "candidates":
		return fieldTree
	}
	return fieldUnknown
}

// shapes has the fields that the scanner reads of each kind, and those that must
// be there. The alternatives (headers of a response, candidates of a hold) are
// left to the tree.
var shapes = [...]struct{ known, needed field }{
	Consumption: {usageFields | fieldPartial | fieldEstimated, fieldAPIKeyID | fieldConnectionID},
	Adjustment:  {usageFields | fieldReason, fieldAPIKeyID | fieldConnectionID | fieldReason},
	Saturation:  {commonFields | fieldConnectionID | fieldProvider | fieldReadings, fieldConnectionID | fieldReadings},
	Release:     {commonFields | fieldAPIKeyID | fieldRequestID | fieldDecisionID, fieldAPIKeyID | fieldRequestID},
	Hold: {
		commonFields | fieldAPIKeyID | fieldRequestID | fieldConnectionID | fieldPool | fieldModel | fieldEstimate | fieldLease | fieldMaxWait | fieldDecisionID,
		fieldID | fieldAPIKeyID | fieldRequestID | fieldEstimate | fieldLease | fieldDecisionID,
	},
	Due: {commonFields, 0},
}

// scan reads one event. It makes the scanner give up on a name that comes twice,
// a missing field and everything that read finds a fault in.
func (e *Event) scan(s *wire.Scanner, kind Kind) {
	e.Kind = kind
	shape := &shapes[kind]
	var seen, have field
	var others strangers
	members := s.Object()
	for name, ok := s.Field(&members); ok; name, ok = s.Field(&members) {
		f := fieldOf(name)
		if f == fieldTree || f&seen != 0 {
			s.GiveUp()
			return
		}
		if f&shape.known == 0 {
			others.skip(s, name)
			continue
		}
		seen |= f
		if !s.Null() {
			have |= f
			e.scanField(s, f)
		}
	}
	if have&shape.needed != shape.needed || kind == Hold && (e.ConnectionID == "") == (e.Pool == "") {
		s.GiveUp()
	}
	e.setDefaults()
}

// strangers are the names of fields that mean nothing in an event of its kind.
// They are ignored, but must not come twice either.
type strangers struct {
	names [8]string
	n     int
}

// skip goes past the simple value of such a field.
func (o *strangers) skip(s *wire.Scanner, name string) {
	if o.n == len(o.names) || slices.Contains(o.names[:o.n], name) {
		s.GiveUp()
		return
	}
	o.names[o.n] = name
	o.n++
	s.Skip()
}

func (e *Event) scanField(s *wire.Scanner, f field) {
	switch f {
	case fieldID:
		e.ID = s.ID()
	case fieldTime:
		e.Time = s.Instant()
	case fieldType:
		_ = s.String() // of no meaning without specversion
	case fieldAPIKeyID:
		e.APIKeyID = s.ID()
	case fieldConnectionID:
		e.ConnectionID = s.ID()
	case fieldProvider:
		e.Provider = s.ID()
	case fieldModel:
		e.Model = s.ID()
	case fieldRequestID:
		e.RequestID = s.ID()
	case fieldReason:
		e.scanReason(s)
	case fieldPartial:
		e.Partial = s.Flag()
	case fieldEstimated:
		e.Estimated = s.Flag()
	case fieldCost, fieldEstimate:
		e.scanAmounts(s)
	case fieldReadings:
		e.scanReadings(s)
	case fieldPool:
		e.Pool = s.ID()
	case fieldLease:
		e.LeaseMs = scanInt(s, 1, MaxLeaseMs)
	case fieldMaxWait:
		e.MaxWaitMs = scanInt(s, 0, MaxWaitMs)
	case fieldDecisionID:
		e.DecisionID = s.ID()
	}
}

func (e *Event) scanReason(s *wire.Scanner) {
	e.Reason = s.String()
	if e.Reason == "" || len(e.Reason) > MaxReason {
		s.GiveUp()
	}
}

func scanInt(s *wire.Scanner, low, high int64) int64 {
	n := s.Int()
	if n < low || n > high {
		s.GiveUp()
	}
	return n
}

func (e *Event) scanAmounts(s *wire.Scanner) {
	members := s.Object()
	var seen uint8
	for name, ok := s.Field(&members); ok; name, ok = s.Field(&members) {
		u, known := quota.ParseUnit(name)
		if !known || seen&(1<<u) != 0 {
			s.GiveUp()
			return
		}
		seen |= 1 << u
		if s.Null() {
			continue
		}
		a := s.Amount(u)
		if a < 0 && e.Kind != Adjustment {
			s.GiveUp()
			return
		}
		e.Cost[u] = a
		e.Given |= 1 << u
	}
}

func (e *Event) scanReadings(s *wire.Scanner) {
	members := s.Array()
	for n := 0; s.Item(&members); n++ {
		if n == MaxReadings {
			s.GiveUp()
			return
		}
		r, ok := scanReading(s)
		if !ok {
			s.GiveUp()
			return
		}
		e.addReading(r)
	}
}

func scanReading(s *wire.Scanner) (r Reading, ok bool) {
	const window, scope, used, reset = 1, 2, 4, 8
	var seen, have int
	members := s.Object()
	for name, more := s.Field(&members); more; name, more = s.Field(&members) {
		f := 0
		switch name {
		case "window":
			f = window
		case "scope":
			f = scope
		case "usedPercent":
			f = used
		case "resetAt":
			f = reset
		}
		if f == 0 || seen&f != 0 {
			return r, false
		}
		seen |= f
		if s.Null() {
			continue
		}
		have |= f
		switch f {
		case window:
			if r.Window, ok = quota.ParseReadingWindow(s.String()); !ok {
				return r, false
			}
		case scope:
			r.Scope = s.ID()
		case used:
			r.UsedPercent = s.Amount(quota.Percent)
		case reset:
			r.ResetAt = s.Instant()
		}
	}
	return r, have&(window|used) == window|used && r.UsedPercent >= 0
}
