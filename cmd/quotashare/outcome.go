package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
)

// outcome is what the engine says of a step that was taken, or tried.
type outcome struct {
	Pool, Plan, Settings struct{ Warnings []warning }
	Blocked, Freed       []effect
}

// effect is a key that a step blocks, or lets pass again, perhaps for one model
// alone.
type effect struct {
	PoolID, APIKeyID, Reason string
	Binding                  struct{ Model string }
}

func (e effect) String() string {
	why := e.Reason + after(" on ", e.Binding.Model)
	return fmt.Sprintf("%s of pool %s (%s)", configfile.Show(e.APIKeyID), configfile.Show(e.PoolID), why)
}

func (e *editor) carryOut(ctx context.Context, s *step) (outcome, error) {
	return read(e.write(ctx, s.method, s.path, s.revision, s.body))
}

// try asks what the step would do, and writes nothing. A step that waits for
// another one cannot be asked about before that is taken.
func (e *editor) try(ctx context.Context, s *step) (outcome, error) {
	if s.waits {
		return outcome{}, nil
	}
	return read(e.send(ctx, s.method, s.path+"?dryRun=true", e.header, s.body))
}

// read reads an answer, if there is one: that to a deletion is empty.
func read(answer []byte, err error) (o outcome, _ error) {
	if err != nil || len(answer) == 0 {
		return o, err
	}
	return o, readFields(answer, &o)
}

// warn prints what the engine warns of.
func (o *outcome) warn(w io.Writer, s *step) {
	for _, list := range [][]warning{o.Pool.Warnings, o.Plan.Warnings, o.Settings.Warnings} {
		for _, warn := range list {
			fmt.Fprintf(w, "warning: %s: %s\n", s.name, warn)
		}
	}
}

// mostNamed bounds the keys that one line names.
const mostNamed = 20

// effects are lines that say whom the step would block, and whom free.
func (o *outcome) effects(s *step) []string {
	if s.waits {
		return []string{"whom it would block is known once the other pool has given the connection up"}
	}
	var lines []string
	for _, group := range []struct {
		would string
		keys  []effect
	}{{"block", o.Blocked}, {"free", o.Freed}} {
		var names []string
		for i, k := range group.keys {
			if i == mostNamed {
				names = append(names, fmt.Sprintf("and %d more", len(group.keys)-mostNamed))
				break
			}
			names = append(names, k.String())
		}
		if len(names) > 0 {
			lines = append(lines, "would "+group.would+": "+strings.Join(names, ", "))
		}
	}
	return lines
}
