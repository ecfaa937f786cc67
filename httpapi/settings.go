package httpapi

import (
	"net/http"

	"github.com/quotashare/quotashare/plans"
)

// getSettings shows every setting, with where its value comes from.
func (a *api) getSettings(w http.ResponseWriter, _ *http.Request) error {
	writeSettings(w, a.engine.Settings(), nil)
	return nil
}

// putSettings stores the values that are given, and takes away those that are
// null.
func (a *api) putSettings(w http.ResponseWriter, r *http.Request) error {
	doc, err := a.documents.readJSON(r)
	if err != nil {
		return err
	}
	m, faults := metaOf(r)
	made, err := a.engine.ChangeSettings(r.Context(), func(now plans.Settings) (plans.Settings, error) {
		next, more := now.Change(doc)
		return next, append(more, faults...).Err()
	}, m)
	if err != nil {
		return err
	}
	writeSettings(w, made, m.Trial)
	return nil
}

func writeSettings(w http.ResponseWriter, s Settings, t *Trial) {
	writeDocument(w, http.StatusOK, s.Revision, plans.AppendSettingsView([]byte(`{"settings":`), &s.Values, s.Stamp), t)
}
