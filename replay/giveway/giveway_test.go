package giveway

import (
	"context"
	"errors"
	"testing"
	"time"
)

func always(context.Context) bool { return true }

func never(context.Context) bool { return false }

func TestABusyEngineIsWaitedForAndNotForEver(t *testing.T) {
	pause := Pause(always)
	began := time.Now()
	if err := pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < Longest {
		t.Errorf("waited %s", took)
	}
}

func TestAnIdleEngineIsAskedOnce(t *testing.T) {
	asked := 0
	pause := Pause(func(context.Context) bool { asked++; return false })
	if err := pause(t.Context()); err != nil || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

// work computes for at least that long, and returns for how long.
func work(atLeast time.Duration) time.Duration {
	began := time.Now()
	for time.Since(began) < atLeast {
		continue
	}
	return time.Since(began)
}

// A rest is as long as the runs before, however short each was, and the waiting is no
// part of a run.
func TestARestIsAsLongAsTheRuns(t *testing.T) {
	pause := Pause(never)
	began := time.Now()
	worked := time.Duration(0)
	for range 20 {
		worked += work(coarse / 2)
		if err := pause(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took < 2*min(worked, 20*coarse/2)-coarse {
		t.Errorf("%s of work and rest, of which %s were work", took, worked)
	}
}

func TestWhoeverEndsIsNotHeldUp(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, busy := range []func(context.Context) bool{always, never} {
		if err := Pause(busy)(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

func TestALogGrows(t *testing.T) {
	var (
		bytes uint64
		fault error
		asked int
	)
	growing := Growing(func(context.Context) (uint64, error) { asked++; return bytes, fault })
	bytes = 2 * growth
	if growing(t.Context()) {
		t.Error("it grows at the first look")
	}
	look := func(by int, err error) bool {
		bytes, fault = bytes+uint64(by), err
		before, is := asked, false
		for asked == before {
			is = growing(t.Context())
		}
		return is
	}
	for _, c := range []struct {
		by   int
		err  error
		want bool
	}{
		{growth, nil, true},
		{growth - 1, nil, false},
		{growth, errors.New("away"), false},
		{-growth, nil, false}, // it forgot more than it took
	} {
		if is := look(c.by, c.err); is != c.want {
			t.Errorf("by %d, %v: growing %t", c.by, c.err, is)
		}
	}
	before := asked
	if growing(t.Context()) || asked != before {
		t.Error("it asks again at once")
	}
}
