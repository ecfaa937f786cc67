package retention_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/snapshots/retention"
)

const (
	hour    = int64(3_600_000)
	day     = 24 * hour
	horizon = 7 * day
)

func TestDefaultSettings(t *testing.T) {
	for _, c := range []struct{ days, models, counters, purge int64 }{
		{1, 14, 60, 60},
		{14, 14, 60, 60},
		{45, 45, 60, 60},
		{61, 61, 61, 61},
		{3650, 3650, 3650, 3650},
	} {
		s := retention.DefaultSettings(3, c.days)
		if err := s.Validate(horizon); err != nil {
			t.Errorf("%d days: %v", c.days, err)
		}
		got := []int64{s.History, s.Models, s.Counters, s.Purge}
		want := []int64{c.days * day, c.models * day, c.counters * day, c.purge * day}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d days: %s", c.days, diff)
		}
	}
}

func TestSettingsThatDeleteWhatIsNeededAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*retention.Settings)
		says string
	}{
		{"one snapshot", func(s *retention.Settings) { s.Newest = 1 }, "newest: 1 leaves no older snapshot"},
		{"spacing", func(s *retention.Settings) { s.Spacing = day - 1 }, "spacing: 86399999 ms is too short"},
		{"hourly", func(s *retention.Settings) { s.Models = 2*hour - 1 }, "model counters: 7199999 ms is too short, as usage weighs for two windows: set it to at least 2 hours"},
		{"monthly", func(s *retention.Settings) { s.Counters = 60*day - 1 }, "counters:"},
		{"purge in a window", func(s *retention.Settings) { s.Purge = 59 * day }, "purge: 59 days is too short, as a state folded from the log alone needs two monthly windows of it: set it to at least 60 days"},
		{"purge in history", func(s *retention.Settings) { s.History = s.Purge + 1 }, "purge: 60 days is too short, as history is drawn"},
	} {
		s := retention.DefaultSettings(3, 14)
		c.set(&s)
		err := s.Validate(horizon)
		if err == nil || !strings.HasPrefix(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.name, err)
		}
		if p, err := retention.Make(s, retention.Have{Horizon: horizon}); err == nil || p.Steps != nil {
			t.Errorf("%s: planned %v, %v", c.name, p.Steps, err)
		}
	}
	s := retention.DefaultSettings(3, 14)
	if err := s.Validate(61 * day); err == nil || strings.Count(err.Error(), "duplicate") != 1 {
		t.Errorf("a horizon beyond all: %v", err)
	}
	s = retention.Settings{}
	if err := s.Validate(horizon); err == nil || strings.Count(err.Error(), "\n") != 5 {
		t.Errorf("nothing set: want 6 faults, got %v", err)
	}
}

// at is a snapshot of a log with one message an hour.
func at(t int64) retention.Snapshot { return retention.Snapshot{Seq: uint64(t / hour), LogTime: t} }

func have(now int64, list ...retention.Snapshot) retention.Have {
	return retention.Have{
		Now: now, Clock: now, Horizon: horizon, Snapshots: list,
		Log: retention.Log{First: 1, Last: uint64(now / hour), Young: uint64((now - 60*day) / hour)},
	}
}

func TestWhatStaysAndWhatGoes(t *testing.T) {
	const now = 1000 * day
	list := []retention.Snapshot{
		at(985 * day), at(now - hour), at(now), at(980 * day), at(now - 2*hour), at(now - 3*hour), at(now - 4*hour),
		at(940*day + hour), at(940 * day), at(933 * day), at(935 * day),
	}
	p, err := retention.Make(retention.DefaultSettings(3, 14), have(now, list...))
	if err != nil {
		t.Fatal(err)
	}
	var keep []string
	for _, k := range p.Keep {
		keep = append(keep, k.Why)
	}
	wantKeep := []string{
		"it is one of the 3 newest", "it is one of the 3 newest", "it is one of the 3 newest",
		"it is the oldest of its stretch of 10 days", "it is the oldest of its stretch of 10 days",
		"what windows, history and audits reach back to begins with it",
	}
	if diff := cmp.Diff(wantKeep, keep); diff != "" {
		t.Error(diff)
	}
	want := []retention.Step{
		{Action: "remove-snapshot", Seq: 23997, Why: "an older one is kept of its stretch of 10 days"},
		{Action: "remove-snapshot", Seq: 23640, Why: "an older one is kept of its stretch of 10 days"},
		{Action: "remove-snapshot", Seq: 22561, Why: "an older one is kept of its stretch of 10 days"},
		{Action: "remove-snapshot", Seq: 22440, Why: "a newer one is older than 60 days"},
		{Action: "remove-snapshot", Seq: 22392, Why: "a newer one is older than 60 days"},
		{Action: "purge-log", Seq: 22560, Why: "snapshot 22560, the oldest, has them, and they are older than 60 days"},
		{Action: "drop-counters", Before: 940 * day, Why: "they have not changed for 60 days and read 0"},
		{Action: "drop-models", Before: 986 * day, Why: "they have not changed for 14 days and read 0"},
		{Action: "drop-history", Before: 986 * day, Why: "history is kept for 14 days"},
	}
	if diff := cmp.Diff(want, p.Steps); diff != "" {
		t.Error(diff)
	}
	var again retention.Plan
	stored, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(stored, &again)
	}
	if diff := cmp.Diff(p, again); err != nil || diff != "" {
		t.Errorf("stored and read again: %v %s", err, diff)
	}
}

