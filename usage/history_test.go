package usage

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
)

const (
	minute = int64(MinuteMs)
	hour   = 60 * minute
	day    = 24 * hour

	lastMinute = quota.MaxInstant / minute * minute // its first instant
)

func TestNormalize(t *testing.T) {
	now := noon + 90*1000
	for _, c := range []struct {
		name string
		in   Query
		want Query
	}{
		{"nothing said", Query{}, Query{From: noon - day, To: noon + 5*minute, StepMs: 5 * minute}},
		{"an hour", Query{From: noon - hour}, Query{From: noon - hour, To: noon + 2*minute, StepMs: minute}},
		{"an end", Query{To: noon}, Query{From: noon - day, To: noon, StepMs: 5 * minute}},
		{"360 minutes", Query{From: noon, To: noon + 360*minute}, Query{From: noon, To: noon + 360*minute, StepMs: minute}},
		{"a minute more", Query{From: noon, To: noon + 361*minute}, Query{From: noon, To: noon + 365*minute, StepMs: 5 * minute}},
		{"widened", Query{From: noon + 1, To: noon + hour + 1, StepMs: hour}, Query{From: noon, To: noon + 2*hour, StepMs: hour}},
		{"days of UTC", Query{From: noon - 90*day, To: noon, StepMs: day}, Query{From: noon - noon%day - 90*day, To: noon - noon%day + day, StepMs: day}},
		{"three years", Query{From: noon - 1000*day, To: noon}, Query{From: noon - noon%day - 1000*day, To: noon - noon%day + day, StepMs: day}},
		{"2,000 rows", Query{From: noon, To: noon + 2000*minute, StepMs: minute}, Query{From: noon, To: noon + 2000*minute, StepMs: minute}},
		{"the last step", Query{From: lastMinute - hour, To: lastMinute}, Query{From: lastMinute - hour, To: lastMinute, StepMs: minute}},
		{"other fields", Query{PoolID: "p", Key: "*", From: noon, To: noon + 1}, Query{PoolID: "p", Key: "*", From: noon, To: noon + minute, StepMs: minute}},
	} {
		got := c.in
		if err := got.Normalize(now); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
	}
}

func TestNormalizeFaults(t *testing.T) {
	for _, c := range []struct {
		in   Query
		want string
	}{
		{Query{From: noon, To: noon}, "from is not before to: ask for a time that ends after it begins"},
		{Query{From: noon + 2}, "from is not before to: ask for a time that ends after it begins"},
		{Query{StepMs: 90_000}, "step is 90000: use whole minutes in milliseconds, such as 60000"},
		{Query{StepMs: -60_000}, "step is -60000: use whole minutes in milliseconds, such as 60000"},
		{Query{From: noon + 2, StepMs: 1}, "from is not before to: ask for a time that ends after it begins; step is 1: use whole minutes in milliseconds, such as 60000"},
		{Query{From: noon - 2001*minute, StepMs: minute, To: noon}, "step gives 2001 rows, more than 2000: use a larger step or a shorter time"},
		{Query{From: noon - 2000*minute, StepMs: minute}, "step gives 2001 rows, more than 2000: use a larger step or a shorter time"},
		{Query{From: lastMinute - hour, To: lastMinute + 1}, "to is after 9999-12-31T23:59:00.000Z, where the last step ends: use an earlier time or a smaller step"},
		{Query{From: lastMinute - hour, To: lastMinute, StepMs: hour}, "to is after 9999-12-31T23:00:00.000Z, where the last step ends: use an earlier time or a smaller step"},
		{Query{StepMs: math.MaxInt64 / minute * minute}, "to is after 1970-01-01T00:00:00.000Z, where the last step ends: use an earlier time or a smaller step"},
		{Query{From: quota.MinInstant}, "step gives 9761 rows, more than 2000: use a larger step or a shorter time"},
	} {
		if err := c.in.Normalize(noon + 1); err == nil || err.Error() != c.want {
			t.Errorf("%+v\n got %v\nwant %s", c.in, err, c.want)
		}
	}
}

// TestHistoryHasARowForEveryInstant: the rows follow each other, are aligned, and
// hold everything that was asked for.
func TestHistoryHasARowForEveryInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.OneOf(rapid.Int64Range(quota.MinInstant, quota.MaxInstant-day), rapid.Int64Range(lastMinute-10*day, lastMinute)).Draw(t, "from")
		q := Query{From: from, To: from + rapid.Int64Range(1, 10*day).Draw(t, "for"), StepMs: minute * rapid.Int64Range(0, 100).Draw(t, "step")}
		asked := q
		if q.Normalize(from) != nil {
			return
		}
		h := NewHistory(&q)
		if h.To > quota.MaxInstant {
			t.Fatalf("it ends at %s", quota.FormatInstant(h.To))
		}
		if len(h.Rows) == 0 || h.Row(h.From-1) != nil || h.Row(h.To) != nil {
			t.Fatalf("%d rows", len(h.Rows))
		}
		for i, r := range h.Rows {
			if r.Time%h.StepMs != 0 || r.Time != h.Rows[0].Time+int64(i)*h.StepMs || h.Row(r.Time) != &h.Rows[i] || h.Row(r.Time+h.StepMs-1) != &h.Rows[i] {
				t.Fatalf("row %d is of %d", i, r.Time)
			}
		}
		first, last := h.Row(asked.From), h.Row(asked.To-1)
		if first != &h.Rows[0] || last != &h.Rows[len(h.Rows)-1] || h.From != h.Rows[0].Time || h.To != last.Time+h.StepMs {
			t.Fatalf("asked for %d to %d, got %d to %d", asked.From, asked.To, h.From, h.To)
		}
	})
}

func filledHistory() *History {
	q := Query{PoolID: "p", From: noon, To: noon + 3*minute, StepMs: minute}
	h := NewHistory(&q)
	r := h.Row(noon + minute)
	r.Total = quota.Amounts{1000, 2500, 1, 3}
	r.Adjusted[quota.Tokens] = -500
	r.PerKey = []KeyAmounts{{"a", quota.Amounts{1000, 0, 1, 0}}, {"b", quota.Amounts{0, 2000, 0, 3}}}
	r.Unlisted[quota.Tokens] = 500
	return h
}

// Rows without a correction do not speak of one.
func TestHistoryShowsCorrectionsWhereTheyAre(t *testing.T) {
	text := string(filledHistory().Append(nil))
	if n := strings.Count(text, `"adjusted"`); n != 1 || !strings.Contains(text, `"adjusted":{"tokens":-0.5}`) {
		t.Errorf("%d rows with corrections in %s", n, text)
	}
}
