package assembly

import (
	"io"
	"net/http"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/ingest"
)

// front is the engine of a program that only takes events: it publishes and
// folds nothing, so it is ready at once, and keeps what a log that is away does not take.
// A node of a cluster is ready when it has caught up with the others: until then none of
// them may be stopped.
type front struct {
	*decider.Engine
	server *ingest.Server // nil when somebody else runs it
}

// Ready implements httpapi.Engine.
func (f front) Ready() bool { return f.server == nil || f.server.Current() }

// eventsOnly leaves those paths of the HTTP door that need no fold.
func eventsOnly(h http.Handler) http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/api/quota/events", "/api/quota/release", "/healthz", "/readyz", "/metrics"} {
		mux.Handle(path, h)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		// A caller that is gone does not read it.
		_, _ = io.WriteString(w, `{"error":{"message":"path: this program only takes events, at /api/quota/events and /api/quota/release: ask a decider for anything else",`+
			`"type":"not_found_error","code":"not-found"}}`+"\n")
	})
	return mux
}