// TestTheNewestAreThoseOfTheLog: by their place in it, as many messages may have come at
// one instant.
func TestTheNewestAreThoseOfTheLog(t *testing.T) {
	const now = 1000 * day
	var list []retention.Snapshot
	for seq := range uint64(40) {
		list = append(list, retention.Snapshot{Seq: (seq*17)%40 + 1, LogTime: now})
	}
	p, err := retention.Make(retention.DefaultSettings(3, 14), have(now, list...))
	var keep []uint64
	for _, k := range p.Keep {
		keep = append(keep, k.Seq)
	}
	if err != nil || !slices.Equal(keep, []uint64{40, 39, 38, 1}) { // and the oldest of the stretch
		t.Errorf("keeps %d: %v", keep, err)
	}
}

// TestWhatCannotBeUsedGoes when enough others can.
func TestWhatCannotBeUsedGoes(t *testing.T) {
	const now = 1000 * day
	for usable, want := range map[int]int{2: 0, 3: 1} {
		h := have(now, []retention.Snapshot{at(now), at(now - hour), at(now - 2*hour)}[:usable]...)
		h.Unusable = []uint64{7}
		p, err := retention.Make(retention.DefaultSettings(3, 14), h)
		n := 0
		for _, s := range p.Steps {
			if s.Action == retention.RemoveSnapshot && s.Seq == 7 {
				n++
			}
		}
		if err != nil || n != want {
			t.Errorf("with %d others it is removed %d times, want %d: %v", usable, n, want, err)
		}
	}
}

// TestNothingGoesWhileLogTimeIsAhead of the clock: one of them is wrong.
func TestNothingGoesWhileLogTimeIsAhead(t *testing.T) {
	const now = 1000 * day
	old := []retention.Snapshot{at(930 * day), at(now - hour), at(now)}
	h := have(now, old...)
	h.Log.Ahead = 23_990
	for _, c := range []struct {
		clock int64
		gone  uint64 // messages at the end of the log
		says  string
	}{
		{now - hour, 0, ""},
		{now + 400*day, 0, ""},
		{now - hour - 1, 0, "log time: is 1972-09-27T00:00:00.000Z, more than an hour ahead of this program's clock: nothing is deleted, as everything would seem old: if the clock of this machine is wrong, set it; if a broker's was when it stored message 23990, take that out of the log, as docs/RETENTION.md says"},
		{now - 400*day, 11, "log time: is 1972-09-27T00:00:00.000Z, more than an hour ahead of this program's clock: nothing is deleted, as everything would seem old: if the clock of this machine is wrong, set it; else the log has no such message any more, and this program's state has to be folded again, as docs/RETENTION.md says"},
	} {
		h.Clock, h.Log.Last = c.clock, uint64(now/hour)-c.gone
		p, err := retention.Make(retention.DefaultSettings(3, 14), h)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if (len(p.Steps) == 0) != (c.says != "") || said != c.says {
			t.Errorf("by clock %d ms off: %d steps, %s", c.clock-now, len(p.Steps), said)
		}
	}
}

func TestWhatIsCrowdedGoesAtOnce(t *testing.T) {
	s := retention.DefaultSettings(3, 14)
	list := []retention.Snapshot{
		at(999*day + 2), at(1000 * day), at(985 * day), at(999*day + 1), at(999 * day), at(990 * day), at(980 * day), at(984 * day),
	}
	want := []uint64{uint64(999 * day / hour), uint64(985 * day / hour), uint64(984 * day / hour)}
	list[0].Seq, list[3].Seq = uint64(999*day/hour)+2, uint64(999*day/hour)+1
	if diff := cmp.Diff(want, retention.Crowded(s, list)); diff != "" {
		t.Error(diff)
	}
	if list[0].LogTime != 999*day+2 {
		t.Error("the list is the caller's")
	}
	for n := range 4 {
		if got := retention.Crowded(s, list[:n]); got != nil {
			t.Errorf("of %d: %v", n, got)
		}
	}
}

// purged returns the sequence below which a plan purges, 0 for none.
func purged(p retention.Plan) uint64 {
	i := slices.IndexFunc(p.Steps, func(s retention.Step) bool { return s.Action == retention.PurgeLog })
	if i < 0 {
		return 0
	}
	return p.Steps[i].Seq
}

