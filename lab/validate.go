package lab

import (
	"fmt"
	"slices"

	"github.com/quotashare/quotashare/quota"
)

// MostWindows bounds a scenario.
const MostWindows = 1_000

// Validate finds the first fault of a scenario, and names the field.
func (s *Scenario) Validate() error {
	switch {
	case s.Window >= quota.NumWindows:
		return fmt.Errorf("window: is none of ours: use %s", quota.WindowNames)
	case s.Windows < 1 || s.Windows > MostWindows:
		return fmt.Errorf("windows: is %d: use 1 to %d", s.Windows, MostWindows)
	case s.Warmup < 0 || s.Warmup >= s.Windows:
		return fmt.Errorf("warmup: is %d: leave at least one of the %d windows to be measured", s.Warmup, s.Windows)
	case s.Retry < 1 || s.Retry > s.Window.Millis():
		return fmt.Errorf("retry: is %d ms: use 1 to a window", s.Retry)
	case len(s.Keys) == 0:
		return fmt.Errorf("keys: are none: name one at least")
	}
	for i, k := range s.Keys {
		if err := k.validate(int64(s.Windows) * s.Window.Millis()); err != nil {
			return fmt.Errorf("keys[%d].%w", i, err)
		}
		if slices.ContainsFunc(s.Keys[:i], func(o Key) bool { return o.Name == k.Name }) {
			return fmt.Errorf("keys[%d].name: %q is there twice: keep one", i, k.Name)
		}
	}
	return nil
}

func (k *Key) validate(end int64) error {
	if k.Weight < 0 || k.Weight > 100*quota.RatioOne {
		return fmt.Errorf("weight: is %s: use 0 to 100", k.Weight)
	}
	var before int64
	for i, q := range k.Requests {
		switch {
		case q.At < before || q.At >= end:
			return fmt.Errorf("requests[%d].at: is %d: keep them in order of time, before the end at %d", i, q.At, end)
		case q.Size < 1 || q.Size > Whole:
			return fmt.Errorf("requests[%d].size: is %d: use 1 to %d", i, q.Size, Whole)
		}
		before = q.At
	}
	return nil
}
