package jetsource

import (
	"testing"

	"github.com/nats-io/nats.go"
)

// TestEndsOfPulls: what a pull has not delivered is not waited for any more,
// and only an end that is not its regular one ends the session. A complete pull
// has an end too: taken for a failure it would cost a new consumer every few
// thousand messages, which nothing but the speed would show.
func TestEndsOfPulls(t *testing.T) {
	const wanted = 3 * pullBatch // so much that nothing more is asked for
	for _, tt := range []struct {
		code, description, left string
		wanted                  int
		fails                   bool
	}{
		{"100", "Idle Heartbeat", "", wanted, false},
		{"408", "Request Timeout", "10", wanted - 10, false},
		{"409", "Message Size Exceeds MaxBytes", "7", wanted - 7, false},
		{"409", "Batch Completed", "0", wanted, false},
		{"409", "Batch Completed", "", wanted, true},
		{"409", "Consumer Deleted", "5", wanted, true},
		{"409", "Leadership Change", "5", wanted, true},
		{"503", "", "", wanted, true},
	} {
		s := &session{wanted: wanted}
		h := nats.Header{"Status": {tt.code}, "Description": {tt.description}}
		if tt.left != "" {
			h.Set("Nats-Pending-Messages", tt.left)
		}
		pending := uint64(5)
		err := s.status(h, &pending)
		if (pending == 0) != (tt.code == "100") {
			t.Errorf("%s %s: %d pending; only a heartbeat says that nothing is", tt.code, tt.description, pending)
		}
		if (err != nil) != tt.fails || s.wanted != tt.wanted {
			t.Errorf("%s %s: error %v and %d wanted, want an error %v and %d", tt.code, tt.description, err, s.wanted, tt.fails, tt.wanted)
		}
	}
}