func TestWhatThePurgeWaitsFor(t *testing.T) {
	const now = 1000 * day
	s := retention.DefaultSettings(3, 14)
	old := []retention.Snapshot{at(930 * day), at(now - hour), at(now)}
	for _, c := range []struct {
		name   string
		change func(*retention.Have)
		want   uint64
	}{
		{"all is well", func(*retention.Have) {}, 930 * 24},
		{"there are too few snapshots", func(h *retention.Have) { h.Snapshots = old[:2] }, 0},
		{"there is no snapshot", func(h *retention.Have) { h.Snapshots = nil }, 0},
		{"young messages", func(h *retention.Have) { h.Log.Young = 5000 }, 5000},
		{"the newest message", func(h *retention.Have) { h.Log.Last, h.Log.Young = 900, 901 }, 900},
		{"a shared snapshot", func(h *retention.Have) { h.Shared = []retention.Snapshot{at(now), at(929 * day)} }, 929 * 24},
		{"nothing left to purge", func(h *retention.Have) { h.Log.First = 930 * 24 }, 0},
	} {
		h := have(now, old...)
		c.change(&h)
		p, err := retention.Make(s, h)
		if got := purged(p); err != nil || got != c.want {
			t.Errorf("%s: purge below %d, want %d, %v", c.name, got, c.want, err)
		}
	}
}

// world is a log with one message an hour, whose snapshots and purge follow plans.
type world struct {
	now    int64
	snaps  []retention.Snapshot
	purged uint64
}

// execute does the first steps of a plan.
func (w *world) execute(steps []retention.Step) {
	for _, s := range steps {
		switch s.Action {
		case retention.RemoveSnapshot:
			w.snaps = slices.DeleteFunc(w.snaps, func(n retention.Snapshot) bool { return n.Seq == s.Seq })
		case retention.PurgeLog:
			w.purged = max(w.purged, s.Seq)
		}
	}
}

// TestHalfAYear takes snapshots at about equal times for half a year, and stops in
// the middle of plans. At any time each snapshot left finds what follows it, every
// instant of the last 60 days can be folded, and neither files nor messages pile up.
func TestHalfAYear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := retention.DefaultSettings(3, 14)
		s.Newest = rapid.IntRange(2, 5).Draw(t, "newest")
		s.Spacing = rapid.Int64Range(1, 15).Draw(t, "spacing, days") * day
		every := rapid.Int64Range(6, 24).Draw(t, "hours between snapshots")
		stops := rapid.SliceOfN(rapid.IntRange(0, 20), 7, 7).Draw(t, "steps done of a plan")
		w := &world{now: 1000 * day}
		began := w.now
		for i := 0; w.now < began+180*day; i++ {
			w.snaps = append(w.snaps, at(w.now))
			if i%3 == 0 {
				w.thin(t, s)
			}
			p, err := retention.Make(s, have(w.now, w.snaps...))
			if err != nil {
				t.Fatal(err)
			}
			w.execute(p.Steps[:min(stops[i%7], len(p.Steps))])
			w.check(t, s, began)
			w.execute(p.Steps) // taken up again from the first
			w.check(t, s, began)
			if most := s.Newest + int(s.Purge/s.Spacing) + 3; len(w.snaps) > most {
				t.Fatalf("%d snapshots, want at most %d", len(w.snaps), most)
			}
			w.now += every * hour
		}
		if left := w.now - int64(w.purged)*hour; left > s.Purge+2*s.Spacing {
			t.Fatalf("the log is %d days long", left/day)
		}
	})
}

// thin removes what is crowded; a plan would not keep any of it.
func (w *world) thin(t *rapid.T, s retention.Settings) {
	p, err := retention.Make(s, have(w.now, w.snaps...))
	if err != nil {
		t.Fatal(err)
	}
	anchor := p.Keep[len(p.Keep)-1].Seq
	for _, seq := range retention.Crowded(s, w.snaps) {
		if seq > anchor && slices.ContainsFunc(p.Keep, func(k retention.Kept) bool { return k.Seq == seq }) {
			t.Fatalf("snapshot %d is crowded, and the plan keeps it", seq)
		}
		w.execute([]retention.Step{{Action: retention.RemoveSnapshot, Seq: seq}})
	}
}

func (w *world) check(t *rapid.T, s retention.Settings, began int64) {
	oldest := slices.MinFunc(w.snaps, func(a, b retention.Snapshot) int { return int(a.LogTime - b.LogTime) })
	if w.purged > oldest.Seq {
		t.Fatalf("snapshot %d, and the log is purged below %d", oldest.Seq, w.purged)
	}
	if from := max(began, w.now-s.Purge); oldest.LogTime > from {
		t.Fatalf("nothing to fold hour %d from: the oldest snapshot is of hour %d", from/hour, oldest.Seq)
	}
	if int64(w.purged)*hour > w.now-s.Purge {
		t.Fatalf("hour %d is purged at hour %d", w.purged, w.now/hour)
	}
	if w.snaps[len(w.snaps)-1].LogTime != w.now {
		t.Fatal("the newest snapshot was removed")
	}
}
