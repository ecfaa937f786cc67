package projector_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quotashare/quotashare/quota"
)

// TestUsageShowsWhatIsPromised: each key what it would be told if it asked, all of them
// together, and until when; nothing from which on shares count, for they always do. The
// same pool by the other rule shows neither.
func TestUsageShowsWhatIsPromised(t *testing.T) {
	s := newScene(t)
	s.plan("c", "requests", "hourly", "1000")
	rest := `,"allocations":[{"apiKeyId":"ann","weight":50},{"apiKeyId":"bob","weight":20},{"apiKeyId":"eve","weight":10,"suspended":true},{"apiKeyId":"*","weight":20}]`
	s.pool(`"c"`, `,"rule":"guarantee"`+rest)
	s.now += 15 * int64(time.Minute/time.Millisecond)
	s.use("ann", "c", `"requests":300`)
	s.use("zoe", "c", `"requests":40`)
	u := s.usage()
	d := &u.Dimensions[0]
	var got []string
	var sum quota.Amount
	for i, k := range u.Keys {
		use := &d.Uses[i]
		got = append(got, fmt.Sprint(k.ID, " ", use.Promised, " ", use.HasPromise))
		sum += use.Promised
	}
	// 46.5 minutes less one millisecond are left: of the shares 387.499, 154.999 and 154.999.
	want := "ann 87499 true, bob 154999 true, eve 0 true, * 114999 true, zoe 0 false"
	if all := strings.Join(got, ", "); all != want {
		t.Errorf("%s, want %s", all, want)
	}
	hour := int64(time.Hour / time.Millisecond)
	if end := (s.now/hour + 1) * hour; !d.HasPromise || d.Kept != sum || d.KeptUntil != end || d.Mode != "guarantee" {
		t.Errorf("%d is kept until %d, mode %s, want %d until %d", d.Kept, d.KeptUntil, d.Mode, sum, end)
	}
	doc := string(u.Append(nil))
	if !strings.Contains(doc, `"strictAt":null`) || !strings.Contains(doc, `"kept":357.497,"keptUntil":"`) {
		t.Error(doc)
	}
	s.use("ann", "c", `"requests":640`)
	if k := s.usage().Keys[0]; k.Allow || k.Reason != "fair-share" || k.Detail != "yield" && k.Detail != "reserved" {
		t.Errorf("whoever took what was left of the others: %+v", k)
	}
	if k := s.usage().Keys[1]; !k.Allow || k.Detail != "" {
		t.Errorf("for whom it is kept: %+v", k)
	}
	s.pool(`"c"`, rest)
	if doc := string(s.usage().Append(nil)); !strings.Contains(doc, `"strictAt":500`) || strings.Contains(doc, "detail") || strings.Contains(doc, "kept") || strings.Contains(doc, "promised") {
		t.Error(doc)
	}
}
