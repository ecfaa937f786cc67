package replay

import (
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/wire"
)

// sightings are the keys and the connections that something was consumed by, or on.
type sightings struct{ keys, connections map[string]bool }

func sightingsOf(s *projector.State) sightings {
	seen := sightings{make(map[string]bool), make(map[string]bool)}
	for _, k := range s.Keys() {
		seen.keys[k.ID] = k.LastEvent != 0
	}
	for _, c := range s.Connections() {
		seen.connections[c.ID] = c.LastEvent != 0
	}
	return seen
}

// names notes what the question names and nobody has used. A misspelt name is answered
// as a new one, which has everything left.
func (x *explainer) names(s *projector.State) {
	q, seen := &x.made.Question, sightingsOf(s)
	if !seen.keys[q.APIKeyID] {
		x.stranger("by key", q.APIKeyID)
	}
	if q.ConnectionID != "" && !seen.connections[q.ConnectionID] {
		x.stranger("on connection", q.ConnectionID)
	}
	for _, c := range q.Candidates {
		if !seen.connections[c.ConnectionID] {
			x.stranger("on connection", c.ConnectionID)
		}
	}
}

func (x *explainer) stranger(where, name string) {
	x.note("nothing was consumed %s %s up to message %d: look whether it is spelt as its gateway spells it; quotashare seen lists those that were seen",
		where, wire.Show(name), x.seq)
}
