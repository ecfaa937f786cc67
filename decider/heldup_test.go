package decider

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
)

// TestAnEngineWithoutRoomSaysSo, where it would else send people to a page that cannot
// be had either.
func TestAnEngineWithoutRoomSaysSo(t *testing.T) {
	e, err := New(Options{Conn: startBroker(t, t.TempDir()), Dir: t.TempDir() + "/state", Version: "0.0.1", Settings: plans.DefaultSettings()})
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpapi.New(httpapi.Config{Engine: e, Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ended error
		want  string
	}{
		{errors.New("something else"), "try again"},
		{fmt.Errorf("store: %w", projector.ErrFull), errNoRoom.Error()},
		{nil, "try again"},
	} {
		e.ended(tt.ended)
		for _, path := range []string{"/readyz", "/api/quota/state", "/api/quota/changes"} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil))
			if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("after %v %s answers %d %s", tt.ended, path, w.Code, w.Body)
			}
		}
	}
}
