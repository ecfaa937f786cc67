package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
)

// signal is what a provider says about one window of a connection.
type signal struct {
	ConnectionID, Window, Scope     string
	UsedPercent                     *json.Number
	ResetAt                         *string
	ObservedAt                      time.Time
	Attributed, Unattributed, Drift *json.Number
}

// saySignals shows what the providers of the pool's connections say of their
// windows, whether the plan has them or not; of those that never said anything,
// that.
func saySignals(w io.Writer, p *pool, u *usage) error {
	if len(u.Signals) == 0 {
		_, err := fmt.Fprintln(w, "\nwhat the provider says: no signal")
		return err
	}
	of := make(map[string][]signal, len(p.Connections))
	for _, s := range u.Signals {
		of[s.ConnectionID] = append(of[s.ConnectionID], s)
	}
	rows := [][]string{{"CONNECTION", "WINDOW", "USED", "RESETS", "SAID", "BY KEYS", "BY NOBODY", "DRIFT"}}
	for _, c := range p.Connections {
		id := configfile.Show(c.ConnectionID)
		if len(of[c.ConnectionID]) == 0 {
			rows = append(rows, []string{id, "-", noSignal, "-", "never", "-", "-", "-"})
		}
		for _, s := range of[c.ConnectionID] {
			rows = append(rows, append([]string{id}, s.cells(u.GeneratedAt)...))
		}
	}
	fmt.Fprintln(w, "\nwhat the provider says:")
	return table(w, rows...)
}

const noSignal = "no signal"

// cells are the columns after the connection's, as seen at instant now.
func (s *signal) cells(now time.Time) []string {
	window, used, reset := s.Window, noSignal, "-"
	if s.Scope != "" {
		window += " of " + configfile.Show(s.Scope)
	}
	if s.UsedPercent != nil {
		used = s.UsedPercent.String() + " %"
	}
	if s.ResetAt != nil {
		reset = *s.ResetAt
	}
	// The clock of a gateway may be ahead of the server's.
	age := max(now.Sub(s.ObservedAt), 0).Truncate(time.Second)
	return []string{window, used, reset, age.String() + " ago", number(s.Attributed), number(s.Unattributed), number(s.Drift)}
}
