package plans_test

import (
	"testing"

	"github.com/quotashare/quotashare/plans"
)

// What a program is told goes over the default and over another environment,
// never over a stored value.
func TestAdopt(t *testing.T) {
	env := plans.DefaultSettings()
	env[plans.MaxLagMs] = plans.SettingValue{N: 7_000, Origin: plans.Environment}
	for _, c := range []struct {
		name     string
		now      plans.SettingValue
		want     plans.SettingValue
		replaced int
		changed  bool
	}{
		{"default", plans.SettingValue{N: 5_000}, plans.SettingValue{N: 7_000, Origin: plans.Environment, From: "me"}, 0, true},
		{"default of the same value", plans.SettingValue{N: 7_000}, plans.SettingValue{N: 7_000, Origin: plans.Environment, From: "me"}, 0, true},
		{"another environment", plans.SettingValue{N: 6_000, Origin: plans.Environment, From: "you"}, plans.SettingValue{N: 7_000, Origin: plans.Environment, From: "me"}, 1, true},
		{"another environment that agrees", plans.SettingValue{N: 7_000, Origin: plans.Environment, From: "you"}, plans.SettingValue{N: 7_000, Origin: plans.Environment, From: "you"}, 0, false},
		{"stored", plans.SettingValue{N: 6_000, Origin: plans.Stored}, plans.SettingValue{N: 6_000, Origin: plans.Stored}, 0, false},
	} {
		now := plans.DefaultSettings()
		now[plans.MaxLagMs] = c.now
		now[plans.HoldTTLMs] = plans.SettingValue{N: 1, Origin: plans.Environment, From: "you"} // nobody sets it here
		next, replaced, changed := now.Adopt(&env, "me")
		if next[plans.MaxLagMs] != c.want || len(replaced) != c.replaced || changed != c.changed {
			t.Errorf("%s: %+v, %d replaced, changed %v", c.name, next[plans.MaxLagMs], len(replaced), changed)
		}
		if next[plans.HoldTTLMs] != now[plans.HoldTTLMs] {
			t.Errorf("%s: what is not set changed to %+v", c.name, next[plans.HoldTTLMs])
		}
	}
}
