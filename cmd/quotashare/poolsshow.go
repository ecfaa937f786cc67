package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/plans"
)

type poolsShowCmd struct {
	ID     string `arg:"" name:"id" help:"The pool."`
	JSON   bool   `name:"json" help:"Print its usage as it came."`
	server `embed:"" group:"Configuration"`
}

// usage is what is shown of a pool's use. A number that is unknown is nil.
type usage struct {
	GeneratedAt time.Time
	Dimensions  []struct {
		Unit, Window       string
		Limit, UsedPercent *json.Number
		ConsumedTotal      json.Number
		Mode               string
		Kept               *json.Number // by the rule guarantee, else nil
		KeptUntil          string
		PerConnection      []connectionUse
		PerKey             []keyUse
	}
	Keys []struct {
		APIKeyID, Decision, Reason, Detail string
		Deprioritize                       bool
		RetryAt                            *string
		WouldBlock                         bool
	}
	UnlistedKeys int
	Signals      []signal
}

type connectionUse struct {
	ConnectionID  string
	Limit         *json.Number
	ConsumedTotal json.Number
	ProviderUsed  *json.Number
}

type keyUse struct {
	APIKeyID                       string
	Consumed                       json.Number
	FairShare, Remaining, Promised *json.Number
}

func (s *poolsShowCmd) run(ctx context.Context, p program.Process) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	path := pathOf(poolsPath, s.ID)
	answer, err := c.get(ctx, path+"/usage", nil)
	if err != nil {
		return noPool(s.ID, err)
	}
	if s.JSON {
		return show(p.Stdout, answer)
	}
	var use struct{ Usage usage }
	if err := readFields(answer, &use); err != nil {
		return err
	}
	if answer, err = c.get(ctx, path, nil); err != nil {
		return noPool(s.ID, err)
	}
	var doc struct{ Pool json.RawMessage }
	if err := readFields(answer, &doc); err != nil {
		return err
	}
	pool, err := readPool(doc.Pool)
	if err != nil {
		return err
	}
	return sayPool(p.Stdout, &pool, &use.Usage)
}

func sayPool(w io.Writer, p *pool, u *usage) error {
	fmt.Fprintf(w, "%s, pool %s of %s, mode %s%s\n", configfile.Show(p.Name), configfile.Show(p.ID), configfile.Show(p.Provider), p.Mode, ruleText(p))
	fmt.Fprintf(w, "revision %d, %s%s%s\n", p.Revision, p.UpdatedAt, after(" by ", oneLine(p.Actor)), after(": ", oneLine(p.Reason)))
	for _, warn := range p.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warn)
	}
	if err := sayKeys(w, p, u); err != nil {
		return err
	}
	for i := range u.Dimensions {
		if err := u.sayDimension(w, i); err != nil {
			return err
		}
	}
	return saySignals(w, p, u)
}

// ruleText names how a pool shares, where it is not as pools do by default.
func ruleText(p *pool) string {
	if p.Rule != plans.Guarantee {
		return ""
	}
	return fmt.Sprintf(", rule %s, reserve %d", p.Rule, p.Reserve)
}

// modeText says what a dimension's mode means for its keys.
func modeText(mode string) string {
	switch mode {
	case "strict":
		return "shares are enforced"
	case "generous":
		return "keys may borrow"
	case "guarantee":
		return "what keys are promised is kept"
	}
	return mode
}

// after is a text with what introduces it, if there is one.
func after(lead, text string) string {
	if text == "" {
		return ""
	}
	return lead + text
}

// sayKeys lists the allocations, then the keys without one that were seen, with
// what each would be told now.
func sayKeys(w io.Writer, p *pool, u *usage) error {
	allocations := make(map[string]plans.Allocation, len(p.Allocations))
	for _, a := range p.Allocations {
		allocations[a.APIKeyID] = a
	}
	rows := [][]string{{"KEY", "WEIGHT", "POLICY", "CAPS", "NOW"}}
	for _, k := range u.Keys {
		row := []string{configfile.Show(k.APIKeyID), "-", "-", "-"}
		if a, listed := allocations[k.APIKeyID]; listed {
			row = []string{row[0], a.Weight.String(), a.Policy.String(), caps(&a)}
		}
		now := answered(k.Decision, k.Reason, k.Detail)
		if k.Deprioritize {
			now += ", behind others"
		}
		if k.WouldBlock {
			now += ", would be blocked"
		}
		if k.RetryAt != nil {
			now += ", free at " + *k.RetryAt
		}
		rows = append(rows, append(row, now))
	}
	fmt.Fprintln(w)
	if err := table(w, rows...); err != nil {
		return err
	}
	if hidden := u.UnlistedKeys - (len(u.Keys) - len(p.Allocations)); hidden > 0 {
		fmt.Fprintf(w, "and %d more keys without an allocation\n", hidden)
	}
	return nil
}

// caps are listed as in tokens/hourly 500, usd 5.
func caps(a *plans.Allocation) string {
	var parts []string
	for _, c := range a.Caps {
		parts = append(parts, c.Unit.String()+"/"+c.Window.String()+" "+c.Value.Format(c.Unit))
	}
	if a.CapValue > 0 {
		parts = append(parts, a.CapUnit.String()+" "+a.CapValue.Format(a.CapUnit))
	}
	if a.Suspended {
		parts = append(parts, "suspended")
	}
	return orDash(strings.Join(parts, ", "))
}

// sayDimension shows who has used how much of one dimension.
func (u *usage) sayDimension(w io.Writer, i int) error {
	d := &u.Dimensions[i]
	fmt.Fprintf(w, "\n%s/%s: %s of %s used%s, %s\n", d.Unit, d.Window, d.ConsumedTotal, known(d.Limit), percent(d.UsedPercent), modeText(d.Mode))
	rows := [][]string{{"CONNECTION", "USED", "LIMIT", "THE PROVIDER SAYS"}}
	for _, c := range d.PerConnection {
		rows = append(rows, []string{configfile.Show(c.ConnectionID), c.ConsumedTotal.String(), known(c.Limit), orDash(strings.Trim(percent(c.ProviderUsed), " ()"))})
	}
	if err := table(w, rows...); err != nil {
		return err
	}
	if d.Kept != nil && d.Kept.String() != "0" {
		fmt.Fprintf(w, "%s kept for all keys until %s\n", d.Kept, d.KeptUntil)
	}
	rows = [][]string{{"KEY", "USED", "FAIR SHARE", "MAY STILL USE", "PROMISED"}}
	for _, k := range d.PerKey {
		rows = append(rows, []string{configfile.Show(k.APIKeyID), k.Consumed.String(), number(k.FairShare), number(k.Remaining), number(k.Promised)})
	}
	if d.Kept == nil { // the pool promises nothing
		for i := range rows {
			rows[i] = rows[i][:4]
		}
	}
	return table(w, rows...)
}

func known(n *json.Number) string {
	if n == nil {
		return "unknown"
	}
	return n.String()
}

func number(n *json.Number) string {
	if n == nil {
		return "-"
	}
	return n.String()
}

func percent(n *json.Number) string {
	if n == nil {
		return ""
	}
	return " (" + n.String() + " %)"
}
