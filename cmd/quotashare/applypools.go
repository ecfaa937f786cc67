package main

import (
	"bytes"
	"context"
	"net/http"
	"slices"

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
		if steps[i], err = m.step(); err != nil {
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
func (m *move) step() (step, error) {
	s := step{name: "pool " + configfile.Show(m.id()), verb: m.verb(), path: pathOf(poolsPath, m.id()), waits: m.takes}
	before, after, err := m.documents()
	if err != nil {
		return s, err
	}
	if m.before != nil {
		s.revision = m.before.Revision
	}
	switch s.verb {
	case create:
		s.method, s.path = http.MethodPost, poolsPath
		s.diff = configfile.Diff(wire.Value{}, content(after))
	case change:
		s.method = http.MethodPatch
		s.diff = configfile.Diff(before, after)
	case remove:
		s.method = http.MethodDelete
		s.diff = configfile.Diff(content(before), wire.Value{})
		return s, nil
	}
	s.body = wire.AppendValue(nil, wire.JSON, after)
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
