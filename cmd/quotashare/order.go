package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
)

// order puts the moves so that a connection is given up before it is taken: a
// connection is in one pool, so the engine refuses the other order. Else they
// keep theirs. It is an error when a connection is in a pool that stays as it
// is, and when pools exchange connections in a circle.
func order(moves []*move, there []pool) ([]*move, error) {
	o := orderer{owner: map[string]string{}, moves: map[string]*move{}, state: map[*move]visit{}}
	for i := range there {
		for _, c := range there[i].Connections {
			o.owner[c.ConnectionID] = there[i].ID
		}
	}
	for _, m := range moves {
		o.moves[m.id()] = m
	}
	if err := o.taken(moves); err != nil {
		return nil, err
	}
	for _, m := range moves {
		if err := o.visit(m); err != nil {
			return nil, err
		}
	}
	return o.done, nil
}

// visit is how far a move has come.
type visit uint8

const (
	waiting visit = iota
	begun
	placed
)

type orderer struct {
	owner map[string]string // the pool of each connection now
	moves map[string]*move  // by pool
	state map[*move]visit
	path  []string // the pools begun
	done  []*move
}

// givers returns the pools that have a connection now which m wants, each with
// the place of the connection in m.
func (o *orderer) givers(m *move) (ids []string, places []int) {
	if m.after == nil {
		return nil, nil
	}
	for i, c := range m.after.Connections {
		if owner, owned := o.owner[c.ConnectionID]; owned && owner != m.id() {
			ids, places = append(ids, owner), append(places, i)
		}
	}
	return ids, places
}

// taken finds what no order can help.
func (o *orderer) taken(moves []*move) error {
	var errs []error
	for _, m := range moves {
		owners, places := o.givers(m)
		for i, owner := range owners {
			if _, moves := o.moves[owner]; !moves {
				c := m.after.Connections[places[i]].ConnectionID
				errs = append(errs, fmt.Errorf("pool %s: connection %s is in pool %s, which the file does not have: take it out there, or put that pool into the file too",
					configfile.Show(m.id()), configfile.Show(c), configfile.Show(owner)))
			}
		}
	}
	return errors.Join(errs...)
}

// visit places what m waits for, then m.
func (o *orderer) visit(m *move) error {
	switch o.state[m] {
	case placed:
		return nil
	case begun:
		return o.circle(m)
	}
	o.state[m] = begun
	o.path = append(o.path, configfile.Show(m.id()))
	givers, _ := o.givers(m)
	m.takes = len(givers) > 0
	for _, id := range givers {
		if err := o.visit(o.moves[id]); err != nil {
			return err
		}
	}
	o.path = o.path[:len(o.path)-1]
	o.state[m] = placed
	o.done = append(o.done, m)
	return nil
}

func (o *orderer) circle(m *move) error {
	first := configfile.Show(m.id())
	path := o.path
	for path[0] != first {
		path = path[1:]
	}
	return fmt.Errorf("the pools %s exchange connections in a circle, so none can be written first: apply a file in which one of them has given its connections up, and then this one",
		strings.Join(path, ", "))
}
