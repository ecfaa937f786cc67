package sim_test

import (
	"flag"
	"testing"

	"github.com/quotashare/quotashare/sim"
)

var (
	seeds = flag.Int("seeds", 40, "how many seeds TestSeeds runs")
	from  = flag.Uint64("from", 1, "the first seed that TestSeeds runs")
	seed  = flag.Uint64("seed", 1, "the seed that TestSeed runs")
	steps = flag.Int("steps", 0, "how many steps a run has, 0 = the default")
	trace = flag.Bool("trace", false, "have TestSeed print everything that happens")
)

// TestSeeds runs many worlds. None may break a check, and together they must have
// had everything in them that is worth checking: a simulation that never does the
// hard thing proves nothing.
func TestSeeds(t *testing.T) {
	var all sim.Report
	for s := range *seeds {
		r, err := sim.Run(sim.Options{Seed: *from + uint64(s), Steps: *steps})
		if err != nil {
			t.Fatal(err)
		}
		all.Add(r)
	}
	t.Logf("%d seeds:\n%s", *seeds, all.String())
	for _, thing := range sim.Things() {
		if all.Count(thing) == 0 {
			t.Errorf("never happened: %s", thing)
		}
	}
}

// TestSeed runs one world again, that of -seed.
func TestSeed(t *testing.T) {
	o := sim.Options{Seed: *seed, Steps: *steps}
	if *trace {
		o.Trace = func(line string) { t.Log(line) }
	}
	r, err := sim.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d:\n%s", *seed, r.String())
}

// TestARunIsAFunctionOfItsSeed: what happens, and in what order, depends on
// nothing else.
func TestARunIsAFunctionOfItsSeed(t *testing.T) {
	run := func(seed uint64) (lines []string) {
		_, err := sim.Run(sim.Options{Seed: seed, Steps: 1_000, Trace: func(line string) { lines = append(lines, line) }})
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	for s := range uint64(2) {
		first, second := run(s), run(s)
		for i := range min(len(first), len(second)) {
			if first[i] != second[i] {
				t.Fatalf("seed %d, line %d: once\n%s\nand then\n%s", s, i, first[i], second[i])
			}
		}
		if len(first) != len(second) {
			t.Fatalf("seed %d: once %d lines, then %d", s, len(first), len(second))
		}
	}
}
