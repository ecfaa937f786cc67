package questions

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// scanner is one encoding's reader of the usual shape. Every method gives
// ok = false at anything it is not sure about: another form of the same value,
// or a fault, which the tree then describes. Texts are printable ASCII and are parts of the scanned message.
type scanner interface {
	// kind looks at the next value.
	kind() wire.Kind
	// open enters an array or object; n is its length, or -1 when it ends by a mark.
	open() (n int, ok bool)
	// item goes to the i-th item of the array that open gave n for.
	item(i, n int) (more, ok bool)
	// member goes to the value of the i-th member of the object that open gave n for.
	member(i, n int) (name string, more, ok bool)
	text() (string, bool)
	flag() (bool, bool)
	// whole reads an integer of at most 15 digits that is not negative.
	whole() (int64, bool)
	// number reads a number as its text, or as an integer with text "".
	number() (text string, whole int64, ok bool)
	// end reports that nothing follows.
	end() bool
}

// scan reads the message if all of it has the usual shape.
func (r *Request) scan(text string, enc wire.Encoding) (ok bool, err *Error) {
	// The scanners live in the Request, because through an interface they would be
	// allocated anew for every message.
	var s scanner
	if enc == wire.Msgpack {
		r.msgpack = msgpackScanner{doc: text}
		s = &r.msgpack
	} else {
		r.json = jsonScanner{doc: text}
		s = &r.json
	}
	if s.kind() == wire.Array {
		r.IsArray = true
		ok, err = r.scanArray(s)
	} else {
		ok = r.scanQuestion(s)
	}
	return ok && (err != nil || s.end()), err
}

func (r *Request) scanArray(s scanner) (ok bool, err *Error) {
	n, ok := s.open()
	if !ok {
		return false, nil
	}
	for i := 0; ; i++ {
		more, ok := s.item(i, n)
		if !ok || !more {
			return ok, nil
		}
		if i == MaxItems {
			return true, tooMany()
		}
		if !r.scanQuestion(s) {
			return false, nil
		}
	}
}

func (r *Request) scanQuestion(s scanner) bool {
	if s.kind() != wire.Object {
		return false
	}
	n, ok := s.open()
	if !ok {
		return false
	}
	q := r.add()
	var have fields
	hasRequests := false
	for i := 0; ; i++ {
		name, more, ok := s.member(i, n)
		if !ok {
			return false
		}
		if !more {
			break
		}
		f, known := fieldOf(name)
		if !known || have.has(f) || f >= fieldRoute && !r.routes {
			return false
		}
		have |= 1 << f
		if f == fieldEstimate {
			hasRequests, ok = q.scanEstimate(s)
		} else {
			ok = q.scanField(s, f)
		}
		if !ok {
			return false
		}
	}
	if q.check(have, r.routes) != nil {
		return false
	}
	q.complete(hasRequests, r.routes)
	return true
}

func (q *Question) scanField(s scanner, f field) (ok bool) {
	switch f {
	case fieldAPIKeyID:
		q.APIKeyID, ok = scanID(s)
	case fieldConnectionID:
		q.ConnectionID, ok = scanID(s)
	case fieldPool:
		q.Pool, ok = scanID(s)
	case fieldModel:
		q.Model, ok = scanID(s)
	case fieldRequestID:
		q.RequestID, ok = scanID(s)
	case fieldReserve:
		q.Reserve, ok = s.flag()
	case fieldExplain:
		q.Explain, ok = s.flag()
	case fieldLeaseMs:
		q.LeaseMs, ok = s.whole()
		ok = ok && q.LeaseMs >= 1 && q.LeaseMs <= MaxLeaseMs
	case fieldMaxWaitMs:
		q.MaxWaitMs, ok = s.whole()
		ok = ok && q.MaxWaitMs <= MaxMaxWaitMs
	case fieldMinSeq:
		var seq int64
		seq, ok = s.whole()
		q.MinSeq = uint64(seq)
	case fieldAt:
		q.At, ok = scanInstant(s)
	case fieldRoute:
		q.Route, ok = s.text()
		ok = ok && q.takeRoute()
	}
	return ok
}

// scanID needs to look at the length only: text has let pass printable ASCII.
func scanID(s scanner) (string, bool) {
	id, ok := s.text()
	return id, ok && id != "" && len(id) <= quota.MaxIDLength
}

func scanInstant(s scanner) (int64, bool) {
	if s.kind() == wire.String {
		text, ok := s.text()
		if !ok {
			return 0, false
		}
		ms, err := quota.ParseInstant(text)
		return ms, err == nil
	}
	whole, ok := s.whole()
	if !ok {
		return 0, false
	}
	ms, err := quota.CheckInstant(whole)
	return ms, err == nil
}

func (q *Question) scanEstimate(s scanner) (hasRequests, ok bool) {
	if s.kind() != wire.Object {
		return false, false
	}
	n, ok := s.open()
	if !ok {
		return false, false
	}
	var have [quota.NumUnits]bool
	for i := 0; ; i++ {
		name, more, ok := s.member(i, n)
		if !ok || !more {
			return have[quota.Requests], ok
		}
		u, known := quota.ParseUnit(name)
		if !known || have[u] {
			return false, false
		}
		have[u] = true
		if q.Estimate[u], ok = scanAmount(s, u); !ok {
			return false, false
		}
	}
}

func scanAmount(s scanner, u quota.Unit) (quota.Amount, bool) {
	var text string
	var ok bool
	switch s.kind() {
	case wire.String:
		text, ok = s.text()
	case wire.Number:
		var whole int64
		if text, whole, ok = s.number(); text == "" {
			// 15 digits may pass the largest amount, and times the scale even an int64.
			limit := int64(u.Max()) / u.Scale()
			return quota.Amount(whole * u.Scale()), ok && whole <= limit
		}
	}
	if !ok {
		return 0, false
	}
	a, err := quota.ParseAmount(text, u)
	return a, err == nil && a >= 0
}
