package main

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/plans"
)

// poolsOf reads pools as "a:1,2 b:3", id and connections.
func poolsOf(text string) []*plans.Pool {
	var all []*plans.Pool
	for _, word := range strings.Fields(text) {
		id, list, _ := strings.Cut(word, ":")
		p := &plans.Pool{ID: id}
		for _, c := range strings.Split(list, ",") {
			p.Connections = append(p.Connections, plans.Connection{ConnectionID: c, Weight: 100})
		}
		all = append(all, p)
	}
	return all
}

// ordered is the order in which apply would bring the pools of before to those
// of the file.
func ordered(before, file string, prune bool) (string, error) {
	var there []pool
	for _, p := range poolsOf(before) {
		there = append(there, pool{Pool: p})
	}
	var wanted []configfile.Pool
	for _, p := range poolsOf(file) {
		wanted = append(wanted, configfile.Pool{Pool: p})
	}
	c := poolsApplyCmd{applying{Prune: prune}}
	moves, err := order(c.pair(wanted, there), there)
	words := make([]string, len(moves))
	for i, m := range moves {
		words[i] = infinitive[m.verb()] + " " + m.id()
	}
	return strings.Join(words, ", "), err
}

func TestOrderOfWrites(t *testing.T) {
	for _, c := range []struct {
		name, before, file string
		prune              bool
		want, err          string
	}{
		{name: "new ones in the order of the file", file: "b:1 a:2", want: "create b, create a"},
		{name: "one that takes waits", before: "a:1 b:2,3", file: "a:1,3 b:2", want: "change b, change a"},
		{name: "a new one takes", before: "b:2,3", file: "a:3 b:2", want: "change b, create a"},
		{name: "a chain", before: "a:1 b:2,4 c:3,5", file: "a:1,4 b:2,5 c:3", want: "change c, change b, change a"},
		{name: "from two", before: "a:1 b:2,4 c:3,5", file: "a:1,4,5 b:2 c:3", want: "change b, change c, change a"},
		{name: "a deleted one gives", before: "a:1 b:2", file: "a:1,2", prune: true, want: "delete b, change a"},
		{name: "deletions that give nothing are last", before: "a:1 b:2", file: "a:1 c:3", prune: true, want: "unchanged a, create c, delete b"},
		{name: "what is not in the file stays without prune", before: "a:1 b:2", file: "a:1", want: "unchanged a"},
		{
			name: "taken from one that stays", before: "a:1 b:2", file: "a:1,2",
			err: "pool a: connection 2 is in pool b, which the file does not have: take it out there, or put that pool into the file too",
		},
		{
			name: "an exchange", before: "a:1 b:2", file: "a:2 b:1",
			err: "the pools a, b exchange connections in a circle, so none can be written first: " +
				"apply a file in which one of them has given its connections up, and then this one",
		},
		{
			name: "a circle", before: "z:9 a:1,4 b:2 c:3", file: "z:9,4 a:2 b:3 c:1",
			err: "the pools a, b, c exchange connections in a circle, so none can be written first: " +
				"apply a file in which one of them has given its connections up, and then this one",
		},
	} {
		got, err := ordered(c.before, c.file, c.prune)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != c.want || text != c.err {
			t.Errorf("%s: %q, error %q", c.name, got, text)
		}
	}
}

// Whatever moves where: taken in that order, no pool has a connection that
// another one has.
func TestNoWriteTakesWhatIsNotFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, file := drawPools(t), drawPools(t)
		there := make([]pool, len(before))
		owner := map[string]string{}
		for i, p := range before {
			there[i].Pool = p
			own(owner, p)
		}
		var wanted []configfile.Pool
		for _, p := range file {
			wanted = append(wanted, configfile.Pool{Pool: p})
		}
		c := poolsApplyCmd{applying{Prune: true}}
		moves, err := order(c.pair(wanted, there), there)
		if err != nil {
			return // a circle
		}
		if len(moves) < len(file) {
			t.Fatalf("%d moves for %d pools", len(moves), len(file))
		}
		for _, m := range moves {
			for id, of := range owner {
				if of == m.id() {
					delete(owner, id)
				}
			}
			if m.after != nil && !own(owner, m.after) {
				t.Fatalf("pool %s takes what is not free", m.id())
			}
		}
	})
}

// own gives the pool its connections, if nobody has one.
func own(owner map[string]string, p *plans.Pool) bool {
	for _, c := range p.Connections {
		if owner[c.ConnectionID] != "" {
			return false
		}
		owner[c.ConnectionID] = p.ID
	}
	return true
}

// drawPools deals some of eight connections to some of four pools.
func drawPools(t *rapid.T) []*plans.Pool {
	by := map[string]*plans.Pool{}
	var all []*plans.Pool
	for _, c := range "12345678" {
		id := rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "pool")
		if id == "" {
			continue
		}
		if by[id] == nil {
			by[id] = &plans.Pool{ID: id}
			all = append(all, by[id])
		}
		by[id].Connections = append(by[id].Connections, plans.Connection{ConnectionID: string(c), Weight: 100})
	}
	return all
}
