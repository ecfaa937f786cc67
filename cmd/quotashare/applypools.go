package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/wire"
)

type poolsApplyCmd struct {
	applying `embed:""`
}

func (c *poolsApplyCmd) run(ctx context.Context, p program.Process) error {
	return c.applying.run(ctx, p, configfile.Pools, c.plan)
}

// move is a pool before and after; either may be missing.
type move struct {
	before *pool
	after  *plans.Pool
	takes  bool // a connection that another pool has now
}

// id is that of the pool.
func (m *move) id() string {
	if m.after != nil {
		return m.after.ID
	}
	return m.before.ID
}

func (c *poolsApplyCmd) plan(ctx context.Context, e *editor, file *configfile.File) ([]step, error) {
	wanted, err := file.Pools()
	if err != nil {
		return nil, c.fault(err)
	}
	there, _, err := e.pools(ctx)
	if err != nil {
		return nil, err
	}
	moves, err := order(c.pair(wanted, there), there)
	if err != nil {
		return nil, c.fault(err)
	}
	steps := make([]step, len(moves))
	for i, m := range moves {
		if steps[i], err = m.step(e); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// pair puts beside each pool of the file what there is of that id. A pool keeps
// the time at which it was created, whatever a file says.
func (c *poolsApplyCmd) pair(wanted []configfile.Pool, there []pool) []*move {
	known := make(map[string]*pool, len(there))
	for i := range there {
		known[there[i].ID] = &there[i]
	}
	var moves []*move
	for _, w := range wanted {
		m := &move{before: known[w.ID], after: w.Pool}
		if m.before != nil {
			m.after.CreatedAt = m.before.CreatedAt
		}
		moves = append(moves, m)
		delete(known, w.ID)
	}
	for i := range there {
		if _, unlisted := known[there[i].ID]; unlisted && c.Prune {
			moves = append(moves, &move{before: &there[i]})
		}
	}
	return moves
}

// step compares the two.
func (m *move) step(e *editor) (step, error) {
	s := step{name: "pool " + configfile.Show(m.id()), verb: m.verb()}
	before, after, err := m.documents()
	if err != nil {
		return s, err
	}
	body := wire.AppendValue(nil, wire.JSON, after)
	path := pathOf(poolsPath, m.id())
	switch s.verb {
	case create:
		s.diff = configfile.Diff(wire.Value{}, content(after))
		s.write = func(ctx context.Context) error {
			_, err := e.write(ctx, http.MethodPost, poolsPath, 0, body)
			return err
		}
	case change:
		s.diff = configfile.Diff(before, after)
		s.write = func(ctx context.Context) error {
			_, err := e.write(ctx, http.MethodPatch, path, m.before.Revision, body)
			return err
		}
		s.ask = func(ctx context.Context) ([]string, error) {
			if m.takes {
				return []string{"whom it would block is known once the other pool has given the connection up"}, nil
			}
			return e.wouldChange(ctx, path, body)
		}
	case remove:
		s.diff = configfile.Diff(content(before), wire.Value{})
		s.write = func(ctx context.Context) error {
			_, err := e.write(ctx, http.MethodDelete, path, m.before.Revision, nil)
			return err
		}
	}
	return s, nil
}

func (m *move) verb() verb {
	switch {
	case m.before == nil:
		return create
	case m.after == nil:
		return remove
	case bytes.Equal(plans.AppendPoolJSON(nil, m.before.Pool), plans.AppendPoolJSON(nil, m.after)):
		return unchanged
	}
	return change
}

// documents are the canonical ones, so that what is equal is equal however it
// is written.
func (m *move) documents() (before, after wire.Value, err error) {
	if m.before != nil {
		if before, err = configfile.PoolDocument(m.before.Pool); err != nil {
			return before, after, err
		}
	}
	if m.after != nil {
		after, err = configfile.PoolDocument(m.after)
	}
	return before, after, err
}

// content is what is shown of a pool that comes or goes: not what every pool
// has, nor its id, which stands above.
func content(doc wire.Value) wire.Value {
	short := configfile.Short(doc)
	short.Fields = slices.DeleteFunc(short.Fields, func(f wire.Field) bool { return f.Name == "id" || f.Name == "createdAt" })
	return short
}

// wouldChange asks whom a pool would block that it lets pass now, and whom it
// would let pass that it blocks.
func (e *editor) wouldChange(ctx context.Context, path string, patch []byte) ([]string, error) {
	answer, err := e.send(ctx, http.MethodPatch, path+"?dryRun=true", e.header, patch)
	if err != nil {
		return nil, err
	}
	type key struct{ APIKeyID, Reason string }
	var doc struct{ Blocked, Freed []key }
	if err := json.Unmarshal(answer, &doc); err != nil {
		return nil, fmt.Errorf("the engine's answer cannot be read: %w", err)
	}
	var lines []string
	for _, group := range []struct {
		would string
		keys  []key
	}{{"block", doc.Blocked}, {"free", doc.Freed}} {
		var names []string
		for _, k := range group.keys {
			names = append(names, fmt.Sprintf("%s (%s)", configfile.Show(k.APIKeyID), k.Reason))
		}
		if len(names) > 0 {
			lines = append(lines, "would "+group.would+": "+strings.Join(names, ", "))
		}
	}
	return lines, nil
}
