package plans

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/schemas/schematest"
)

// TestDocumentsAreAsTheirSchemasSay, as they are written into the log.
func TestDocumentsAreAsTheirSchemasSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		check(t, "pool", AppendPoolJSON(nil, drawPool(t)))
		var dims []Dimension
		for u := range quota.Unit(quota.NumUnits) {
			for w := range quota.Window(quota.NumWindows) {
				if rapid.Bool().Draw(t, "dimension") {
					dims = append(dims, Dimension{u, w, quota.Amount(rapid.Int64Range(0, int64(u.Max())).Draw(t, "limit"))})
				}
			}
		}
		check(t, "plan", AppendPlanJSON(nil, drawID(t, "connection"), dims))
		s := DefaultSettings()
		for i := range s {
			n := rapid.Int64Range(settings[i].low, settings[i].high).Draw(t, "value")
			s[i] = SettingValue{n, Origin(rapid.IntRange(int(Default), int(Environment)).Draw(t, "origin")), drawID(t, "from")}
		}
		check(t, "settings", AppendSettingsJSON(nil, &s))
	})
}

func check(t *rapid.T, message string, doc []byte) {
	t.Helper()
	if err := schematest.Payload(message, doc); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
}
