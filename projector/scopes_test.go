package projector_test

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/projector"
)

// TestScopesAreBounded: every meter is looked at by every event of its connection.
// What comes after the last that fits is counted, and the windows of all models go
// on.
func TestScopesAreBounded(t *testing.T) {
	s := newScene(t)
	for i := range 100 {
		s.publish("quota.saturation", fmt.Sprintf(`{"connectionId":"c","readings":[{"window":"weekly","scope":"model %d","usedPercent":1}]}`, i))
	}
	s.publish("quota.saturation", `{"connectionId":"c","readings":[{"window":"weekly","usedPercent":5},{"window":"weekly","scope":"model 3","usedPercent":7}]}`)
	if n := len(s.Signals(s.now)); n != 65 {
		t.Errorf("%d signals, want 64 scopes and the window of all models", n)
	}
	if got := s.Counts().ByProblem[4]; projector.Problems[4] != "scope" || got != 36 {
		t.Errorf("%d readings of %q are counted as not taken in, want 36", got, projector.Problems[4])
	}
}
