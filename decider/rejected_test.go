package decider

import (
	"strings"
	"testing"
)

// What others put into the stream of rejected events hides none of them, and is
// said.
func TestStrayMessagesHideNoRejectedEvent(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir(), nil)
	for subject, body := range map[string]string{
		"quota.rejected.stray": "not a record", "quota.rejected.99.0": `{"stream":"QUOTA","seq":1}`,
	} {
		_, err := r.Publish(r.within(), subject, "", []byte(body))
		r.must(err)
	}
	seq := r.publish("quota.consumption", "not an event")
	list := r.rejected(3)
	if len(list) != 1 || list[0].Seq != seq {
		t.Errorf("rejected: %+v, want event %d alone", list, seq)
	}
	if !strings.Contains(r.said.String(), "quota.rejected.stray") {
		t.Errorf("the log does not name the stray message: %s", r.said.String())
	}
}
