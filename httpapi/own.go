package httpapi

import (
	"slices"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/usage"
)

// checkQuestions refuses questions about keys of others. One of them refuses the whole
// request: who asks for others is not set up as was meant.
func (c *caller) checkQuestions(qs []questions.Question) error {
	for i := range qs {
		if key := qs[i].APIKeyID; !c.owns(key) {
			return c.notTheirs(key)
		}
	}
	return nil
}

// checkEvent refuses an event about the key of somebody else.
func (c *caller) checkEvent(e *events.Event) *fault {
	if c.owns(e.APIKeyID) {
		return nil
	}
	return c.notTheirs(e.APIKeyID)
}

// ownKeys leaves the caller's keys of a list that is ours to change.
func (c *caller) ownKeys(list []Key) []Key {
	return slices.DeleteFunc(list, func(k Key) bool { return !c.owns(k.APIKeyID) })
}

// ownUsage returns what the caller may see of a pool: the rows of its own keys, and of
// the pool what shares follow from, its limits and totals. There is none when it has no
// row: then the caller has nothing to do with the pool, and is not told that it is there.
func (c *caller) ownUsage(s *usage.Snapshot) (own *usage.Snapshot, ok bool) {
	if !c.bound() {
		return s, true
	}
	copied := *s
	own = &copied
	own.Keys = ownRows(s.Keys, s.Keys, c)
	own.Dimensions = slices.Clone(s.Dimensions)
	for i := range own.Dimensions {
		d := &own.Dimensions[i]
		d.Uses = ownRows(d.Uses, s.Keys, c)
	}
	own.Backlog.Keys = slices.DeleteFunc(slices.Clone(s.Backlog.Keys), func(w usage.Wait) bool { return !c.owns(w.APIKeyID) })
	return own, len(own.Keys) > 0
}

// ownReplies leaves of the keys for which capacity is kept those of the caller: how much it
// is together is in the answer, and who the others are is not for it to know.
func (c *caller) ownReplies(rs []questions.Reply) {
	if !c.bound() {
		return
	}
	for i := range rs {
		for j := range rs[i].Dimensions {
			d := &rs[i].Dimensions[j]
			d.KeptFor = slices.DeleteFunc(d.KeptFor, func(k questions.Kept) bool { return !c.owns(k.APIKeyID) })
		}
	}
}

// ownRows leaves those of the rows whose key is the caller's; keys are in their order.
func ownRows[R any](rows []R, keys []usage.Key, c *caller) []R {
	var own []R
	for i := range rows {
		if c.owns(keys[i].ID) {
			own = append(own, rows[i])
		}
	}
	return own
}
