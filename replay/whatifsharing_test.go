package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
)

const minute = 60_000

// byGuarantee tries pool p by the rule guarantee, and is the same in all else.
const byGuarantee = `{"rules":[{"poolId":"p","rule":"guarantee"}],"from":{"seq":3}}`

// lone is a key that asks for 100 every five minutes, and once more in the last
// millisecond of the hour: 13 times. Those of passes passed and were consumed, the others
// were blocked.
func lone(l *memory, passes func(ask int) bool) {
	for ask := range 13 {
		at := int64(1+5*ask) * minute
		if ask == 12 {
			at = hour - 1
		}
		if passes(ask) {
			l.use(at, "a", 100)
		} else {
			blockedRow(l, at, 100, "")
		}
	}
}

// guaranteed is shared(50, 50) that was recorded under the rule guarantee.
func guaranteed() *memory {
	l := shared(50, 50)
	l.list[1].Data = []byte(strings.Replace(string(l.list[1].Data), `"name"`, `"rule":"guarantee","name"`, 1))
	return l
}

// Under the rule guarantee ask k, of 0 to 11 at minute 1 + 5k, passes while what was used
// with it, and the pace of b, 500 × the part of the hour that is left, are at most 1000:
//
//	ask 7   800 + 500·24/60 = 1000, and a little less: passes
//	ask 8   900 + 500·19/60 = 1058
//	ask 9   900 + 500·14/60 = 1016
//	ask 10  900 + 500·9/60  = 975: passes
//	ask 11  1000 + 500·4/60 = 1033
//	ask 12  1000 + 0: passes
func passesGuarantee(ask int) bool { return ask < 8 || ask == 10 || ask == 12 }

// Under the threshold it is stopped when it is above its share, 500, and half of the limit
// is used: it asks at 500 for the last time, and has 600.
func passesThreshold(ask int) bool { return ask < 6 }

// TestALoneKeyIsServedAllInPlaceOfHalf is the story that the rule guarantee is made for,
// told from the recorded side and from the other.
func TestALoneKeyIsServedAllInPlaceOfHalf(t *testing.T) {
	stopped := "6 allowed 7 blocked 0 deprioritized 600 tokens"
	served := "10 allowed 3 blocked 0 deprioritized 1000 tokens"
	wasted := whatif.Capacity{Buckets: 1, Limit: 1_000_000, Used: 600_000, Unused: 400_000, Withheld: 400_000, Wanted: 400_000}
	full := whatif.Capacity{Buckets: 1, Limit: 1_000_000, Used: 1_000_000}
	for _, c := range []struct {
		name   string
		log    *memory
		passed func(ask int) bool
		trial  string
		want   string
		sides  [2]whatif.Capacity
	}{
		{"guarantee", shared(50, 50), passesThreshold, byGuarantee, stopped + " | " + served + " | +0 -4\n", [2]whatif.Capacity{wasted, full}},
		{"threshold", guaranteed(), passesGuarantee, `{"rules":[{"poolId":"p","rule":"threshold"}],"from":{"seq":3}}`, served + " | " + stopped + " | +4 -0\n", [2]whatif.Capacity{full, wasted}},
	} {
		t.Run("tried with "+c.name, func(t *testing.T) {
			lone(c.log, c.passed)
			r := whatIfOf(t, c.log, c.trial)
			if got := rowsOf(r); got != "a | "+c.want {
				t.Errorf("got  %swant a | %s", got, c.want)
			}
			if r.Asked.Unlike != 0 || len(r.Notes) != 0 {
				t.Errorf("the history does not follow from its rules: %+v, notes %q", r.Asked, r.Notes)
			}
			if diff := cmp.Diff(c.sides, r.Pools[0].Sides); diff != "" {
				t.Errorf("capacity as it should be (-) and as it is (+)\n%s", diff)
			}
		})
	}
}

