package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
)

// explained is what people are told of an explanation. Numbers stay as they were
// sent.
type explained struct {
	Reply struct {
		reply
		ConnectionID string
		AsOf         struct {
			Seq  uint64
			Time string
		} `json:"asOf"`
		Dimensions []explainedDimension
		InFlight   json.Number
		Backlog    *struct{ Waiting, OldestMs json.Number }
	}
	Recorded *struct{ Process, ReplyOf string }
	Differs  []string
	Unproved bool
	Rules    explainedRules
	Signals  []explainedSignal
	Holds    struct {
		Open int
		Top  []explainedHold
	}
	Consumption []explainedLine
	Replay      struct {
		Snapshot *uint64
		Seq      uint64
	}
	Notes []string
}

type explainedDimension struct {
	Unit, Window                                      string
	Limit, FairShare, Remaining, ProviderUsed         *json.Number
	Consumed, Held, ConsumedTotal, HeldTotal, Deficit json.Number
	Mode                                              string
	// By the rule guarantee, else nil.
	Promised, Kept, Headroom *json.Number
	KeptFor                  []struct {
		APIKeyID string
		Amount   json.Number
	}
}

type stamped struct {
	Revision         uint64
	UpdatedAt, Actor string
	Reason           string
}

// by says which revision a document is, and whose.
func (s *stamped) by() string {
	if s.Revision == 0 {
		return "as built in"
	}
	text := fmt.Sprintf("revision %d of %s", s.Revision, s.UpdatedAt)
	if s.Actor != "" {
		text += " by " + configfile.Show(s.Actor)
	}
	if s.Reason != "" {
		text += ": " + configfile.Show(s.Reason)
	}
	return text
}

type explainedRules struct {
	Pool *struct {
		ID, Mode, Rule string
		stamped
	}
	Plans []struct {
		ConnectionID, Source string
		stamped
	}
	Settings stamped
}

type explainedSignal struct {
	ConnectionID, Window, Scope string
	UsedPercent                 *json.Number
	ResetAt, ObservedAt         *string
}

type explainedHold struct {
	APIKeyID, ConnectionID, Model, EndsAt string
	Estimate                              map[string]json.Number
}

type explainedLine struct {
	Unit, Window, Model, From string
	Consumed                  *json.Number
	Found                     json.Number
	Events                    int
	Top                       []struct {
		Seq                                                              uint64
		Index                                                            int
		ID, Type, Reason, Time, APIKeyID, ConnectionID, Model, RequestID string
		Cost, Weight                                                     json.Number
		SplitBy                                                          *struct {
			Unit string
			Cost json.Number
		}
	}
	Keys []struct {
		APIKeyID string
		Consumed json.Number
	}
}

func sayExplained(w io.Writer, made []byte) error {
	var x explained
	if err := readFields(made, &x); err != nil {
		return err
	}
	x.sayAnswer(w)
	x.sayRules(w)
	for _, say := range []func(io.Writer) error{x.sayDimensions, x.saySignals, x.sayHolds, x.sayConsumption} {
		if err := say(w); err != nil {
			return err
		}
	}
	from := "the first message"
	if x.Replay.Snapshot != nil {
		from = fmt.Sprintf("snapshot %d", *x.Replay.Snapshot)
	}
	fmt.Fprintf(w, "\nreplayed from %s to message %d\n", from, x.Replay.Seq)
	for _, n := range x.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	return nil
}

func (x *explained) sayAnswer(w io.Writer) {
	r := x.Reply.reply
	r.AsOf.Seq = x.Reply.AsOf.Seq
	r.say(w)
	fmt.Fprintf(w, "  at %s\n", x.Reply.AsOf.Time)
	if x.Reply.ConnectionID != "" {
		fmt.Fprintf(w, "  connection %s\n", configfile.Show(x.Reply.ConnectionID))
	}
	switch {
	case x.Recorded == nil:
	case x.Unproved:
		fmt.Fprintf(w, "  this is what process %s answered; it cannot be derived again, as the log lacks messages\n", x.Recorded.Process)
	case len(x.Differs) == 0 && x.Recorded.ReplyOf != "":
		fmt.Fprintf(w, "  process %s answered so, as far as it is recorded; the rest is derived\n", x.Recorded.Process)
	case len(x.Differs) == 0:
		fmt.Fprintf(w, "  this is what process %s answered\n", x.Recorded.Process)
	default:
		fmt.Fprintf(w, "  process %s answered otherwise: %s\n", x.Recorded.Process, strings.Join(x.Differs, ", "))
	}
}

func (x *explained) sayRules(w io.Writer) {
	fmt.Fprintln(w, "\nRULES IN FORCE")
	if p := x.Rules.Pool; p != nil {
		fmt.Fprintf(w, "  pool %s, mode %s, rule %s: %s\n", configfile.Show(p.ID), p.Mode, p.Rule, p.by())
	}
	for _, p := range x.Rules.Plans {
		fmt.Fprintf(w, "  plan of %s, %s: %s\n", configfile.Show(p.ConnectionID), p.Source, p.by())
	}
	fmt.Fprintf(w, "  settings: %s\n", x.Rules.Settings.by())
}

// dashed writes what there may be none of.
func dashed[T ~string](v *T) string {
	if v == nil {
		return "-"
	}
	return string(*v)
}

