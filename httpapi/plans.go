package httpapi

import (
	"fmt"
	"net/http"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// listPlans lists the plans of the connections known, and those of the catalogue.
func (a *api) listPlans(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	offset, limit := q.page()
	if err := q.err(); err != nil {
		return err
	}
	list, known := a.engine.Plans(offset, limit)
	doc := []byte(`{"plans":[`)
	for i, p := range list {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = plans.AppendPlanView(doc, p)
	}
	doc = fmt.Appendf(doc, "],\"total\":%d,\"catalogue\":[", known)
	for i, p := range plans.Providers() {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = plans.AppendProvider(doc, p)
	}
	writeBody(w, http.StatusOK, "application/json", append(doc, ']', '}', '\n'))
	return nil
}

func (a *api) getPlan(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("connectionId")
	if err := checkConnectionID(id); err != nil {
		return err
	}
	writePlan(w, a.engine.Plan(id), nil)
	return nil
}

// putPlan sets the plan of a connection by hand.
func (a *api) putPlan(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("connectionId")
	if err := checkConnectionID(id); err != nil {
		return err
	}
	doc, err := a.documents.readJSON(r)
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
	made.Warnings = append(made.Warnings, plans.UnknownPlanFields(doc)...)
	writePlan(w, made, m.Trial)
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
	writeDeleted(w, m.Trial)
	return nil
}

func checkConnectionID(id string) error {
	if err := quota.ValidateID(id); err != nil {
		return invalidFields(wire.Faults{{Field: "connectionId", Problem: err.Error()}})
	}
	return nil
}

func writePlan(w http.ResponseWriter, p plans.PlanView, t *Trial) {
	writeDocument(w, http.StatusOK, p.Revision, plans.AppendPlanView([]byte(`{"plan":`), p), t)
}
