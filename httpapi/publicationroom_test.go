package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestMessagesFitTheLog: events share messages of no more than the log takes, in their
// order, and each has the result of its own.
func TestMessagesFitTheLog(t *testing.T) {
	d := newDouble()
	d.room = 500
	srv := serve(t, d, Config{})
	whole := arrayOf(40, 10)
	body := whole[:len(whole)-1] + `,{"id":"large","apiKeyId":"` + strings.Repeat("k", 240) + `","connectionId":"` + strings.Repeat("c", 240) + `"},{"id":"last","apiKeyId":"k","connectionId":"c"}]`
	_, a := srv.post(t, "application/json", body)
	if a.Accepted != 41 || a.Rejected != 1 || len(a.Results) != 42 {
		t.Fatalf("%+v", a)
	}
	at := map[string]uint64{}
	for i, m := range d.messages {
		var list []struct{ ID string }
		if err := json.Unmarshal([]byte(m.data), &list); err != nil || len(list) != m.events || len(m.data) > d.room {
			t.Errorf("message %d: %d bytes, %d events, %v", i, len(m.data), m.events, err)
		}
		for _, e := range list {
			at[e.ID] = m.seq
		}
	}
	if len(d.messages) > 10 {
		t.Errorf("%d messages: they have room for more", len(d.messages))
	}
	for i, r := range a.Results {
		want := fmt.Sprintf("e%d", i)
		switch i {
		case 40:
			if r.ID != "large" || r.Error == nil || r.Error.Code != "too-large" {
				t.Errorf("what is too large alone: %+v", r)
			}
			continue
		case 41:
			want = "last"
		}
		if r.ID != want || r.Error != nil || r.Seq != at[want] || r.Seq == 0 {
			t.Errorf("%s: %+v, it is at %d", want, r, at[want])
		}
	}
}

// TestMessagesAreFull to the byte.
func TestMessagesAreFull(t *testing.T) {
	for spare, want := range map[int]int{0: 1, -1: 2} {
		d := newDouble()
		srv := serve(t, d, Config{})
		body := arrayOf(2, 3)
		d.room = len(body) + spare
		if _, a := srv.post(t, "application/json", body); a.Accepted != 2 || len(d.messages) != want {
			t.Errorf("room for %d of %d bytes: %d messages, %+v", d.room, len(body), len(d.messages), a)
		}
	}
}
