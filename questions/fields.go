package questions

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// field is a known field of a question.
type field uint

const (
	fieldAPIKeyID field = iota
	fieldConnectionID
	fieldPool
	fieldModel
	fieldEstimate
	fieldRequestID
	fieldReserve
	fieldLeaseMs
	fieldAt
	fieldMinSeq
	fieldMaxWaitMs
	fieldExplain
	fieldRoute // this and the next are of quota.route alone
	fieldCandidates
	numFields
)

var fieldNames = [numFields]string{
	"apiKeyId", "connectionId", "pool", "model", "estimate", "requestId",
	"reserve", "leaseMs", "at", "minSeq", "maxWaitMs", "explain", "route", "candidates",
}

// fieldOf finds a field by its exact name; the switch is three times as fast as
// a map.
func fieldOf(name string) (field, bool) {
	switch name {
	case "apiKeyId":
		return fieldAPIKeyID, true
	case "connectionId":
		return fieldConnectionID, true
	case "pool":
		return fieldPool, true
	case "model":
		return fieldModel, true
	case "estimate":
		return fieldEstimate, true
	case "requestId":
		return fieldRequestID, true
	case "reserve":
		return fieldReserve, true
	case "leaseMs":
		return fieldLeaseMs, true
	case "at":
		return fieldAt, true
	case "minSeq":
		return fieldMinSeq, true
	case "maxWaitMs":
		return fieldMaxWaitMs, true
	case "explain":
		return fieldExplain, true
	case "route":
		return fieldRoute, true
	case "candidates":
		return fieldCandidates, true
	}
	return 0, false
}

// fields is a set of fields: those that a question has.
type fields uint

func (s fields) has(f field) bool { return s>>f&1 == 1 }

// check gives what is wrong with the fields beside each other.
func (q *Question) check(have fields, routes bool) (faults wire.Faults) {
	if !have.has(fieldAPIKeyID) {
		faults.Add("apiKeyId", "is missing: name the key that asks")
	}
	if routes {
		q.checkRoute(have, &faults)
	} else {
		q.checkAsked(have, &faults)
	}
	return faults
}

// checkAsked gives what is wrong with a question of quota.decide.
func (q *Question) checkAsked(have fields, faults *wire.Faults) {
	connection, pool := have.has(fieldConnectionID), have.has(fieldPool)
	switch {
	case connection && pool:
		faults.Add("pool", "is there beside connectionId: name one of them")
	case !connection && !pool:
		faults.Add("connectionId", "is missing: name a connection, or a pool")
	case q.Reserve && pool:
		faults.Add("reserve", "needs a connectionId: ask quota.route to choose a connection of the pool and hold it")
	}
	if q.Reserve && have.has(fieldAt) {
		faults.Add("reserve", "is there beside at: a hold is always taken now, leave one of them out")
	}
}

// complete sets what follows from the fields. What is held is a request in
// flight, so it is one request unless it says otherwise; a question that holds
// nothing asks about the state as it is. A route holds what it chooses.
func (q *Question) complete(hasRequests, routes bool) {
	q.Reserve = q.Reserve || routes
	if q.Reserve && !hasRequests {
		q.Estimate[quota.Requests] = quota.Amount(quota.Requests.Scale())
	}
}

// WaitVerdict returns the longest time in milliseconds that the question may wait
// for the verdict on its hold. A route waits that long for an account, and its verdict
// comes after that.
func (q *Question) WaitVerdict() int64 {
	if q.Routed() {
		return q.Wait() + DefaultMaxWaitMs
	}
	return q.Wait()
}

// Wait returns the longest time in milliseconds that the question may wait for a
// sequence.
func (q *Question) Wait() int64 {
	if q.MaxWaitMs < 0 {
		return DefaultMaxWaitMs
	}
	return q.MaxWaitMs
}
