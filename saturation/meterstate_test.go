package saturation

import (
	"encoding/hex"
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/quota"
)

// store is what a program keeps of one meter: its head, and rows by cycle and
// key, both as bytes.
type store struct {
	window quota.Window
	head   []byte
	rows   map[rowKey][]byte
	writes int // of rows, since the last commit began
}

type rowKey struct {
	cycle uint64
	key   uint32
}

// commit writes what changed, as the doc comment of Meter says.
func (s *store) commit(m *Meter) {
	s.writes = 0
	if !m.Changed() {
		return
	}
	from, to := m.Dropped()
	maps.DeleteFunc(s.rows, func(k rowKey, _ []byte) bool { return from <= k.cycle && k.cycle < to })
	m.ChangedRows(func(cycle uint64, key uint32, u Usage) {
		if s.rows == nil {
			s.rows = make(map[rowKey][]byte)
		}
		s.rows[rowKey{cycle, key}] = u.Append(nil)
		s.writes++
	})
	s.head = m.Append(nil)
	m.Saved()
}

// load returns the meter that was committed.
func (s *store) load(t interface{ Fatal(...any) }) *Meter {
	if s.head == nil {
		return NewMeter(s.window)
	}
	h, err := DecodeHead(s.head)
	if err != nil {
		t.Fatal(err)
	}
	m := Restore(s.window, h)
	for k, b := range s.rows {
		u, err := DecodeUsage(b)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.PutRow(k.cycle, k.key, u); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// use counts tokens, with or without usd.
func use(m *Meter, key uint32, at int64, tokens quota.Amount) {
	m.Use(key, at, &quota.Amounts{quota.Requests: 1_000, quota.Tokens: tokens * 1_000}, false)
}

// TestOnlyChangedRowsAreWritten: a commit costs what changed, not what there is.
func TestOnlyChangedRowsAreWritten(t *testing.T) {
	m, s := NewMeter(quota.FiveHour), store{window: quota.FiveHour}
	m.Read(Observation{At: start, ResetAt: start + 3_600_000}, vectorTTL)
	for key := range uint32(1_000) {
		use(m, key, start, 1)
	}
	s.commit(m)
	if from, to := m.Dropped(); s.writes != 1_000 || m.Changed() || from != to {
		t.Fatalf("%d rows written, changed %t, cycles %d to %d to be dropped", s.writes, m.Changed(), from, to)
	}
	use(m, 7, start, 1)
	use(m, 7, start, 1)
	use(m, 9, start+3_600_000, 1) // of the next cycle
	s.commit(m)
	if s.writes != 2 {
		t.Errorf("%d rows written, want those of keys 7 and 9", s.writes)
	}
	m.Read(Observation{At: start + 1, Used: point, ResetAt: start + 3_600_000}, vectorTTL)
	if s.commit(m); s.writes != 0 || len(s.rows) != 1_001 {
		t.Errorf("%d rows written, %d there", s.writes, len(s.rows))
	}
}

// TestNewCycleDropsRows: the rows of a cycle go as one range, those that came
// for the next stay when it is the next that follows.
func TestNewCycleDropsRows(t *testing.T) {
	for name, s := range map[string]struct {
		next Observation
		rows int
	}{
		"over":        {Observation{At: start + 3_600_000, Used: point}, 1},
		"early reset": {Observation{At: start + 2, Used: point}, 0},
		"replaced":    {Observation{At: start + 2, Used: 39 * point, ResetAt: start + 7_200_000}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, disk := NewMeter(quota.FiveHour), store{window: quota.FiveHour}
			m.Read(Observation{At: start, Used: 40 * point, ResetAt: start + 3_600_000}, vectorTTL)
			for key := range uint32(10) {
				use(m, key, start, 1)
			}
			use(m, 3, start+3_600_000, 5)
			disk.commit(m)
			m.Read(s.next, vectorTTL)
			disk.commit(m)
			if len(disk.rows) != s.rows || disk.writes != 0 {
				t.Errorf("%d rows in the store, %d written for it; want %d, 0", len(disk.rows), disk.writes, s.rows)
			}
			use(m, 4, start+1, 5)
			disk.commit(m)
			if d := cmp.Diff(rowsOf(m), rowsOf(disk.load(t))); d != "" {
				t.Errorf("before -, after a restart +:\n%s", d)
			}
		})
	}
}

func rowsOf(m *Meter) map[rowKey]Usage {
	rows := map[rowKey]Usage{}
	m.Rows(func(cycle uint64, key uint32, u Usage) { rows[rowKey{cycle, key}] = u })
	return rows
}

var goldenHead = Head{
	Number: 300, Used: 74e6, ResetAt: start + 5, Observed: start + 3, Start: start, Pot: 60e6,
	Waiting: true, NextUnpriced: true, Newest: start + 4, NextNewest: start + 6, Other: Window{16e6, start + 9, start + 2},
}

// TestEncoding fixes the bytes: stores and digests stand on them.
func TestEncoding(t *testing.T) {
	for name, s := range map[string]struct {
		got  []byte
		want string
	}{
		"head": {goldenHead.Append(nil), "ac02" + "05" + "809ac946" + "8ab083c59868" + "86b083c59868" + "80b083c59868" + "809c9c39" + "88b083c59868" + "8cb083c59868" + "8090a10f" + "92b083c59868" + "84b083c59868"},
		"none": {new(Head).Append(nil), "000000000000000000000000"},
		"row":  {(&Usage{1_000, 90_000_000, 5}).Append(nil), "d00f80aaea550a"},
	} {
		if got := hex.EncodeToString(s.got); got != s.want {
			t.Errorf("%s: %s, want %s", name, got, s.want)
		}
	}
	h, err := DecodeHead(goldenHead.Append(nil))
	if d := cmp.Diff(goldenHead, h); d != "" || err != nil {
		t.Errorf("%v, want -, got +:\n%s", err, d)
	}
}

func TestCorrupt(t *testing.T) {
	head := goldenHead.Append(nil)
	for name, change := range map[string]func(*Head){
		"pot beyond used":        func(h *Head) { h.Pot = h.Used + 1 },
		"pot below 0":            func(h *Head) { h.Pot = -1 },
		"other below 0":          func(h *Head) { h.Other.Used = -1 },
		"newest below 0":         func(h *Head) { h.Newest = -1 },
		"next newest below 0":    func(h *Head) { h.NextNewest = -1 },
		"observed before begun":  func(h *Head) { h.Observed = h.Start - 1 },
		"something but no cycle": func(h *Head) { h.Number = 0 },
	} {
		h := goldenHead
		change(&h)
		if _, err := DecodeHead(h.Append(nil)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := range head {
		if _, err := DecodeHead(head[:n]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes of %d: %v", n, len(head), err)
		}
	}
	flags := append([]byte{}, head...)
	flags[2] = 8
	for _, b := range [][]byte{flags, append(head, 0)} {
		if _, err := DecodeHead(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%x: %v", b, err)
		}
	}
	for _, b := range [][]byte{nil, {2, 2}, {2, 2, 2, 2}, {2, 1, 2}, {2, 0x80}} {
		if _, err := DecodeUsage(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("row %x: %v", b, err)
		}
	}
}

func TestRowsOfOtherCyclesAreRefused(t *testing.T) {
	m := Restore(quota.FiveHour, goldenHead)
	for _, s := range []struct {
		cycle uint64
		u     Usage
		want  error
	}{
		{299, Usage{}, ErrCorrupt},
		{300, Usage{Tokens: 1}, nil},
		{301, Usage{Tokens: 1}, nil},
		{302, Usage{}, ErrCorrupt},
		{300, Usage{Tokens: -1}, ErrCorrupt},
	} {
		if err := m.PutRow(s.cycle, 1, s.u); !errors.Is(err, s.want) {
			t.Errorf("cycle %d, %+v: %v", s.cycle, s.u, err)
		}
	}
	if from, to := m.Dropped(); m.Changed() || from != to {
		t.Error("what was loaded is changed")
	}
	m.ChangedRows(func(uint64, uint32, Usage) { t.Error("a loaded row is changed") })
	if err := NewMeter(quota.Hourly).PutRow(0, 1, Usage{}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a row without a cycle: %v", err)
	}
}
