package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
)

// seenCmd is its own command, and not one of keys: to have seen a key is not to
// have issued it.
type seenCmd struct {
	Connections seenConnectionsCmd `cmd:"" help:"List every connection that was seen, is in a pool or has a plan."`
	Keys        seenKeysCmd        `cmd:"" help:"List every key that was seen or has an allocation."`
}

// seeing is which of them are listed.
type seeing struct {
	Pool    string `xor:"where" help:"Only those that have to do with this pool."`
	Outside bool   `xor:"where" help:"Only connections that are in no pool, or keys that used such a one."`
	JSON    bool   `name:"json" help:"Print the answer as it came."`
	server  `embed:"" group:"Configuration"`
}

// list asks for them, and prints them if they are to be printed as they are.
func (s *seeing) list(ctx context.Context, p program.Process, name string) (*listing, error) {
	c, err := s.client()
	if err != nil {
		return nil, err
	}
	q := url.Values{}
	if s.Pool != "" {
		q.Set("pool", s.Pool)
	}
	if s.Outside {
		q.Set("pooled", "false")
	}
	l, err := c.list(ctx, "/api/quota/"+name, name, q)
	if err != nil || !s.JSON {
		return l, err
	}
	l.items, err = nil, show(p.Stdout, l.json())
	return l, err
}

type seenConnectionsCmd struct {
	seeing `embed:""`
}

func (s *seenConnectionsCmd) run(ctx context.Context, p program.Process) error {
	l, err := s.list(ctx, p, "connections")
	if err != nil || s.JSON {
		return err
	}
	rows := [][]string{{"CONNECTION", "LAST EVENT", "POOL", "PROVIDER", "PLAN", "KEYS"}}
	for _, item := range l.items {
		var c struct {
			ConnectionID, LastEventAt, PoolID, Provider, Source string
			Keys                                                int
		}
		if err := readFields(item, &c); err != nil {
			return err
		}
		rows = append(rows, []string{
			configfile.Show(c.ConnectionID), never(c.LastEventAt), named(c.PoolID), named(c.Provider), c.Source, strconv.Itoa(c.Keys),
		})
	}
	return table(p.Stdout, rows...)
}

type seenKeysCmd struct {
	seeing `embed:""`
}

func (s *seenKeysCmd) run(ctx context.Context, p program.Process) error {
	l, err := s.list(ctx, p, "keys")
	if err != nil || s.JSON {
		return err
	}
	return sayKeysSeen(p.Stdout, l)
}

// sayKeysSeen shows for each pool by what allocation the key is judged there.
func sayKeysSeen(w io.Writer, l *listing) error {
	rows := [][]string{{"KEY", "LAST EVENT", "POOLS", "CONNECTIONS", "OUTSIDE"}}
	for _, item := range l.items {
		var k struct {
			APIKeyID, LastEventAt string
			Pools                 []struct{ PoolID, Allocation string }
			Connections           int
			Outside               bool
		}
		if err := readFields(item, &k); err != nil {
			return err
		}
		var pools []string
		for _, p := range k.Pools {
			how := "own allocation"
			switch p.Allocation {
			case "":
				how = "no allocation"
			case k.APIKeyID:
			default:
				how = p.Allocation
			}
			pools = append(pools, fmt.Sprintf("%s (%s)", configfile.Show(p.PoolID), how))
		}
		rows = append(rows, []string{
			configfile.Show(k.APIKeyID), never(k.LastEventAt), orDash(strings.Join(pools, ", ")), strconv.Itoa(k.Connections), yes(k.Outside),
		})
	}
	return table(w, rows...)
}

// never is a time that may not have come.
func never(at string) string {
	if at == "" {
		return "never"
	}
	return at
}
