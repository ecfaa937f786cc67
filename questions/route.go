package questions

import (
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// RouteSubject is the subject of questions that want a connection chosen and held.
const RouteSubject = "quota.route"

// MaxScore bounds the score of a candidate.
const MaxScore = 1_000_000 * quota.RatioOne

// Candidate is a connection that a caller offers, with the score it has there. It
// is what the event of a hold says, so nothing is converted on the way.
type Candidate = events.Candidate

// RouteCandidate is a candidate as it was when the choice was made.
type RouteCandidate struct {
	ConnectionID  string
	Order         int         // in which they are to be tried: 1 is the one that is chosen, if any is
	Gate          string      // how far it came: blocked, capacity, saturated; "" = all the way
	InFlight      int64       // open holds on it, without that of this answer
	MaxConcurrent int64       // 0 = none, and absent
	Score         quota.Ratio // the caller's, times the factor of the verdict
	HasScore      bool
}

// Routed reports whether a connection is to be chosen: those that hold and name
// none, which only quota.route takes.
func (q *Question) Routed() bool { return q.Reserve && q.ConnectionID == "" }

// routePrefix begins the names of the routes that are made for pools.
const routePrefix = "qtSd/"

// RouteName returns the internal name of the route of a pool to a model:
//
//	qtSd/<pool>/<provider>/<model>
//
// The ids of pool and provider are escaped as those in subjects are, so that any
// id has a name and no two have the same; a slug of the pool's name would be
// another pool's tomorrow. The model is the rest as it is, for it has slashes.
func RouteName(pool, provider, model string) string {
	return routePrefix + events.EscapeID(pool) + "/" + events.EscapeID(provider) + "/" + model
}

// SplitRoute is the inverse of RouteName; ok is false for what RouteName does not
// give. Whether the pool has that provider, who knows the pools can tell.
func SplitRoute(name string) (pool, provider, model string, ok bool) {
	rest, ours := strings.CutPrefix(name, routePrefix)
	parts := strings.SplitN(rest, "/", 3)
	if !ours || len(parts) < 3 {
		return "", "", "", false
	}
	pool, err := events.UnescapeID(parts[0])
	provider, err2 := events.UnescapeID(parts[1])
	if err != nil || err2 != nil || quota.ValidateID(parts[2]) != nil {
		return "", "", "", false
	}
	return pool, provider, parts[2], true
}

// checkRoute gives what is wrong with the fields of a question of quota.route
// beside each other. What a route would do otherwise than asked is refused.
func (q *Question) checkRoute(have fields, faults *wire.Faults) {
	targets := 0
	for _, f := range [...]field{fieldPool, fieldRoute, fieldCandidates} {
		if have.has(f) {
			targets++
		}
	}
	switch {
	case have.has(fieldConnectionID):
		faults.Add("connectionId", "is chosen by a route: name a pool, a route or candidates, or ask quota.decide")
	case targets != 1:
		faults.Add("pool", "is one of three: send exactly one of pool, route and candidates")
	}
	if have.has(fieldRoute) && have.has(fieldModel) {
		faults.Add("model", "is there beside route, which names it: leave it out")
	}
	if have.has(fieldReserve) && !q.Reserve {
		faults.Add("reserve", "is false, and a route always holds what it chooses: leave it out")
	}
	if have.has(fieldAt) {
		faults.Add("at", "is not for a route: a hold is always taken now, leave it out")
	}
}

// takeRoute sets what the name of a route says, and reports whether it is one.
func (q *Question) takeRoute() (ok bool) {
	q.Pool, _, q.Model, ok = SplitRoute(q.Route)
	return ok
}

func (q *Question) readRoute(in wire.Reader) {
	v := in.Get("route")
	switch {
	case v.Kind == wire.Absent:
		return
	case v.Kind != wire.String:
		in.Fault("route", "is "+v.Kind.String()+", not a string")
		return
	}
	if q.Route = v.Text; !q.takeRoute() {
		in.Fault("route", "is no route of a pool: use qtSd/<pool>/<provider>/<model>, with the ids escaped as in subjects")
	}
}

func (q *Question) readCandidates(in wire.Reader) {
	objects, ok := in.Objects("candidates", events.MaxCandidates)
	if ok && len(objects) == 0 {
		in.Fault("candidates", "is empty: name the connections to choose from")
	}
	seen := make(map[string]struct{}, len(objects))
	for _, o := range objects {
		c := Candidate{ConnectionID: o.NeedID("connectionId")}
		c.Score, c.HasScore = o.Ratio("score", 0, MaxScore)
		if _, twice := seen[c.ConnectionID]; twice {
			o.Fault("connectionId", "is among the candidates twice")
		}
		seen[c.ConnectionID] = struct{}{}
		q.Candidates = append(q.Candidates, c)
	}
}

func readRouteCandidate(in wire.Reader) (c RouteCandidate) {
	c.ConnectionID = anyText(in, "connectionId")
	order, _ := in.Int("order", 0, maxListed)
	c.Order = int(order)
	c.Gate = anyText(in, "gate")
	c.InFlight, _ = in.Int("inFlight", 0, MaxSeq)
	c.MaxConcurrent, _ = in.Int("maxConcurrent", 0, MaxSeq)
	c.Score, c.HasScore = in.Ratio("score", 0, MaxScore)
	return c
}

func jsonCandidates(dst []byte, list []Candidate) []byte {
	if len(list) == 0 {
		return dst
	}
	open := `,"candidates":[{"connectionId":`
	for i := range list {
		dst = jsonString(dst, open, list[i].ConnectionID)
		if list[i].HasScore {
			dst = list[i].Score.Append(append(dst, `,"score":`...))
		}
		dst = append(dst, '}')
		open = `,{"connectionId":`
	}
	return append(dst, ']')
}

func jsonRoute(dst []byte, r *Reply) []byte {
	dst = jsonOptional(dst, `,"connectionId":`, r.ConnectionID)
	if len(r.Candidates) == 0 {
		return dst
	}
	open := `,"candidates":[{"connectionId":`
	for i := range r.Candidates {
		c := &r.Candidates[i]
		dst = jsonString(dst, open, c.ConnectionID)
		dst = jsonInt(dst, `,"order":`, int64(c.Order))
		dst = jsonOptional(dst, `,"gate":`, c.Gate)
		dst = jsonInt(dst, `,"inFlight":`, c.InFlight)
		if c.MaxConcurrent != 0 {
			dst = jsonInt(dst, `,"maxConcurrent":`, c.MaxConcurrent)
		}
		if c.HasScore {
			dst = c.Score.Append(append(dst, `,"score":`...))
		}
		dst = append(dst, '}')
		open = `,{"connectionId":`
	}
	return append(dst, ']')
}

func writeRoute(w *wire.Writer, r *Reply) {
	optionalString(w, "connectionId", r.ConnectionID)
	if len(r.Candidates) == 0 {
		return
	}
	w.Name("candidates")
	w.Array()
	for i := range r.Candidates {
		c := &r.Candidates[i]
		w.Object()
		stringField(w, "connectionId", c.ConnectionID)
		intField(w, "order", int64(c.Order))
		optionalString(w, "gate", c.Gate)
		intField(w, "inFlight", c.InFlight)
		if c.MaxConcurrent != 0 {
			intField(w, "maxConcurrent", c.MaxConcurrent)
		}
		if c.HasScore {
			w.Name("score")
			w.Ratio(c.Score)
		}
		w.End()
	}
	w.End()
}
