package httpapi

import (
	"net/http"
	"strings"

	"github.com/quotashare/quotashare/schemas"
)

// asyncAPI serves the document that says what goes over NATS.
func (a *api) asyncAPI(w http.ResponseWriter, _ *http.Request) error {
	writeBody(w, http.StatusOK, "application/json", a.async)
	return nil
}

// oneSchema serves one schema. They refer to each other by names beside their own.
func oneSchema(w http.ResponseWriter, r *http.Request) error {
	name, isFile := strings.CutSuffix(r.PathValue("file"), ".json")
	data, ok := schemas.Open(name)
	if !isFile || !ok {
		return notFound("path: " + quote(r.URL.EscapedPath()) + " is no schema: use /api/schemas/ and " + strings.Join(schemas.Names(), ", ") + ", with .json")
	}
	writeBody(w, http.StatusOK, "application/schema+json", data)
	return nil
}
