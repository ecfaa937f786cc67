package plans

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

var stamp = Stamp{Revision: 7, UpdatedAt: quota.MinInstant, Actor: "ann", Reason: `a "why"`}

const stamped = `"revision":7,"updatedAt":"2000-01-01T00:00:00.000Z","actor":"ann","reason":"a \"why\""`

func TestPoolView(t *testing.T) {
	p := &Pool{ID: "p", Name: "n", Provider: "x", CreatedAt: quota.MinInstant}
	document := strings.TrimSuffix(string(AppendPoolJSON(nil, p)), "}")
	if !strings.HasSuffix(document, `"createdAt":"2000-01-01T00:00:00.000Z"`) {
		t.Error(document)
	}
	warnings := wire.Faults{{Field: "mode", Problem: "is off"}, {Field: "x", Problem: "is y"}}
	for want, got := range map[string][]byte{
		`,"revision":0,"enforcing":false,"warnings":[]}`:                                                                     AppendPoolView(nil, p, Stamp{}, false, nil),
		`,` + stamped + `,"enforcing":true,"warnings":[{"field":"mode","problem":"is off"},{"field":"x","problem":"is y"}]}`: AppendPoolView(nil, p, stamp, true, warnings),
	} {
		if diff := cmp.Diff(document+want, string(got)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}

func TestPlanView(t *testing.T) {
	kimi := PlanView{ConnectionID: "c", Provider: "kimi", Plan: PlanOf(nil, "kimi")}
	manual := PlanView{ConnectionID: "c", Pool: "p", Plan: Plan{Source: Manual}, Stamp: stamp, Warnings: wire.Faults{{Field: "f", Problem: "is"}}}
	for want, got := range map[string]PlanView{
		`{"connectionId":"c","provider":"kimi","poolId":null,"dimensions":[{"unit":"requests","window":"hourly","limit":1500}],"source":"catalogue","revision":0,"warnings":[]}`: kimi,
		`{"connectionId":"c","provider":"","poolId":"p","dimensions":[],"source":"manual",` + stamped + `,"warnings":[{"field":"f","problem":"is"}]}`:                            manual,
	} {
		if diff := cmp.Diff(want, string(AppendPlanView(nil, got))); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}

func TestSettingsView(t *testing.T) {
	s := DefaultSettings()
	s[SaturationThreshold] = SettingValue{N: 250_000, Origin: Stored}
	s[MaxLagMs] = SettingValue{N: 7_000, Origin: Environment, From: "decider a"}
	want := `{"saturationThreshold":{"value":0.25,"source":"stored","default":0.5},` +
		`"softDeprioritizeFactor":{"value":0.7,"source":"default","default":0.7},` +
		`"consumptionRetentionDays":{"value":14,"source":"default","default":14},` +
		`"signalTtlMs":{"value":30000,"source":"default","default":30000},` +
		`"holdTtlMs":{"value":300000,"source":"default","default":300000},` +
		`"decisionSampleRate":{"value":0.01,"source":"default","default":0.01},` +
		`"maxLagMs":{"value":7000,"source":"environment","from":"decider a","default":5000},` + stamped + `}`
	if diff := cmp.Diff(want, string(AppendSettingsView(nil, &s, stamp))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestProviderView(t *testing.T) {
	var rows []string
	for _, p := range Providers() {
		rows = append(rows, string(AppendProvider(nil, p)))
	}
	want := []string{
		`{"provider":"codex","aliases":[],"dimensions":[{"unit":"percent","window":"5h","limit":100},{"unit":"percent","window":"weekly","limit":100}]}`,
		`{"provider":"claude","aliases":["claude-code"],"dimensions":[{"unit":"percent","window":"5h","limit":100},{"unit":"percent","window":"weekly","limit":100}]}`,
		`{"provider":"glm","aliases":["zai"],"dimensions":[{"unit":"tokens","window":"5h","limit":0},{"unit":"tokens","window":"weekly","limit":0}]}`,
		`{"provider":"minimax","aliases":[],"dimensions":[{"unit":"tokens","window":"5h","limit":0},{"unit":"tokens","window":"weekly","limit":0}]}`,
		`{"provider":"bailian","aliases":["bailian-coding-plan"],"dimensions":[{"unit":"percent","window":"5h","limit":100},{"unit":"percent","window":"weekly","limit":100},{"unit":"percent","window":"monthly","limit":100}]}`,
		`{"provider":"kimi","aliases":[],"dimensions":[{"unit":"requests","window":"hourly","limit":1500}]}`,
		`{"provider":"alibaba","aliases":[],"dimensions":[{"unit":"requests","window":"monthly","limit":90000}]}`,
		`{"provider":"openai","aliases":[],"dimensions":[]}`,
		`{"provider":"anthropic","aliases":[],"dimensions":[]}`,
		`{"provider":"unknown","aliases":[],"dimensions":[]}`,
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
