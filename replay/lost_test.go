package replay

import (
	"fmt"
	"slices"
	"testing"

	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// TestALogThatLostItsEndIsSaid: what is left of it is whole, and folds; only snapshots of
// more of it tell.
func TestALogThatLostItsEndIsSaid(t *testing.T) {
	l := shared(50, 50)
	for i := range int64(6) {
		l.use(10+i, "a", 100)
	}
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	o := Options{Log: l, Store: inMemory, Start: starts.Local{Dir: dir}}
	p, err := Open(t.Context(), Options{Log: l, Store: inMemory}, 0)
	must(t, err)
	for _, seq := range []uint64{3, 6, 8} {
		must(t, p.To(t.Context(), seq))
		must(t, p.flush())
		_, _, err := projected.Save(t.Context(), dir, p.store.(*memstore.Store))
		must(t, err)
	}
	must(t, p.Close())
	for end, want := range map[int]string{
		8: "", 7: "there is a snapshot of message 8, and the log ends with message 7: it has lost its end, or the snapshot is of another log",
		4: "there is a snapshot of message 8, and the log ends with message 4: it has lost its end, or the snapshot is of another log",
	} {
		short := &memory{list: l.list[:end]}
		o.Log = short
		d, err := TakeDigests(t.Context(), DigestOptions{Options: o})
		must(t, err)
		unread := map[int]string{8: "[]", 7: "[{8 the log ends with message 7}]", 4: "[{6 the log ends with message 4} {8 the log ends with message 4}]"}[end]
		if (d.Beyond == 8) != (want != "") || fmt.Sprint(d.Unread) != unread || d.Diverged != nil {
			t.Errorf("up to %d: beyond %d, unread %v, want %s", end, d.Beyond, d.Unread, unread)
		}
		made, err := WhatIf(t.Context(), WhatIfOptions{Options: o, Rows: short}, trial(t, `{"withoutPools":["p"],"from":{"seq":4}}`))
		must(t, err)
		x, err := Explain(t.Context(), o, &Ask{Question: questions.Question{APIKeyID: "a", ConnectionID: "c", MaxWaitMs: -1}, Seq: 4, Top: 1})
		must(t, err)
		for name, notes := range map[string][]string{"what-if": made.Notes, "explain": x.Notes} {
			if said := slices.Contains(notes, want); want != "" && !said || want == "" && slices.ContainsFunc(notes, func(n string) bool { return n != "" && n[:5] == "there" }) {
				t.Errorf("up to %d: %s says %q", end, name, notes)
			}
		}
	}
}