// TestWhoComesLateIsServedMore, and who came early less: a had 600 of the hour before b
// came. Under the rule guarantee its second request, 600 in all, does not leave the pace
// of b, 500·58/60, so b has its 500. That a would have come back is not known, and 200 are
// left that it asked for.
func TestWhoComesLateIsServedMore(t *testing.T) {
	l := shared(50, 50)
	l.use(1*minute, "a", 300)
	l.use(2*minute, "a", 300)
	for i := range int64(4) {
		l.use((30+i)*minute, "b", 100)
	}
	blockedRow(l, 34*minute, 100, "").Question.APIKeyID = "b"
	r := whatIfOf(t, l, byGuarantee)
	want := []whatif.Shift{
		{
			Unit: quota.Requests, More: []whatif.Change{{APIKeyID: "b", Before: 4000, After: 5000}},
			Less: []whatif.Change{{APIKeyID: "a", Before: 2000, After: 1000}},
		},
		{
			Unit: quota.Tokens, More: []whatif.Change{{APIKeyID: "b", Before: 400_000, After: 500_000}},
			Less: []whatif.Change{{APIKeyID: "a", Before: 600_000, After: 300_000}},
		},
	}
	if diff := cmp.Diff(want, r.Shifts()); diff != "" {
		t.Errorf("shifts as they should be (-) and as they are (+)\n%s", diff)
	}
	sides := [2]whatif.Capacity{
		{Buckets: 1, Limit: 1_000_000, Used: 1_000_000},
		{Buckets: 1, Limit: 1_000_000, Used: 800_000, Unused: 200_000, Withheld: 200_000, Wanted: 200_000},
	}
	if diff := cmp.Diff(sides, r.Pools[0].Sides); diff != "" {
		t.Errorf("capacity as it should be (-) and as it is (+)\n%s", diff)
	}
}

// TestARuleIsTriedOnEveryDocumentOfThePool: on those that come in the range too, and on a
// pool that comes. What the documents say else stays.
func TestARuleIsTriedOnEveryDocumentOfThePool(t *testing.T) {
	l := shared(10, 90)
	l.add(0, "quota.config.pool.p", pool(50, 50)) // message 3
	lone(l, passesThreshold)
	want := "a | 6 allowed 7 blocked 0 deprioritized 600 tokens | 10 allowed 3 blocked 0 deprioritized 1000 tokens | +0 -4\n"
	if got := rowsOf(whatIfOf(t, l, byGuarantee)); got != want {
		t.Errorf("a document that comes: %swant %s", got, want)
	}
	fresh := strings.Replace(byGuarantee, `:3}`, `:1}`, 1)
	if got := rowsOf(whatIfOf(t, l, fresh)); got != want {
		t.Errorf("a pool that comes: %swant %s", got, want)
	}
	l.add(hour, "quota.config.pool.p", `{"id":"p"}`) // is refused
	if got := whatIfOf(t, l, fresh); rowsOf(got) != want || len(got.Notes) != 0 {
		t.Errorf("a document that is refused: %s, notes %q", rowsOf(got), got.Notes)
	}
	r := whatIfOf(t, l, `{"rules":[{"poolId":"q","reserve":50}],"from":{"seq":1}}`)
	if len(r.Notes) != 1 || r.Notes[0] != `rules: there was no pool "q", so another rule for it changes nothing` {
		t.Errorf("notes %q", r.Notes)
	}
}

// TestAReserveAloneIsTried: with half of the pace kept ask 8 passes too, 900 + 250·19/60,
// and what it took is not there later.
func TestAReserveAloneIsTried(t *testing.T) {
	l := guaranteed()
	lone(l, passesGuarantee)
	r := whatIfOf(t, l, `{"rules":[{"poolId":"p","reserve":50}],"from":{"seq":3}}`)
	want := "a | 10 allowed 3 blocked 0 deprioritized 1000 tokens | 10 allowed 3 blocked 0 deprioritized 1000 tokens | +1 -1\n"
	if got := rowsOf(r); got != want {
		t.Errorf("got %swant %s", got, want)
	}
	whole := whatIfOf(t, l, `{"pools":[`+strings.Replace(pool(50, 50), `"name"`, `"rule":"guarantee","reserve":50,"name"`, 1)+`],"from":{"seq":3}}`)
	if diff := cmp.Diff(whole, r); diff != "" {
		t.Errorf("the whole document (-) and the reserve alone (+)\n%s", diff)
	}
}

// TestWhatWasWantedIsCountedOnce: who asks again with its id wants no more, and what came
// in the end was not wanting; parts are of their request.
func TestWhatWasWantedIsCountedOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func(l *memory)
		want quota.Amount // on the side before and on the other
	}{
		{"without an id", func(l *memory) { blockedRow(l, 5, 60, ""); blockedRow(l, 6, 60, "") }, 120_000},
		{"with the same id", func(l *memory) { blockedRow(l, 5, 60, "r").Count = 9; blockedRow(l, 6, 60, "r") }, 60_000},
		{"with other ids", func(l *memory) { blockedRow(l, 5, 60, "r"); blockedRow(l, 6, 60, "s") }, 120_000},
		{"more than there was", func(l *memory) { blockedRow(l, 5, 60, "").Count = 30 }, 400_000},
		{"without an estimate", func(l *memory) { blockedRow(l, 5, 0, "") }, 0},
		{"by a hold", func(l *memory) { l.hold(5, "h", "a", 60) }, 60_000},
		{"by a hold that came all the same", func(l *memory) { l.hold(5, "h", "a", 60); l.settle(6, "h", "a", 0) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := shared(50, 50)
			l.use(1, "a", 600)
			c.tell(l)
			r := whatIfOf(t, l, `{"settings":{"maxLagMs":7},"from":{"seq":3}}`)
			for i, got := range r.Pools[0].Sides {
				if got.Withheld != 400_000 || got.Wanted != c.want {
					t.Errorf("side %d: %+v, want %d", i, got, c.want)
				}
			}
		})
	}
}

