package projector_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/projector"
)

// TestMinuteRowsMergeInAnyGrouping: a store merges two neighbours at a time,
// whichever it likes, and the row comes out the same, byte for byte.
func TestMinuteRowsMergeInAnyGrouping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(minuteRow), 1, 6).Draw(t, "rows")
		var sum [8]int64
		for _, r := range rows {
			for i, n := range r {
				sum[i] += n
			}
		}
		var values [][]byte
		for _, r := range rows {
			values = append(values, encodeMinute(r))
		}
		for len(values) > 1 {
			i := rapid.IntRange(0, len(values)-2).Draw(t, "pair")
			v, err := projector.MergeOnto([]byte("h"), values[i], values[i+1])
			must(t, err)
			values = slices.Replace(values, i, i+2, v)
		}
		if want := encodeMinute(sum); !slices.Equal(values[0], want) {
			t.Errorf("%v merge to %x, want %x", rows, values[0], want)
		}
	})
}

// minuteRow draws a row whose adjustments are often none, and often cancel out.
func minuteRow(t *rapid.T) (r [8]int64) {
	for i := range r {
		r[i] = rapid.Int64Range(0, 1000).Draw(t, "amount")
		if i >= 4 {
			r[i] = rapid.SampledFrom([]int64{0, 0, 0, 5, -5}).Draw(t, "adjusted")
		}
	}
	return r
}

// encodeMinute writes four amounts, or eight when adjustments changed something.
func encodeMinute(r [8]int64) (v []byte) {
	n := 8
	if [4]int64(r[4:]) == [4]int64{} {
		n = 4
	}
	for _, x := range r[:n] {
		v = binary.AppendVarint(v, x)
	}
	return v
}

func TestBadMinuteRowsDoNotMerge(t *testing.T) {
	good := encodeMinute([8]int64{1, 2, 3, 4})
	for _, bad := range [][]byte{nil, good[:3], append(slices.Clone(good), 1), make([]byte, 9)} {
		_, onto := projector.MergeOnto([]byte("h"), slices.Clone(bad), good)
		_, newer := projector.MergeOnto([]byte("h"), slices.Clone(good), bad)
		if !errors.Is(onto, projector.ErrCorrupt) || !errors.Is(newer, projector.ErrCorrupt) {
			t.Errorf("merging with %x: %v and %v, want ErrCorrupt", bad, onto, newer)
		}
	}
}