// titled prints rows below a heading, nothing when there are none.
func titled(w io.Writer, heading string, rows [][]string) error {
	if len(rows) < 2 {
		return nil
	}
	fmt.Fprintln(w, "\n"+heading)
	return table(w, rows...)
}

func (x *explained) sayDimensions(w io.Writer) error {
	rows := [][]string{{"UNIT", "WINDOW", "LIMIT", "CONSUMED", "HELD", "SHARE", "REMAINING", "BY ALL", "HELD BY ALL", "PROVIDER", "MODE"}}
	for _, d := range x.Reply.Dimensions {
		rows = append(rows, []string{
			d.Unit, d.Window, dashed(d.Limit), d.Consumed.String(), d.Held.String(), dashed(d.FairShare), dashed(d.Remaining),
			d.ConsumedTotal.String(), d.HeldTotal.String(), dashed(d.ProviderUsed), d.Mode,
		})
	}
	if err := titled(w, "DIMENSIONS", rows); err != nil {
		return err
	}
	return x.sayPromises(w)
}

// sayPromises shows what the rule guarantee kept, and for whom it blocked.
func (x *explained) sayPromises(w io.Writer) error {
	rows, whose := [][]string{{"UNIT", "WINDOW", "PROMISED", "KEPT FOR OTHERS", "HEADROOM"}}, [][]string{{"UNIT", "WINDOW", "KEY", "AMOUNT"}}
	for _, d := range x.Reply.Dimensions {
		if d.Promised == nil {
			continue
		}
		rows = append(rows, []string{d.Unit, d.Window, dashed(d.Promised), dashed(d.Kept), dashed(d.Headroom)})
		for _, k := range d.KeptFor {
			whose = append(whose, []string{d.Unit, d.Window, configfile.Show(k.APIKeyID), k.Amount.String()})
		}
	}
	if err := titled(w, "THE GUARANTEE", rows); err != nil {
		return err
	}
	return titled(w, "KEPT FOR", whose)
}

func (x *explained) saySignals(w io.Writer) error {
	rows := [][]string{{"CONNECTION", "WINDOW", "SCOPE", "USED %", "RESET", "OBSERVED"}}
	for _, s := range x.Signals {
		rows = append(rows, []string{configfile.Show(s.ConnectionID), s.Window, named(s.Scope), dashed(s.UsedPercent), dashed(s.ResetAt), dashed(s.ObservedAt)})
	}
	return titled(w, "THE PROVIDER SAID", rows)
}

func (x *explained) sayHolds(w io.Writer) error {
	rows := [][]string{{"KEY", "CONNECTION", "MODEL", "ESTIMATE", "LEASE ENDS"}}
	for _, h := range x.Holds.Top {
		rows = append(rows, []string{configfile.Show(h.APIKeyID), configfile.Show(h.ConnectionID), named(h.Model), amounts(h.Estimate), h.EndsAt})
	}
	heading := fmt.Sprintf("IN FLIGHT: %d requests on the connections of the pool", x.Holds.Open)
	if b := x.Reply.Backlog; b != nil {
		heading += fmt.Sprintf("; %s wait, the first for %s ms", b.Waiting, b.OldestMs)
	}
	return titled(w, heading, rows)
}

// amounts writes an estimate in the order of the names of its units.
func amounts(of map[string]json.Number) string {
	var list []string
	for unit, n := range of {
		list = append(list, n.String()+" "+unit)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func (x *explained) sayConsumption(w io.Writer) error {
	for i := range x.Consumption {
		if err := x.Consumption[i].say(w); err != nil {
			return err
		}
	}
	return nil
}

func (l *explainedLine) say(w io.Writer) error {
	model := ""
	if l.Model != "" {
		model = " of " + configfile.Show(l.Model)
	}
	fmt.Fprintf(w, "\nCONSUMED: %s %s %s%s since %s; %d events found weigh %s\n", dashed(l.Consumed), l.Unit, l.Window, model, l.From, l.Events, l.Found)
	rows := [][]string{{"WEIGHT", "COST", "TIME", "KEY", "CONNECTION", "MODEL", "REQUEST", "PLACE", "ID"}}
	for _, e := range l.Top {
		id, cost := named(e.ID), e.Cost.String()
		if e.SplitBy != nil { // a part of the provider's points
			cost = e.SplitBy.Cost.String() + " " + e.SplitBy.Unit
		}
		if e.Type == "quota.adjustment" {
			id += " (correction: " + configfile.Show(e.Reason) + ")"
		}
		rows = append(rows, []string{
			e.Weight.String(), cost, e.Time, configfile.Show(e.APIKeyID), configfile.Show(e.ConnectionID), named(e.Model), named(e.RequestID),
			fmt.Sprintf("%d.%d", e.Seq, e.Index), id,
		})
	}
	if len(rows) > 1 {
		if err := table(w, rows...); err != nil {
			return err
		}
	}
	var keys []string
	for _, k := range l.Keys {
		keys = append(keys, configfile.Show(k.APIKeyID)+" "+k.Consumed.String())
	}
	if len(keys) > 0 {
		fmt.Fprintf(w, "by key: %s\n", strings.Join(keys, ", "))
	}
	return nil
}