// TestPartsOfARequestThatIsStopped are what was wanted, all of them.
func TestPartsOfARequestThatIsStopped(t *testing.T) {
	l := shared(50, 50)
	l.use(1, "a", 300)
	l.use(2, "b", 300)
	for i, tokens := range []int{30, 20, 10} {
		l.add(int64(3+i), "quota.consumption", fmt.Sprintf(`{"apiKeyId":"a","connectionId":"c","requestId":"r","partial":%v,"cost":{"tokens":%d}}`, i < 2, tokens))
	}
	r := whatIfOf(t, l, `{"pools":[`+pool(10, 90)+`],"from":{"seq":3}}`)
	want := whatif.Capacity{Buckets: 1, Limit: 1_000_000, Used: 600_000, Unused: 400_000, Withheld: 400_000, Wanted: 60_000}
	if got := r.Pools[0].Sides[whatif.After]; got != want {
		t.Errorf("capacity %+v, want %+v", got, want)
	}
}

// TestWhatIsNoMatterOfSharingIsNotWithheld: a cap is the operator's word, and an account
// that its provider calls used up has nothing left.
func TestWhatIsNoMatterOfSharingIsNotWithheld(t *testing.T) {
	l := shared(50, 50)
	l.use(1, "a", 100)
	l.use(2, "a", 100)
	l.add(3, "quota.saturation", fmt.Sprintf(`{"connectionId":"c","provider":"kimi","readings":[{"window":"hourly","usedPercent":100,"resetAt":%d}]}`, began+hour))
	blockedRow(l, 4, 60, "").Question.APIKeyID = "b"
	r := whatIfOf(t, l, strings.TrimSuffix(tight(100, "enforce"), "}")+`,"from":{"seq":3}}`)
	for i, got := range r.Pools[0].Sides {
		if reasons := r.Rows[1].Sides[i].Reasons; got.Unused == 0 || got.Withheld != 0 || got.Wanted != 0 || reasons["global-saturated"] != 1 {
			t.Errorf("side %d: %+v, b is blocked by %v", i, got, reasons)
		}
	}
	if r.Rows[0].Sides[whatif.After].Reasons["cap-absolute"] != 1 {
		t.Errorf("a: %+v", r.Rows[0])
	}
}

// TestAProvidersCycleIsTriedByTheOtherRule: a used all of the 60 points that the provider
// tells of, four of five hours in. Under the threshold it is above its share, 50; under
// the rule guarantee the pace of b, 50·1/5, is kept, and the rest is there. The points stay,
// on both sides: a note says so.
func TestAProvidersCycleIsTriedByTheOtherRule(t *testing.T) {
	l := &memory{}
	l.add(0, "quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"percent","window":"5h","limit":100}]}`)
	l.add(0, "quota.config.pool.p", pool(50, 50))
	reading := func(ms int64, used int) {
		l.add(ms, "quota.saturation", fmt.Sprintf(`{"connectionId":"c","provider":"kimi","readings":[{"window":"5h","usedPercent":%d,"resetAt":%d}]}`, used, began+5*hour))
	}
	reading(1, 0)
	l.use(2, "a", 100)
	reading(4*hour-1, 60)
	blockedRow(l, 4*hour, 10, "").Question.Estimate[quota.Percent] = 29 * 1_000_000
	blockedRow(l, 4*hour+1, 10, "").Question.Estimate[quota.Percent] = 31 * 1_000_000
	l.add(4*hour+2, "quota.hold", `{"id":"h","apiKeyId":"a","requestId":"r","connectionId":"c","estimate":{"percent":20},"leaseMs":60000,"decisionId":"h"}`)
	r := whatIfOf(t, l, byGuarantee)
	before, after := r.Rows[0].Sides[whatif.Before], r.Rows[0].Sides[whatif.After]
	if before.Allowed != 1 || before.Blocked != 3 || after.Allowed != 3 || after.Blocked != 1 || after.Served[quota.Percent] != 49*1_000_000 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if r.Asked.Unlike != 0 || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "pool p: how many percent are used the provider told, and that is the same on both sides") {
		t.Errorf("asked %+v, notes %q", r.Asked, r.Notes)
	}
}
