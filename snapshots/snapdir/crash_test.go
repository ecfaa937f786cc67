package snapdir_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// change is something done to a directory that has 1 and 2, and what the newest may
// be while it is under way, and must be when it is done.
type change struct {
	name   string
	do     func(*snapdir.Dir) error
	during []uint64
	after  uint64
}

func changes(t *testing.T) []change {
	t.Helper()
	m := newMem()
	d, _ := open(m)
	save(t, d, 2, 3)
	three := get(t, m, pathOf(3))
	saving := func(seq uint64) func(d *snapdir.Dir) error {
		return func(d *snapdir.Dir) error {
			_, err := d.Save(snapshots.Header{Rules: 5, Seq: seq}, records(seq))
			return err
		}
	}
	return []change{
		{"save", saving(3), []uint64{2, 3}, 3},
		{"save over", saving(2), []uint64{2}, 2},
		{"receive", func(d *snapdir.Dir) error {
			_, err := d.Receive(bytes.NewReader(three))
			return err
		}, []uint64{2, 3}, 3},
		{"remove", func(d *snapdir.Dir) error { return d.Remove(2) }, []uint64{1, 2}, 1},
	}
}

// started is a directory with 1 and 2, which last.
func started(t *testing.T) (*snapdir.Dir, *mem) {
	t.Helper()
	m := newMem()
	d, _ := open(m)
	save(t, d, 1, 2)
	if err := m.SyncDir(""); err != nil { // state is there before any snapshot is
		t.Fatal(err)
	}
	return d, m
}

// TestThePowerIsCutAtEveryStep looks at the disk as it may be before each step, with
// what was not synced lost, kept, or lost in part.
func TestThePowerIsCutAtEveryStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range changes(t) {
		d, m := started(t)
		steps := 0
		look := func(may []uint64) {
			for _, percent := range []int{0, 100, 50, 50, 50} {
				after := &mem{MemFS: m.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})}
				again, log := open(after)
				if got := newest(t, again, all); !slices.Contains(may, got) || log.Len() > 0 {
					t.Errorf("%s, before step %d, %d %% kept: the newest is %d, and it says %q", c.name, steps, percent, got, log)
				}
				save(t, again, 4)
				if got := newest(t, again, all); got != 4 {
					t.Errorf("%s, before step %d: after the crash %d is the newest", c.name, steps, got)
				}
			}
		}
		m.step = func() error {
			steps++
			look(c.during)
			return nil
		}
		if err := c.do(d); err != nil {
			t.Fatal(err)
		}
		m.step = nil
		look([]uint64{c.after})
		t.Logf("%s: %d steps", c.name, steps)
	}
}

// TestEveryStepFails lets each step fail once: it is told, nothing is lost, and
// the same done again succeeds.
func TestEveryStepFails(t *testing.T) {
	broken := errors.New("no such luck")
	for _, c := range changes(t) {
		for n := 1; ; n++ {
			d, m := started(t)
			steps := 0
			m.step = func() error {
				if steps++; steps == n {
					return broken
				}
				return nil
			}
			err := c.do(d)
			m.step = nil
			if steps < n {
				break
			}
			if !errors.Is(err, broken) {
				t.Errorf("%s, step %d: %v", c.name, n, err)
			}
			if got := newest(t, d, all); !slices.Contains(append(c.during, c.after), got) {
				t.Errorf("%s, step %d: the newest is %d", c.name, n, got)
			}
			if names, err := m.List(dir); err != nil || len(names) > 3 || slices.ContainsFunc(names, isNew) {
				t.Errorf("%s, step %d leaves %v, %v", c.name, n, names, err)
			}
			if err := c.do(d); err != nil {
				t.Errorf("%s, again after step %d: %v", c.name, n, err)
			}
			if got := newest(t, d, all); got != c.after {
				t.Errorf("%s, again after step %d: the newest is %d", c.name, n, got)
			}
		}
	}
}

func isNew(name string) bool { return name[len(name)-4:] == ".new" }
