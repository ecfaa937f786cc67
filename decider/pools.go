package decider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
)

// Pools implements httpapi.Configuration.
func (e *Engine) Pools() []httpapi.Pool {
	p := e.current.Load()
	if p == nil {
		return nil
	}
	list := p.state.Pools()
	out := make([]httpapi.Pool, len(list))
	for i := range list {
		out[i] = httpapi.Pool(list[i])
	}
	return out
}

// Pool implements httpapi.Configuration.
func (e *Engine) Pool(id string) (httpapi.Pool, bool) {
	p := e.current.Load()
	if p == nil {
		return httpapi.Pool{}, false
	}
	got, ok := p.state.Pool(id)
	return httpapi.Pool(got), ok
}

// ChangePool implements httpapi.Configuration.
func (e *Engine) ChangePool(ctx context.Context, id string, change httpapi.PoolChange, m httpapi.Meta) (httpapi.Pool, error) {
	var now projector.Pool
	var next *plans.Pool
	done, err := e.write(ctx, &configWrite{
		subject: events.ConfigPool.Subject(id), do: events.ConfigPut, meta: m, revision: poolRevision(id),
		body: func(p *projection) (body []byte, err error) {
			now, _ = p.state.Pool(id)
			if next, err = change(now.Doc); err != nil || now.Doc != nil && now.Doc.Equal(next) {
				return nil, err
			}
			return plans.AppendPoolJSON(nil, next), nil
		},
	})
	switch {
	case err != nil:
		return httpapi.Pool{}, err
	case m.Trial != nil:
		e.try(done.projection, m.Trial, projector.Draft{PoolID: id, Pool: next})
		done.stamp = now.Stamp
	case done.stamp.Revision == 0:
		return httpapi.Pool(now), nil
	}
	return done.pool(next), nil
}

// try fills in what the draft would do.
func (e *Engine) try(p *projection, t *httpapi.Trial, d projector.Draft) {
	blocked, freed := p.state.Try(&d, e.now())
	t.Blocked, t.Freed = effects(blocked), effects(freed)
}

// pool is the pool as it was written: somebody may have changed it since, and
// who wrote wants to see their own change under its own revision.
func (w *written) pool(doc *plans.Pool) httpapi.Pool {
	if doc.CreatedAt == 0 { // the fold gave it the time of the event
		dated := *doc
		dated.CreatedAt = w.stamp.UpdatedAt
		doc = &dated
	}
	p := w.state.Regard(doc, nil)
	p.Stamp = w.stamp
	return httpapi.Pool(p)
}

func poolRevision(id string) func(*projection) uint64 {
	return func(p *projection) uint64 {
		old, _ := p.state.Pool(id)
		return old.Revision
	}
}

// DeletePool implements httpapi.Configuration.
func (e *Engine) DeletePool(ctx context.Context, id string, m httpapi.Meta) error {
	done, err := e.remove(ctx, events.ConfigPool.Subject(id), m, poolRevision(id))
	if err == nil && !done.anything {
		return httpapi.ErrNotFound
	}
	if err == nil && m.Trial != nil {
		e.try(done.projection, m.Trial, projector.Draft{PoolID: id})
	}
	return err
}

// undoWithin bounds how long the pools of an import that failed are taken back.
const undoWithin = 10 * time.Second

// CreatePools implements httpapi.Configuration. The log takes one document a
// message, so all or nothing is made of several writes: each sees to it that the
// pools in force are those written before it, as they were written, and one that
// fails takes those back. (The broker's atomic batches would need a stream that
// allows them to everybody.)
func (e *Engine) CreatePools(ctx context.Context, docs []*plans.Pool, m httpapi.Meta) (made []httpapi.Pool, err error) {
	if err := e.fit(docs, m); err != nil {
		return nil, err
	}
	for _, doc := range docs {
		p, err := e.ChangePool(ctx, doc.ID, e.beside(doc, made), m)
		if err != nil {
			return nil, e.undo(ctx, made, err)
		}
		made = append(made, p)
	}
	return made, nil
}

// fit reports the first document that no message of the log can hold.
func (e *Engine) fit(docs []*plans.Pool, m httpapi.Meta) error {
	for i, doc := range docs {
		w := configWrite{subject: events.ConfigPool.Subject(doc.ID), do: events.ConfigPut, meta: m}
		if err := e.fits(w.message(plans.AppendPoolJSON(nil, doc))); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

// errMet says that an import has met somebody else's change.
var errMet = httpapi.Refuse(httpapi.ErrLostRace, "somebody else changed the pools at the same time")

// beside creates doc where the pools in force are those that were made, and no
// others.
func (e *Engine) beside(doc *plans.Pool, made []httpapi.Pool) httpapi.PoolChange {
	revisions := make(map[string]uint64, len(made))
	for _, p := range made {
		revisions[p.Doc.ID] = p.Revision
	}
	return func(*plans.Pool) (*plans.Pool, error) {
		there := e.Pools()
		if len(made) == 0 && len(there) > 0 {
			return nil, httpapi.Refuse(httpapi.ErrConflict, "there are pools already: an import of several wants none, create these one by one")
		}
		for _, p := range there {
			if revisions[p.Doc.ID] != p.Revision {
				return nil, errMet
			}
		}
		if len(there) != len(made) {
			return nil, errMet
		}
		return doc, nil
	}
}

// undo deletes the pools of an import again, the newest first, and says with the
// cause what became of them. What somebody has changed since stays.
func (e *Engine) undo(ctx context.Context, made []httpapi.Pool, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	var stay []string
	for _, p := range slices.Backward(made) {
		err := e.DeletePool(ctx, p.Doc.ID, httpapi.Meta{Actor: p.Actor, Reason: "the import did not succeed", IfMatch: true, ExpectedRevision: p.Revision})
		if _, there := e.Pool(p.Doc.ID); err != nil && there {
			stay = append(stay, fmt.Sprintf("pool %q (%v)", p.Doc.ID, err))
		}
	}
	switch {
	case len(made) == 0:
		return cause
	case len(stay) > 0:
		return fmt.Errorf("%w; what the import had written is taken back, but for %s", cause, strings.Join(stay, ", "))
	}
	return fmt.Errorf("%w; what the import had written is taken back: try again", cause)
}

func effects(list []projector.Effect) []httpapi.Effect {
	out := make([]httpapi.Effect, len(list))
	for i := range list {
		out[i] = httpapi.Effect(list[i])
	}
	return out
}
