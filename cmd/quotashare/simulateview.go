package main

import (
	"encoding/json"
	"io"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// simulatedView and the others are how a simulation is printed for programs. What is a
// part of the limit is one: 0.5 is a half of it.
type simulatedView struct {
	Seed uint64    `json:"seed"`
	Runs []runView `json:"runs"`
}

type runView struct {
	Scenario string     `json:"scenario"`
	About    string     `json:"about"`
	Kind     string     `json:"kind"`
	WindowMs int64      `json:"windowMs"`
	Windows  int        `json:"windows"`
	Rules    []ruleView `json:"rules"`
}

type ruleView struct {
	Name        string       `json:"name"`
	Rule        string       `json:"rule"` // first-come too, which is no rule of a pool
	Threshold   *json.Number `json:"threshold,omitempty"`
	Reserve     *int64       `json:"reserve,omitempty"`
	Runs        int          `json:"runs"`
	Served      json.Number  `json:"served"`
	Missed      json.Number  `json:"missed"`
	Excess      json.Number  `json:"excess"`
	Gap         json.Number  `json:"gap"`
	Jain        json.Number  `json:"jain"`
	WorstWaitMs int64        `json:"worstWaitMs"`
	InVain      int          `json:"waitsInVain"`
	Claims      int          `json:"promisesClaimed"`
	Broken      int          `json:"promisesBroken"`
	Over        int          `json:"overAdmissions"`
	Questions   int          `json:"questions"`
	Refused     int          `json:"refused"`
	Keys        []keyView    `json:"keys,omitempty"` // of one run
}

type keyView struct {
	Name    string      `json:"apiKeyId"`
	Weight  json.Number `json:"weight"`
	Share   json.Number `json:"share"`
	Asked   json.Number `json:"asked"`
	Optimum json.Number `json:"optimum"`
	Served  json.Number `json:"served"`
	WaitMs  int64       `json:"worstWaitMs"`
}

func simulatedJSON(w io.Writer, seed uint64, found []compared) error {
	v := simulatedView{Seed: seed, Runs: []runView{}}
	for i := range found {
		b := &found[i]
		run := runView{Scenario: b.Name, About: b.About, Kind: b.Kind.String(), WindowMs: b.Window.Millis(), Windows: b.Windows}
		for k := range b.Rows {
			run.Rules = append(run.Rules, viewOfRule(&b.Rows[k]))
		}
		v.Runs = append(v.Runs, run)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // keys have any names, and nobody takes this for HTML
	return e.Encode(v)
}

func viewOfRule(r *ruled) ruleView {
	v := ruleView{
		Name: r.Rule.Name, Rule: ruleName(r.Rule), Runs: r.Runs,
		Served: part(r.Served), Missed: part(r.Missed), Excess: part(r.Excess), Gap: part(r.Gap), Jain: part(r.Jain),
		WorstWaitMs: r.WaitMs, InVain: r.GaveUp, Claims: r.Claims, Broken: r.Broken, Over: r.Over, Questions: r.Questions, Refused: r.Refused,
	}
	switch at := part(r.Rule.Threshold); v.Rule {
	case plans.Guarantee.String():
		v.Reserve = &r.Rule.Reserve
	case plans.Threshold.String():
		v.Threshold = &at
	}
	if r.Result != nil {
		for _, k := range r.Result.Keys {
			v.Keys = append(v.Keys, keyView{
				Name: k.Name, Weight: part(k.Weight), Share: partOfLimit(k.Share), Asked: partOfLimit(k.Asked),
				Optimum: partOfLimit(k.Optimum), Served: partOfLimit(k.Served), WaitMs: k.WaitMs,
			})
		}
	}
	return v
}

func part(r quota.Ratio) json.Number { return json.Number(r.String()) }

func partOfLimit(a quota.Amount) json.Number {
	return json.Number(quota.AppendFixed(nil, int64(a), 8)) // lab.Whole is 10^8
}
