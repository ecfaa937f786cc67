package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/quotashare/quotashare/replay"
)

// sayDigests shows what a replay found.
func sayDigests(w io.Writer, d *replay.Digests, took time.Duration) error {
	rows := [][]string{{"SEQ", "LOG TIME", "DIGEST", "HELD TO", "RESULT"}}
	for i := range d.Points {
		p := &d.Points[i]
		rows = append(rows, []string{
			strconv.FormatUint(p.Seq, 10), instantOf(p.LogTime), fmt.Sprintf("%x", p.Digest[:6]), orDash(p.Of), resultOf(p),
		})
	}
	if err := table(w, rows...); err != nil {
		return err
	}
	from := "the first message"
	if d.Began > 0 {
		from = fmt.Sprintf("the snapshot of message %d", d.Began)
	}
	fmt.Fprintf(w, "\nfolded %d messages from %s on in %s: %d a second\n", d.Messages, from, took.Round(time.Millisecond), perSecond(d.Messages, took))
	for i := range d.Points {
		if p := &d.Points[i]; p.Damage != nil {
			fmt.Fprintf(w, "the snapshot of message %d cannot be used: %v\n", p.Seq, p.Damage)
		}
	}
	for _, s := range d.Unread {
		fmt.Fprintf(w, "the snapshot of message %d cannot be used: %v\n", s.Seq, s.Why)
	}
	return sayDivergence(w, d.Diverged)
}

func perSecond(n uint64, took time.Duration) uint64 {
	return uint64(float64(n) / max(took.Seconds(), 1e-9))
}

// resultOf says how a digest compares.
func resultOf(p *replay.Point) string {
	result := "DIFFERS"
	switch {
	case p.Damage != nil:
		return "DAMAGED"
	case p.Of == "":
		result = "-"
	case !p.Differs():
		result = "equal"
	case p.Unknown():
		result = "unknown"
	}
	if m := p.Missing; m.Count > 0 {
		result += fmt.Sprintf(", the log lacks %d of the messages %d to %d", m.Count, m.First, m.Last)
	}
	return result
}

// sayDivergence says where the first difference is, and what differs.
func sayDivergence(w io.Writer, d *replay.Divergence) error {
	if d == nil {
		return nil
	}
	whose := "live engine"
	if d.Of == replay.OfSnapshot {
		whose = "snapshot"
	}
	fmt.Fprintf(w, "the %s at message %d is not what the log folds to: it first differs within the messages %d to %d\n", whose, d.To, d.From, d.To)
	if d.Believed {
		fmt.Fprintf(w, "or before: the fold began there with the snapshot of message %d, which could be held to nothing, as the log lacks messages before it\n", d.From-1)
	}
	if d.Of == replay.OfLive {
		fmt.Fprintf(w, "an engine tells a digest and no more: to see what differs take a snapshot of it, with quotashare snapshot, and replay with --snapshots\n")
	}
	for i := range d.Parts {
		p := &d.Parts[i]
		fmt.Fprintf(w, "\n%s: %d differ", p.Part, p.Count)
		if p.Name != "" {
			fmt.Fprintf(w, ", the first is %s", p.Name)
		}
		fmt.Fprintf(w, "\n  the log    %s\n  the engine %s\n", orNothing(p.Folded), orNothing(p.Stored))
	}
	return nil
}

func orNothing(text string) string {
	if text == "" {
		return "has none"
	}
	return text
}

// pointView and the others are how a replay is printed for programs.
type pointView struct {
	Seq     uint64 `json:"seq"`
	LogTime string `json:"logTime"`
	Digest  string `json:"digest"`
	Of      string `json:"heldTo,omitempty"`
	Want    string `json:"want,omitempty"`
	Equal   *bool  `json:"equal,omitempty"` // absent: nobody's, damaged, or the log lacks messages
	Damaged string `json:"damaged,omitempty"`
	Missing uint64 `json:"missing,omitempty"`
	First   uint64 `json:"missingFrom,omitempty"`
	Last    uint64 `json:"missingTo,omitempty"`
}

type partView struct {
	Part  string `json:"part"`
	Count uint64 `json:"count"`
	Name  string `json:"name,omitempty"`
	Log   string `json:"log,omitempty"`
	Has   string `json:"engine,omitempty"`
}

type divergenceView struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	Of   string `json:"heldTo"`
	// Believed: nothing is known of before.
	Believed bool       `json:"believed,omitempty"`
	Parts    []partView `json:"parts,omitempty"`
}

type unreadView struct {
	Seq uint64 `json:"seq"`
	Why string `json:"why"`
}

type digestsView struct {
	Began     uint64          `json:"snapshot"`
	Proves    bool            `json:"proved"`
	Points    []pointView     `json:"points"`
	Messages  uint64          `json:"messages"`
	Ms        int64           `json:"ms"`
	PerSecond uint64          `json:"messagesPerSecond"`
	Unread    []unreadView    `json:"unreadSnapshots,omitempty"`
	Beyond    uint64          `json:"beyond,omitempty"`
	Diverged  *divergenceView `json:"diverged,omitempty"`
}

func viewOf(p *replay.Point) pointView {
	v := pointView{Seq: p.Seq, LogTime: instantOf(p.LogTime), Digest: fmt.Sprintf("%x", p.Digest), Of: p.Of, Missing: p.Missing.Count, First: p.Missing.First, Last: p.Missing.Last}
	switch {
	case p.Damage != nil:
		v.Damaged = p.Damage.Error()
	case p.Of != "":
		v.Want = fmt.Sprintf("%x", p.Want)
		if equal := !p.Differs(); !p.Unknown() {
			v.Equal = &equal
		}
	}
	return v
}

func digestsJSON(w io.Writer, d *replay.Digests, took time.Duration) error {
	v := digestsView{Began: d.Began, Proves: d.Proves(), Points: []pointView{}, Messages: d.Messages, Ms: took.Milliseconds(), PerSecond: perSecond(d.Messages, took), Beyond: d.Beyond}
	for i := range d.Points {
		v.Points = append(v.Points, viewOf(&d.Points[i]))
	}
	for _, s := range d.Unread {
		v.Unread = append(v.Unread, unreadView{s.Seq, s.Why.Error()})
	}
	if x := d.Diverged; x != nil {
		v.Diverged = &divergenceView{From: x.From, To: x.To, Of: x.Of, Believed: x.Believed}
		for _, p := range x.Parts {
			v.Diverged.Parts = append(v.Diverged.Parts, partView{p.Part, p.Count, p.Name, p.Folded, p.Stored})
		}
	}
	return json.NewEncoder(w).Encode(v)
}
