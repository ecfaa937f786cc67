package demo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a gateway that answers after a second.
type slow struct{ answered atomic.Int64 }

// RoundTrip implements http.RoundTripper.
func (s *slow) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(time.Second)
	s.answered.Add(1)
	return &http.Response{StatusCode: http.StatusTooManyRequests, Body: io.NopCloser(bytes.NewReader(nil))}, nil
}

// A key has so many requests under way and no more, however slow the answers are.
func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gateway := &slow{}
		asked, most := int64(0), int64(0)
		until := func(context.Context, time.Duration) error {
			most = max(most, asked-gateway.answered.Load())
			asked++
			return nil
		}
		d := newDemo(Options{For: Shortest}, midday)
		must(t, d.askAs(t.Context(), &caller{habit: d.habit("bob"), http: &http.Client{Transport: gateway}}, until))
		if most != inFlight || asked != 50 {
			t.Errorf("%d of %d were under way at once, want %d", most, asked, inFlight)
		}
	})
}

// Requests are made at their times, and a demo is as long as it should be.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		until := pacer(start)
		for _, at := range []time.Duration{-time.Hour, 0, 30 * time.Millisecond, time.Minute, time.Minute} {
			must(t, until(t.Context(), at))
			if took := time.Since(start); took != max(at, 0) {
				t.Errorf("it was %s, want %s", took, at)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := until(ctx, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	})
}
