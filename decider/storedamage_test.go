package decider

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/pebblestore"
)

// lossCase is what happens to a store of three runs, each of which had its own log of
// Pebble and wrote that of the run before into a table. The first run named all keys
// and connections, so what the second adds can be gone without a gap in the ids.
type lossCase struct {
	name string
	harm func(r *running, runs []string) // directories as they were after each run
	lost bool
}

var lossCases = []lossCase{
	{"nothing is lost", func(*running, []string) {}, false},
	{"three logs", func(r *running, runs []string) { r.threeLogs(runs) }, false},
	{"the list of tables is cut", func(r *running, runs []string) { r.cutManifest(runs) }, true},
	{"the log in the middle is gone", func(r *running, runs []string) {
		r.must(os.Remove(r.threeLogs(runs)[1]))
	}, true},
}

// TestCommitsThatPebbleLostAreMissed: Pebble takes the first record of its list of
// tables that it cannot read for the list's end, and a log of its own that is gone for
// one that it has no more use for. It opens, and the newest commit is there.
func TestCommitsThatPebbleLostAreMissed(t *testing.T) {
	for _, c := range lossCases {
		for name, keep := range map[string]func(*Engine){"without snapshots": nil, "with": keeping} {
			t.Run(c.name+", "+name, func(t *testing.T) { c.run(t, keep) })
		}
	}
}

func (c *lossCase) run(t *testing.T, keep func(*Engine)) {
	nc := startLog(t, t.TempDir())
	dir := t.TempDir() + "/state"
	var r *running
	var runs []string
	for n := range 3 {
		r = start(t, nc, dir, keep)
		r.usage([]int{6, 6, 1}[n])
		if keep != nil && n == 1 {
			r.snapshot()
		}
		r.stop()
		runs = append(runs, fmt.Sprintf("%s.%d", dir, n))
		r.must(os.CopyFS(runs[n], os.DirFS(dir)))
	}
	c.harm(r, runs)
	r.loads(13, c.lost)
	again := start(t, nc, dir, keep)
	if got := strings.Contains(again.said.String(), "setting the store aside"); got != c.lost {
		t.Errorf("it was set aside: %v, want %v\n%s", got, c.lost, again.said.String())
	}
	if got, want := again.digest(), foldedAnew(t, nc); got != want {
		t.Errorf("the digest is %s, and that of a fold from the start %s", got, want)
	}
}

// loads checks that a store opens and has the newest position, and that it is not
// loaded when commits are lost.
func (r *running) loads(seq uint64, lost bool) {
	r.t.Helper()
	r.must(os.CopyFS(r.dir+".copy", os.DirFS(r.dir)))
	store, err := pebblestore.Open(pebblestore.Options{Dir: r.dir + ".copy"})
	r.must(err)
	defer func() { r.must(store.Close()) }()
	if pos, _, _, err := projector.PositionOf(store); err != nil || pos.Seq != seq {
		r.t.Errorf("the store is at %d, %v, want %d", pos.Seq, err, seq)
	}
	_, err = projector.Load(store)
	if said := err != nil && strings.Contains(err.Error(), "commits"); said != lost {
		r.t.Errorf("it loads with %v; commits are lost: %v", err, lost)
	}
}

// cutManifest takes the end off the list of tables, from the record on that added what
// the second run wrote. Its first record is what there was before, and the first run's
// table may be merged with the second's meanwhile: it is there again, as when a kill
// comes before it is removed.
func (r *running) cutManifest(runs []string) {
	r.t.Helper()
	of := running{t: r.t, dir: runs[1]}
	for _, table := range of.files("*.sst") {
		data, err := os.ReadFile(table)
		r.must(err)
		r.must(os.WriteFile(filepath.Join(r.dir, filepath.Base(table)), data, 0o600))
	}
	list := r.files("MANIFEST-*")
	newest := list[len(list)-1]
	data, err := os.ReadFile(newest)
	r.must(err)
	end := 0
	for range 2 { // checksum, length, kind, record
		end += 7 + int(binary.LittleEndian.Uint16(data[end+4:]))
	}
	r.must(os.Truncate(newest, int64(end-5)))
}

// threeLogs makes of a store what a kill leaves that comes before the first log is
// written into a table, and returns its logs.
func (r *running) threeLogs(runs []string) []string {
	r.t.Helper()
	r.must(os.RemoveAll(r.dir))
	r.must(os.CopyFS(r.dir, os.DirFS(runs[0])))
	for _, run := range runs[1:] {
		of := running{t: r.t, dir: run}
		logs := of.files("*.log")
		newest := logs[len(logs)-1]
		r.must(os.Rename(newest, filepath.Join(r.dir, filepath.Base(newest))))
	}
	list := r.files("*.log")
	if len(list) != 3 {
		r.t.Fatalf("the logs are %v", list)
	}
	return list
}

// files are those of the store, in the order in which they were made.
func (r *running) files(pattern string) []string {
	r.t.Helper()
	list, err := filepath.Glob(filepath.Join(r.dir, pattern))
	r.must(err)
	slices.Sort(list)
	return list
}
