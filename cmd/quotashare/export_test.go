package main

import (
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/livelog"
)

// TestARangeHasBothOfItsTimes: a message of that very millisecond is in it.
func TestARangeHasBothOfItsTimes(t *testing.T) {
	nc, js := brokertest.Start(t).Log()
	var times []int64
	for range 20 {
		ack, err := js.Publish(t.Context(), "quota.due", []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := js.Stream(t.Context(), events.Stream)
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.GetMsg(t.Context(), ack.Sequence)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, m.Time.UnixMilli())
	}
	log, err := livelog.NATSLog(livelog.NATSOptions{Conn: nc})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range times {
		var first, last uint64
		for i, stored := range times {
			if stored < at {
				first = uint64(i + 1)
			}
			if stored <= at {
				last = uint64(i + 1)
			}
		}
		c := exportCmd{From: place{ms: at}, To: place{ms: at}}
		from, to, err := c.bounds(t.Context(), &replay.Options{Log: log})
		if from != first+1 || to != last || err != nil {
			t.Errorf("at %d: %d to %d, %v, want %d to %d", at, from, to, err, first+1, last)
		}
	}
}
