package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A line names the first keys and counts the rest.
func TestEffectsAreBounded(t *testing.T) {
	for _, n := range []int{0, 1, mostNamed, mostNamed + 1, 10_000} {
		var o outcome
		var names []string
		for i := range n {
			key := fmt.Sprintf("k%d", i)
			o.Freed = append(o.Freed, effect{"p", key, "fair-share", struct{ Model string }{}})
			if i < mostNamed {
				names = append(names, key+" of pool p (fair-share)")
			}
		}
		if n > mostNamed {
			names = append(names, fmt.Sprintf("and %d more", n-mostNamed))
		}
		var want []string
		if n > 0 {
			want = []string{"would free: " + strings.Join(names, ", ")}
		}
		if got := o.effects(new(step)); !slices.Equal(got, want) {
			t.Errorf("%d keys: %q\nwant %q", n, got, want)
		}
	}
}

func TestEffectNamesItsModel(t *testing.T) {
	o, err := read([]byte(`{"dryRun":true,"blocked":[{"poolId":"p","apiKeyId":"*","reason":"model-cap","binding":{"unit":"usd","window":"hourly","model":"gpt-5"},"retryAfterMs":null}],"freed":[]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := o.effects(new(step)), []string{"would block: * of pool p (model-cap on gpt-5)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
