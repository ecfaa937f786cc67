package replay

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// of explains what a key is judged by for a model, at an instant.
func (l *memory) of(t *testing.T, key, model string, at int64) *explanation.Explanation {
	t.Helper()
	x, err := Explain(t.Context(), Options{Log: l, Store: inMemory}, &Ask{
		Question: questions.Question{APIKeyID: key, ConnectionID: "c", Model: model, MaxWaitMs: -1}, At: at, Top: 5,
	})
	must(t, err)
	return x
}

// sharing is a log of a pool in which all keys but a share an allocation.
func sharing() *memory {
	l := &memory{}
	l.add(0, "quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":1000}]}`)
	l.add(0, "quota.config.pool.p", `{"id":"p","name":"P","provider":"kimi","connections":[{"connectionId":"c"}],`+
		`"allocations":[{"apiKeyId":"a","weight":50},{"apiKeyId":"*","weight":50,"caps":[{"unit":"usd","window":"daily","value":5}]}],`+
		`"modelCaps":[{"apiKeyId":"x","model":"m","capValue":900,"capUnit":"tokens"}]}`)
	for i, key := range []string{"a", "x", "y", "*"} {
		l.add(1000, "quota.consumption", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":"c","model":"m","cost":{"tokens":%d,"usd":0.%d}}`, key, 1<<i, 1+i))
	}
	return l
}

// A key may have the name of all others; it is one of them then.
func TestWhoSharesAnAllocationIsJudgedByWhatAllConsumed(t *testing.T) {
	for key, want := range map[string]struct{ events, tokens, usd int64 }{
		"a": {1, 1000, -1}, // its allocation has no cap
		"x": {3, 14_000, 900_000_000}, "z": {3, 14_000, 900_000_000}, "*": {3, 14_000, 900_000_000},
	} {
		x := sharing().of(t, key, "m", began+2000)
		line := lineOf(t, x, quota.Tokens, quota.Hourly, "")
		if line.Found != line.Consumed || line.Found != quota.Amount(want.tokens) || int64(line.Events) != want.events {
			t.Errorf("%s: found %d of %d, want %d", key, line.Found, line.Consumed, want.tokens)
		}
		lines := 1
		if want.usd >= 0 {
			lines++
			if capped := lineOf(t, x, quota.USD, quota.Daily, ""); capped.HasConsumed || int64(capped.Found) != want.usd {
				t.Errorf("%s: of its cap found %d, want %d", key, capped.Found, want.usd)
			}
		}
		if key == "x" {
			lines++
			if own := lineOf(t, x, quota.Tokens, quota.Hourly, "m"); own.Found != 2000 {
				t.Errorf("of the cap of its model found %d, and it alone consumed 2000", own.Found)
			}
		}
		if len(x.Lines) != lines {
			t.Errorf("%s: %d lines, want %d", key, len(x.Lines), lines)
		}
	}
}

// An id that another key or connection took counts there, also when that was so long ago
// that nobody remembers it.
func TestWhoeverTookAnIDFirstCounts(t *testing.T) {
	for _, other := range []string{`"apiKeyId":"b","connectionId":"c"`, `"apiKeyId":"a","connectionId":"d"`} {
		l := &memory{}
		l.add(0, "quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"tokens","window":"monthly","limit":1000}]}`)
		l.add(0, "quota.config.pool.p", pool(50, 50))
		l.add(day, "quota.consumption", `{"id":"u",`+other+`,"cost":{"tokens":9}}`)
		l.add(2*day, "quota.consumption", `{"id":"u","apiKeyId":"a","connectionId":"c","cost":{"tokens":700}}`)
		l.use(20*day, "a", 1)
		for _, at := range []int64{3 * day, 20*day + 1} {
			x := l.of(t, "a", "", began+at)
			line := lineOf(t, x, quota.Tokens, quota.Monthly, "")
			if line.Found != line.Consumed {
				t.Errorf("after %s: found %d of %d on day %d", other, line.Found, line.Consumed, at/day)
			}
		}
	}
}
