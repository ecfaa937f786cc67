package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/quotashare/quotashare/lab"
	"github.com/quotashare/quotashare/quota"
)

// experiment is what to let run: every scenario, and so many pools by chance, in every
// kind of window under every rule.
type experiment struct {
	seed      uint64
	scenarios []*lab.Scenario
	pools     int // by chance
	kinds     []lab.Kind
	rules     []lab.Rule
}

// compared is one scenario in one kind of window: what is compared with each other.
type compared struct {
	Name, About string
	Kind        lab.Kind
	Window      quota.Window
	Windows     int
	Rows        []ruled // by rule
}

// ruled is one rule in a block.
type ruled struct {
	Rule lab.Rule
	lab.Figures
	Runs   int
	Result *lab.Result   // nil of many pools
	Gaps   []quota.Ratio // of many pools: of each, by size
}

// task is a run and where its result belongs.
type task struct {
	block, rule int
	scenario    *lab.Scenario
	chance      uint64 // which of the seed's
	result      *lab.Result
}

// run lets everything run. It says how many runs are done.
func (x *experiment) run(ctx context.Context, done func(n, all int)) ([]compared, error) {
	blocks, tasks := x.plan()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	n := 0
	for i := range tasks {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := x.do(ctx, &tasks[i], blocks[tasks[i].block].Kind); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			n++
			done(n, len(tasks))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	collect(blocks, tasks)
	return blocks, nil
}

// plan lists the blocks and what is to be run for them. Rules are compared on the same
// pools, and their keys have the same luck.
func (x *experiment) plan() (blocks []compared, tasks []task) {
	add := func(b compared, scenarios ...*lab.Scenario) {
		for rule, r := range x.rules {
			b.Rows = append(b.Rows, ruled{Rule: r, Runs: len(scenarios)})
			for i, s := range scenarios {
				tasks = append(tasks, task{block: len(blocks), rule: rule, scenario: s, chance: uint64(i)})
			}
		}
		blocks = append(blocks, b)
	}
	drawn := x.drawn()
	for _, kind := range x.kinds {
		for _, s := range x.scenarios {
			add(compared{Name: s.Name, About: s.About, Kind: kind, Window: s.Window, Windows: s.Windows}, s)
		}
		if len(drawn) > 0 {
			about := fmt.Sprintf("%d pools by chance", len(drawn))
			add(compared{Name: random, About: about, Kind: kind, Window: drawn[0].Window, Windows: drawn[0].Windows}, drawn...)
		}
	}
	return blocks, tasks
}

// drawn are the pools by chance.
func (x *experiment) drawn() (all []*lab.Scenario) {
	for i := range x.pools {
		all = append(all, lab.Random(i, rand.New(rand.NewPCG(x.seed, uint64(i)))))
	}
	return all
}

// do lets one run run. Chance is that of the seed and the pool: the order in which runs are
// done changes nothing.
func (x *experiment) do(ctx context.Context, t *task, kind lab.Kind) (err error) {
	t.result, err = lab.RunContext(ctx, t.scenario, kind, x.rules[t.rule], rand.New(rand.NewPCG(^x.seed, t.chance)))
	return err
}

// collect brings the results to their blocks.
func collect(blocks []compared, tasks []task) {
	tallies := make(map[*ruled]*lab.Tally)
	for i := range tasks {
		t := &tasks[i]
		r := &blocks[t.block].Rows[t.rule]
		if r.Runs == 1 {
			r.Result = t.result
		}
		if tallies[r] == nil {
			tallies[r] = new(lab.Tally)
		}
		tallies[r].Add(&t.result.Figures)
		r.Gaps = append(r.Gaps, t.result.Gap)
	}
	for r, t := range tallies {
		r.Figures = t.Figures()
		slices.Sort(r.Gaps)
	}
}

// runsBar says on a terminal how many runs are done.
type runsBar struct {
	w     io.Writer
	shown bool
	drawn string
}

// at draws the bar anew, when it has moved.
func (b *runsBar) at(n, all int) {
	if now := bar(int64(n), int64(all)); b.shown && now != b.drawn {
		b.drawn = now
		fmt.Fprintf(b.w, "\r%s  %d of %d runs", now, n, all)
	}
}

// end leaves its line.
func (b *runsBar) end() {
	if b.drawn != "" {
		fmt.Fprintln(b.w)
	}
}
