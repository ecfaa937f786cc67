package httpapi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/wire"
)

func (a *api) listPools(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	offset, limit := q.page()
	if err := q.err(); err != nil {
		return err
	}
	pools := a.engine.Pools()
	writePools(w, http.StatusOK, page(pools, offset, limit), len(pools))
	return nil
}

func writePools(w http.ResponseWriter, status int, pools []Pool, total int) {
	doc := []byte(`{"pools":[`)
	for i, p := range pools {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = appendPool(doc, p)
	}
	doc = fmt.Appendf(doc, "],\"total\":%d}\n", total)
	writeBody(w, status, "application/json", doc)
}

func (a *api) getPool(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	p, ok := a.engine.Pool(id)
	if !ok {
		return noPool(id)
	}
	writePool(w, http.StatusOK, p, nil)
	return nil
}

// createPool writes a pool that is new, or, of an array, all of a system that has
// none. What depends on other pools is looked at before, for the better text, and
// decided by the fold.
func (a *api) createPool(w http.ResponseWriter, r *http.Request) error {
	doc, err := a.documents.readJSON(r)
	if err != nil {
		return err
	}
	if doc.Kind == wire.Array {
		return a.importPools(w, r, doc.Items)
	}
	p, faults := plans.ParsePool("", doc)
	m, more := metaOf(r)
	if err := append(faults, more...).Err(); err != nil {
		return err
	}
	dress(p)
	made, err := a.engine.ChangePool(r.Context(), p.ID, func(now *plans.Pool) (*plans.Pool, error) {
		if now != nil {
			return nil, idTaken(p.ID)
		}
		if f := a.poolConflict(p); f != nil {
			return nil, f
		}
		return p, nil
	}, m)
	if err != nil {
		return err
	}
	made.Warnings = append(made.Warnings, plans.UnknownPoolFields(doc)...)
	if m.Trial != nil {
		writePool(w, http.StatusOK, made, m.Trial)
		return nil
	}
	w.Header().Set("Location", poolPath(p.ID))
	writePool(w, http.StatusCreated, made, nil)
	return nil
}

// poolPath returns the path of a pool. Of the characters that stand for themselves
// in a path only those two names have another meaning.
func poolPath(id string) string {
	if id == "." || id == ".." {
		return "/api/quota/pools/" + strings.ReplaceAll(id, ".", "%2E")
	}
	return "/api/quota/pools/" + url.PathEscape(id)
}

// dress gives a new pool what its document left out. The time it was created may
// be given: a copy of a pool is as old as the pool.
func dress(p *plans.Pool) {
	if p.ID == "" {
		p.ID = strings.ToLower(rand.Text())
	}
	if p.CreatedAt == 0 {
		p.CreatedAt = time.Now().UnixMilli()
	}
}

// patchPool merges a patch into the document in force, whichever that is when it
// is written; or says what that would do.
func (a *api) patchPool(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	patch, err := a.documents.readJSON(r)
	if err != nil {
		return err
	}
	m, faults := metaOf(r)
	change := func(now *plans.Pool) (*plans.Pool, error) {
		if now == nil {
			return nil, noPool(id)
		}
		next, more := plans.PatchPool(now, patch)
		if err := append(more, faults...).Err(); err != nil {
			return nil, err
		}
		if f := a.poolConflict(next); f != nil {
			return nil, f
		}
		return next, nil
	}
	made, err := a.engine.ChangePool(r.Context(), id, change, m)
	if err != nil {
		return err
	}
	made.Warnings = append(made.Warnings, plans.UnknownPoolFields(patch)...)
	writePool(w, http.StatusOK, made, m.Trial)
	return nil
}

func noPool(id string) error {
	return notFound("pool " + quote(id) + " does not exist: GET /api/quota/pools lists those that do")
}

// deletePool takes a pool out of force. Its consumption stays counted on its
// connections.
func (a *api) deletePool(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	m, faults := metaOf(r)
	if err := faults.Err(); err != nil {
		return err
	}
	err := a.engine.DeletePool(r.Context(), id, m)
	if errors.Is(err, ErrNotFound) {
		return noPool(id)
	}
	if err != nil {
		return err
	}
	writeDeleted(w, m.Trial)
	return nil
}

// poolConflict names every connection that is in another pool.
func (a *api) poolConflict(p *plans.Pool) *fault {
	owner := make(map[string]*plans.Pool, len(p.Connections)) // of each connection of p
	for _, c := range p.Connections {
		owner[c.ConnectionID] = nil
	}
	for _, other := range a.engine.Pools() {
		if other.Doc.ID == p.ID {
			continue
		}
		for _, c := range other.Doc.Connections {
			if _, wanted := owner[c.ConnectionID]; wanted {
				owner[c.ConnectionID] = other.Doc
			}
		}
	}
	var faults wire.Faults
	for i, c := range p.Connections {
		if o := owner[c.ConnectionID]; o != nil {
			faults.Add(fmt.Sprintf("connections[%d].connectionId", i), fmt.Sprintf("is %s, which is in pool %s (%s) already: take it out there first",
				quote(c.ConnectionID), quote(o.ID), quote(o.Name)))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	f := conflict(faults.Error())
	f.faults = faults
	return f
}

func idTaken(id string) *fault {
	problem := "is " + quote(id) + ", which another pool has: choose another, or leave it out to have one made"
	f := conflict("id " + problem)
	f.faults.Add("id", problem)
	return f
}

func appendPool(dst []byte, p Pool) []byte {
	return plans.AppendPoolView(dst, p.Doc, p.Stamp, p.Enforcing, p.Warnings)
}

func writePool(w http.ResponseWriter, status int, p Pool, t *Trial) {
	writeDocument(w, status, p.Revision, appendPool([]byte(`{"pool":`), p), t)
}

// writeDocument ends and writes the answer that doc begins, with what a trial
// found if it was one.
func writeDocument(w http.ResponseWriter, status int, revision uint64, doc []byte, t *Trial) {
	w.Header().Set("ETag", etag(revision))
	if t != nil {
		doc = t.append(append(doc, ','))
	}
	writeBody(w, status, "application/json", append(doc, '}', '\n'))
}

func etag(revision uint64) string { return `"` + strconv.FormatUint(revision, 10) + `"` }
