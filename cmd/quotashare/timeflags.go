package main

import (
	"fmt"

	"github.com/quotashare/quotashare/quota"
)

// timeFlag is a flag that is a time.
type timeFlag struct{ name, text string }

// times checks those that were given. What the engine would say of one knows neither
// the flag nor what people type.
func times(flags ...timeFlag) error {
	for _, f := range flags {
		if f.text == "" {
			continue
		}
		if _, err := quota.ParseInstant(f.text); err != nil {
			return fmt.Errorf("%s %q %w, such as 2026-09-21T14:00:00Z", f.name, f.text, err)
		}
	}
	return nil
}
