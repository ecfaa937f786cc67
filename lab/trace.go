package lab

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/quotashare/quotashare/quota"
)

// Row is one request of a history: its time in epoch ms, its tokens and its key. Package
// trace reads them from files.
type Row struct {
	At     int64
	Tokens int64
	Key    string
}

// What bounds a trace: the tokens of one row, its rows, and the keys that they are of: what
// a question costs grows with their number, and so does how many there are.
const (
	MostTokens = 1_000_000_000_000
	MostRows   = 10_000_000
	MostKeys   = 1_000
)

// Trace makes a scenario of rows, in any order. They are stretched over so many windows,
// and scaled so that in all of them together demand percent of the limit is asked for.
// Keys have equal weights, and are in the order in which they first come. Errors name the
// argument.
func Trace(name string, rows []Row, w quota.Window, windows int, demand int64) (*Scenario, error) {
	switch {
	case len(rows) == 0 || len(rows) > MostRows:
		return nil, fmt.Errorf("rows: are %d: use 1 to %d", len(rows), MostRows)
	case demand < 1 || demand > 10_000:
		return nil, fmt.Errorf("demand: is %d: use 1 to 10000 percent", demand)
	case w >= quota.NumWindows:
		return nil, fmt.Errorf("window: is none of ours: use %s", quota.WindowNames)
	case windows < 1 || windows > MostWindows:
		return nil, fmt.Errorf("windows: is %d: use 1 to %d", windows, MostWindows)
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.At, b.At) })
	s := &Scenario{Name: name, About: fmt.Sprintf("%d requests of a trace", len(rows)), Window: w, Windows: windows, Warmup: min(1, windows-1), Retry: w.Millis() / 1_000}
	if err := s.deal(rows, uint64(demand)*uint64(Whole)/100*uint64(windows)); err != nil {
		return nil, err
	}
	return s, nil
}

// deal gives every key its rows. What is asked for in all comes to total.
func (s *Scenario) deal(rows []Row, total uint64) error {
	var tokens uint64
	for _, row := range rows {
		switch {
		case row.Tokens < 1 || row.Tokens > MostTokens:
			return fmt.Errorf("rows: one has %d tokens: use 1 to %d", row.Tokens, int64(MostTokens))
		case row.At < 0:
			return fmt.Errorf("rows: one is at %d: use epoch milliseconds", row.At)
		}
		tokens += uint64(row.Tokens)
	}
	first, span := rows[0].At, uint64(rows[len(rows)-1].At-rows[0].At)+1
	lasts := uint64(s.Windows) * uint64(s.Window.Millis())
	place := map[string]int{}
	for _, row := range rows {
		i, ok := place[row.Key]
		if !ok {
			if len(s.Keys) == MostKeys {
				return fmt.Errorf("rows: are of more than %d keys: leave some out", MostKeys)
			}
			i = len(s.Keys)
			place[row.Key] = i
			s.Keys = append(s.Keys, Key{Name: row.Key})
		}
		size := quota.Amount(scaled(uint64(row.Tokens), total, tokens))
		at := scaled(uint64(row.At-first), lasts, span)
		s.Keys[i].Requests = append(s.Keys[i].Requests, Request{At: int64(at), Size: min(max(size, 1), Whole)})
	}
	for i, w := range equal(len(s.Keys)) {
		s.Keys[i].Weight = w
	}
	return nil
}

// scaled is ⌊a × to / from⌋ for a ≤ from.
func scaled(a, to, from uint64) uint64 {
	hi, lo := bits.Mul64(a, to)
	q, _ := bits.Div64(hi, lo, from)
	return q
}
