package replay

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
)

// lacking is a log of which a message is gone.
type lacking struct {
	*memory
	gone uint64
}

func (l lacking) Source(ctx context.Context, after projector.Position) (projector.Source, func(), error) {
	return l.From(ctx, after.Seq+1)
}

func (l lacking) From(_ context.Context, seq uint64) (projector.Source, func(), error) {
	left := slices.DeleteFunc(slices.Clone(l.list), func(m events.Message) bool { return m.Seq < seq || m.Seq == l.gone })
	return &memorySource{left}, func() {}, nil
}

// TestARecordedAnswerStandsWhereMessagesAreMissing: another one that follows then proves
// nothing, and nobody is told to look for misspelt names.
func TestARecordedAnswerStandsWhereMessagesAreMissing(t *testing.T) {
	l := shared(50, 50)
	l.use(10, "a", 1000)
	l.use(20, "b", 1)
	row := blockedRow(l, 30, 60, "")
	row.Reply.Reason = "global-saturated"
	for gone, unproved := range map[uint64]bool{3: true, 99: false} {
		record := *row
		x, err := Explain(t.Context(), Options{Log: lacking{l, gone}, Store: inMemory}, &Ask{Recorded: &record, Top: 3})
		must(t, err)
		if x.Reply.Allow || x.Reply.Reason != "global-saturated" || len(x.Reply.Dimensions) != 1 || x.Unproved != unproved {
			t.Errorf("without %d: %+v, unproved %t", gone, x.Reply, x.Unproved)
		}
		if said := strings.Contains(string(x.Append(nil)), `"unproved":true`); said != unproved || unproved && len(x.Differs) > 0 {
			t.Errorf("without %d it says so: %t; differs %q", gone, said, x.Differs)
		}
		notes := strings.Join(x.Notes, "\n")
		if strings.Contains(notes, "spelt") || strings.Contains(notes, "shown as it was recorded") != unproved {
			t.Errorf("without %d: %s", gone, notes)
		}
	}
	tried := trial(t, `{"pools":[`+pool(50, 50)[:len(pool(50, 50))-2]+`,{"apiKeyId":"nobody","weight":1}]}]}`)
	for gone, want := range map[uint64]bool{3: false, 99: true} {
		r, err := WhatIf(t.Context(), WhatIfOptions{Options: Options{Log: lacking{l, gone}, Store: inMemory}, Rows: &memory{}}, tried)
		must(t, err)
		if said := strings.Contains(strings.Join(r.Notes, "\n"), "key nobody, by which nothing was consumed"); said != want {
			t.Errorf("without %d what-if says %q", gone, r.Notes)
		}
	}
}
