package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// damage is something that can happen to a file.
type damage struct {
	name string
	do   func(path string, size int64) error
}

// damages are done to each file of a store, one at a time.
func damages() []damage {
	all := []damage{
		{"deleted", func(path string, _ int64) error { return os.Remove(path) }},
		{"emptied", func(path string, _ int64) error { return os.Truncate(path, 0) }},
		{"cut in half", func(path string, size int64) error { return os.Truncate(path, size/2) }},
		flip(1, 2),
	}
	if long() {
		for i := range int64(16) {
			all = append(all, flip(2*i+1, 32))
		}
		all = append(all, damage{"cut by a byte", func(path string, size int64) error { return os.Truncate(path, max(0, size-1)) }})
	}
	return all
}

// flip inverts eight bytes at a place of the file, a fraction of its size.
func flip(num, den int64) damage {
	return damage{fmt.Sprintf("flipped at %d of %d", num, den), func(path string, size int64) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i := size * num / den; i < min(size, size*num/den+8); i++ {
			data[i] ^= 0xff
		}
		return os.WriteFile(path, data, 0o600)
	}}
}

// A damaged store is found out and rebuilt, or is at an older position and
// folds on; it never counts wrong.
func TestADamagedStoreNeverCountsWrong(t *testing.T) {
	b := brokertest.StartAgain(t)
	nc := b.Connect()
	js := brokertest.Streams(t, nc)
	configure(t, js)
	store := filepath.Join(t.TempDir(), "state")
	d := dice(t)
	var all []usage
	// Each opening of the store turns its write-ahead log into a table, so three
	// leave every kind of file, with records of each run in another one.
	for run := range 3 {
		e := startEngine(t, nc, store)
		e.awaitReady()
		list := traffic(d, fmt.Sprintf("run-%d-", run), 150)
		e.at(publish(t, js, list))
		all = append(all, list...)
		e.Stop()
	}
	// What the store has not seen has to be folded on from any position.
	more := traffic(d, "more-", 50)
	end := publish(t, js, more)
	all = append(all, more...)
	fresh := freshFold(t, nc, end)

	files, err := os.ReadDir(store)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		for _, do := range damages() {
			t.Run(f.Name()+"/"+do.name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "state")
				copyDir(t, store, dir)
				if err := do.do(filepath.Join(dir, f.Name()), info.Size()); err != nil {
					t.Fatal(err)
				}
				e := startEngine(t, nc, dir)
				e.awaitReady()
				if got := e.at(end); got != fresh {
					t.Errorf("the state is %+v\nfolded from scratch it is %+v\n%s", got, fresh, e.said)
				}
				mustCount(t, nc, all)
			})
		}
	}
}

// The disk goes bad below an engine that runs. Nothing it has read is wrong, so
// it counts right, rebuilt or not; at the next start the damage is found.
func TestDamageBelowARunningEngine(t *testing.T) {
	b := brokertest.StartAgain(t)
	nc := b.Connect()
	js := brokertest.Streams(t, nc)
	configure(t, js)
	store := filepath.Join(t.TempDir(), "state")
	list := traffic(dice(t), "old-", 300)
	e := startEngine(t, nc, store)
	e.awaitReady()
	e.at(publish(t, js, list))
	e.Stop()
	e = startEngine(t, nc, store) // the ids are in a table now
	e.awaitReady()

	tables, err := filepath.Glob(filepath.Join(store, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("the store has no tables: %v", err)
	}
	for _, path := range tables {
		scramble(t, path)
	}
	// Once more, so that every id has to be looked up.
	end := publish(t, js, list)
	fresh := freshFold(t, nc, end)
	if fresh.Counts.Duplicates != uint64(len(list)) {
		t.Errorf("%d duplicates, want %d", fresh.Counts.Duplicates, len(list))
	}
	if got := e.at(end); got.Counts != fresh.Counts {
		t.Errorf("the damaged store counts %+v, want %+v\n%s", got.Counts, fresh.Counts, e.said)
	}
	mustCount(t, nc, list)
	e.Stop()

	e = startEngine(t, nc, store)
	e.said.await(deadline(t), t, said)
	e.awaitReady()
	if got := e.at(end); got != fresh {
		t.Errorf("the state is %+v\nfolded from scratch it is %+v\n%s", got, fresh, e.said)
	}
	mustCount(t, nc, list)
}

// A store that somebody else has open is not damaged, and must not be moved away
// from under them.
func TestAStoreInUseIsLeftAlone(t *testing.T) {
	b := brokertest.StartAgain(t)
	nc := b.Connect()
	js := brokertest.Streams(t, nc)
	configure(t, js)
	store := filepath.Join(t.TempDir(), "state")
	first := startEngine(t, nc, store)
	first.awaitReady()
	second := startEngine(t, nc, store)
	second.said.await(deadline(t), t, "starting it again")
	list := traffic(dice(t), "e-", 20)
	end := publish(t, js, list)
	first.at(end)
	mustCount(t, nc, list)
	first.Stop()
	second.awaitReady()
	mustEqualFreshFold(t, nc, second.at(end))
	if text := second.said.String(); strings.Contains(text, said) {
		t.Errorf("the store was set aside:\n%s", text)
	}
}

// scramble changes the bytes of an open file in place.
func scramble(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	garbage := make([]byte, info.Size())
	for i := range garbage {
		garbage[i] = byte(i * 7)
	}
	if _, err := f.WriteAt(garbage, 0); err != nil {
		t.Fatal(err)
	}
}
