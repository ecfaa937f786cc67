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
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

func (a *api) listPools(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	offset, limit := q.page()
	if err := q.err(); err != nil {
		return err
	}
	pools := a.engine.Pools()
	total := len(pools)
	pools = pools[min(offset, total):min(offset+limit, total)]
	doc := []byte(`{"pools":[`)
	for i, p := range pools {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = appendPool(doc, p)
	}
	doc = fmt.Appendf(doc, "],\"total\":%d}\n", total)
	writeBody(w, http.StatusOK, "application/json", doc)
	return nil
}

func (a *api) getPool(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	p, ok := a.engine.Pool(id)
	if !ok {
		return noPool(id)
	}
	writePool(w, http.StatusOK, p)
	return nil
}

// createPool writes a pool that is new. What depends on other pools is looked
// at first, for the better text, and decided by the fold.
func (a *api) createPool(w http.ResponseWriter, r *http.Request) error {
	doc, err := readJSON(r)
	if err != nil {
		return err
	}
	if doc.Kind == wire.Array {
		return invalid("the body is an array: the import of several pools is not available yet, send one pool after the other")
	}
	p, faults := plans.ParsePool("", doc)
	m, more := metaOf(r)
	if err := append(faults, more...).Err(); err != nil {
		return err
	}
	if p.ID == "" {
		p.ID = strings.ToLower(rand.Text())
	}
	if f := a.poolConflict(p); f != nil {
		return f
	}
	p.CreatedAt = time.Now().UnixMilli()
	m.IfMatch, m.ExpectedRevision = true, 0 // it must not exist
	made, err := a.engine.PutPool(r.Context(), p, m)
	if _, taken := a.engine.Pool(p.ID); taken && errors.Is(err, ErrLostRace) {
		return idTaken(p.ID)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/quota/pools/"+url.PathEscape(p.ID))
	writePool(w, http.StatusCreated, made)
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
	if _, ok := a.engine.Pool(id); !ok {
		return noPool(id)
	}
	if err := a.engine.DeletePool(r.Context(), id, m); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
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
			return idTaken(p.ID)
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
	f := conflict("id is " + quote(id) + ", which another pool has: choose another, or leave it out to have one made")
	f.faults.Add("id", "is taken")
	return f
}

func appendPool(dst []byte, p Pool) []byte {
	return plans.AppendPoolView(dst, p.Doc, plans.Stamp{Revision: p.Revision}, p.Enforcing, nil)
}

func writePool(w http.ResponseWriter, status int, p Pool) {
	w.Header().Set("ETag", etag(p.Revision))
	doc := appendPool([]byte(`{"pool":`), p)
	writeBody(w, status, "application/json", append(doc, '}', '\n'))
}

func (a *api) getPlan(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("connectionId")
	if err := checkConnectionID(id); err != nil {
		return err
	}
	writePlan(w, a.engine.Plan(id))
	return nil
}

// putPlan sets the plan of a connection by hand.
func (a *api) putPlan(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("connectionId")
	if err := checkConnectionID(id); err != nil {
		return err
	}
	doc, err := readJSON(r)
	if err != nil {
		return err
	}
	dimensions, faults := plans.ParsePlan(doc)
	if doc.Kind == wire.Object {
		body, _ := wire.Read(doc, "", &faults)
		if body.Has("connectionId") && body.Get("connectionId").Text != id {
			body.Fault("connectionId", "is not "+quote(id)+", the one in the path: leave it out")
		}
	}
	m, more := metaOf(r)
	if err := append(faults, more...).Err(); err != nil {
		return err
	}
	made, err := a.engine.PutPlan(r.Context(), id, dimensions, m)
	if err != nil {
		return err
	}
	writePlan(w, made)
	return nil
}

// deletePlan returns a connection to the plan of the catalogue, or to none.
func (a *api) deletePlan(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("connectionId")
	if err := checkConnectionID(id); err != nil {
		return err
	}
	m, faults := metaOf(r)
	if err := faults.Err(); err != nil {
		return err
	}
	if err := a.engine.DeletePlan(r.Context(), id, m); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func checkConnectionID(id string) error {
	if err := quota.ValidateID(id); err != nil {
		return invalidFields(wire.Faults{{Field: "connectionId", Problem: err.Error()}})
	}
	return nil
}

func writePlan(w http.ResponseWriter, p Plan) {
	w.Header().Set("ETag", etag(p.Revision))
	doc := plans.AppendPlanView([]byte(`{"plan":`), plans.PlanView{
		ConnectionID: p.ConnectionID, Provider: p.Provider, Plan: p.Plan, Stamp: plans.Stamp{Revision: p.Revision},
	})
	writeBody(w, http.StatusOK, "application/json", append(doc, '}', '\n'))
}

func etag(revision uint64) string { return `"` + strconv.FormatUint(revision, 10) + `"` }
