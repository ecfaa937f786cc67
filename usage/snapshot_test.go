package usage

import (
	"encoding/json"
	"flag"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestUsedPercent(t *testing.T) {
	for _, c := range []struct {
		total, limit quota.Amount
		want         quota.Amount
		known        bool
	}{
		{0, 0, 0, false},
		{5, 0, 0, false},
		{0, 5, 0, true},
		{54_090_000_000, 1_800_090_000_000, 3_004_849, true}, // 3.00484975…
		{160, 100, 160e6, true},
		{1, 3, 33_333_333, true},
		{math.MaxInt64, 1, math.MaxInt64, true},
		{184_467_440_738, 1, math.MaxInt64, true}, // × 1e8 is 2^64 and a little
		{93_000_000_000, 1, math.MaxInt64, true},  // and this 2^63
	} {
		d := Dimension{ConsumedTotal: c.total, Limit: c.limit}
		if got, known := d.UsedPercent(); got != c.want || known != c.known {
			t.Errorf("%d of %d: %d %v, want %d %v", c.total, c.limit, got, known, c.want, c.known)
		}
	}
}

// TestStrictAt: the dimension is strict there, and one step below it is not.
func TestStrictAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.OneOf(rapid.Int64Range(1, 10), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "limit")
		threshold := rapid.Int64Range(0, int64(quota.RatioOne)).Draw(t, "threshold")
		d := Dimension{Limit: quota.Amount(limit)}
		at, known := d.StrictAt(quota.Ratio(threshold))
		strict := func(total quota.Amount) bool {
			return big.NewRat(int64(total), limit).Cmp(big.NewRat(threshold, 1e6)) >= 0
		}
		if !known || at < 0 || !strict(at) || at > 0 && strict(at-1) {
			t.Fatalf("strict at %d %v", at, known)
		}
	})
	if _, known := (&Dimension{}).StrictAt(5e5); known {
		t.Error("strict somewhere of an unknown limit")
	}
}

// full is a snapshot that has everything.
func full() *Snapshot {
	return &Snapshot{
		PoolID: "p:1", GeneratedAt: noon + 5, AsOf: questions.AsOf{Seq: 42, Time: noon, LagMs: 7},
		Mode: plans.Observe, Enforcing: true, Threshold: 500_001,
		Keys: []Key{
			{ID: "a", Allocation: "a", Own: true, Reason: "fair-share", RetryAt: 1_790_001_804_789},
			{ID: "*", Allocation: "*", Own: true, Allow: true, Reason: "ok", Deprioritize: true},
			{ID: "x", Reason: "suspended"},
		},
		Dimensions: []Dimension{
			{
				Unit: quota.USD, Window: quota.Daily, Limit: 1_800_090_000_000, ConsumedTotal: 54_090_000_000, HeldTotal: 1,
				Mode: "strict", Unlisted: 90_000_000,
				Connections: []Connection{
					{
						ID: "c1", Limit: 66_670_000_000, ConsumedTotal: 50_000_000_000, ProviderUsed: 75_500_000, HasProvider: true, ResetAt: noon + 1,
						Observed: noon - 1, Split: Split{HasSplit: true, Attributed: 60_000_001, Unattributed: 15_499_999},
					},
					{ID: "c2", ConsumedTotal: 1},
				},
				Uses: []Use{
					{Consumed: 3, Held: 2, FairShare: 1, HasFairShare: true, Deficit: 2, Borrowing: true, HasRemaining: true, Rate: 1},
					{FairShare: 5, HasFairShare: true, Deficit: -5, Remaining: 7, HasRemaining: true},
					{Consumed: 1},
				},
				Burn: Burn{Rate: 1_500_000_000_000, ExhaustionMs: 300, HasExhaustion: true},
			},
			{Unit: quota.Percent, Window: quota.FiveHour, Mode: "generous", Uses: make([]Use, 3)},
			{Unit: quota.Requests, Window: quota.Hourly, Limit: 1, Mode: "generous", Uses: make([]Use, 3), Burn: Burn{ExhaustionMs: 200, HasExhaustion: true}},
		},
		Signals: []Signal{
			{
				ConnectionID: "c1", Window: quota.Daily, Observed: noon - 1, Known: true, Used: 75_500_000, ResetAt: noon + 1,
				Split: Split{HasSplit: true, Attributed: 60_000_001, Unattributed: 15_499_999}, Drift: -500_000, HasDrift: true,
			},
			{ConnectionID: "c2", Window: quota.Weekly, Scope: "opus", Observed: noon - 3, Known: true, Used: 104_000_000},
			{ConnectionID: "c2", Window: quota.Rate, Observed: noon - 2},
		},
		Flights:  []Flight{{ConnectionID: "c1", InFlight: 2, MaxConcurrent: 3}, {ConnectionID: "c2"}},
		Backlog:  Backlog{Waiting: 3, Keys: []Wait{{APIKeyID: "a", Waiting: 2, Since: noon - 1}, {APIKeyID: "x", Waiting: 1, Since: noon}}},
		Unlisted: 3, TokensPerSecond: 12_500_001,
	}
}

// TestGolden fixes the bytes: programs in other languages rely on them.
func TestGolden(t *testing.T) {
	golden(t, "snapshot.json", full().Append(nil))
	golden(t, "empty.json", new(Snapshot).Append(nil))
	golden(t, "history.json", filledHistory().Append(nil))
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if !json.Valid(got) {
		t.Errorf("%s is no JSON: %s", name, got)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	if got := full().Append([]byte("before")); string(got) != "before"+string(full().Append(nil)) {
		t.Errorf("got %s", got)
	}
}

func TestUseOf(t *testing.T) {
	d := questions.Dimension{Consumed: 1, Held: 2, FairShare: 3, HasFairShare: true, Deficit: -2, Borrowing: true, Remaining: 4, HasRemaining: true}
	want := Use{Consumed: 1, Held: 2, FairShare: 3, HasFairShare: true, Deficit: -2, Borrowing: true, Remaining: 4, HasRemaining: true}
	if diff := cmp.Diff(want, UseOf(&d)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
