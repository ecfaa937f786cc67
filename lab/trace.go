package lab

import (
	"errors"
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

// MostTokens bounds the tokens of one row.
const MostTokens = 1_000_000_000_000

// Trace makes a scenario of rows, in any order. They are stretched over so many windows,
// and scaled so that in all of them together demand percent of the limit is asked for.
// Keys have equal weights, and are in the order in which they first come. Errors name the
// argument.
func Trace(name string, rows []Row, w quota.Window, windows int, demand int64) (*Scenario, error) {
	switch {
	case len(rows) == 0:
		return nil, errors.New("rows: are none: a trace has one at least")
	case demand < 1 || demand > 10_000:
		return nil, fmt.Errorf("demand: is %d: use 1 to 10000 percent", demand)
	case windows < 1 || windows > MostWindows:
		return nil, fmt.Errorf("windows: is %d: use 1 to %d", windows, MostWindows)
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return int(min(max(a.At-b.At, -1), 1)) })
	s := &Scenario{Name: name, About: fmt.Sprintf("%d requests of a trace", len(rows)), Window: w, Windows: windows, Warmup: min(1, windows-1), Retry: 3_600}
	err := s.deal(rows, uint64(demand)*uint64(Whole)/100*uint64(windows))
	return s, err
}

// deal gives every key its rows. What is asked for in all comes to total.
func (s *Scenario) deal(rows []Row, total uint64) error {
	var tokens uint64
	for i, row := range rows {
		if row.Tokens < 1 || row.Tokens > MostTokens {
			return fmt.Errorf("rows: number %d has %d tokens: use 1 to %d", i+1, row.Tokens, int64(MostTokens))
		}
		tokens += uint64(row.Tokens)
	}
	first, span := rows[0].At, uint64(rows[len(rows)-1].At-rows[0].At)+1
	lasts := uint64(s.Windows) * uint64(s.Window.Millis())
	place := map[string]int{}
	for _, row := range rows {
		i, ok := place[row.Key]
		if !ok {
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
