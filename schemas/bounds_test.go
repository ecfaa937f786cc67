package schemas_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/schemas/schematest"
)

// lists are those that have a bound: a document with % for the items, an item with #
// for its number, or <u> and <w> for a unit and a window, and how many there may be.
var lists = []struct {
	message, doc, item string
	least, most        int
}{
	{"consumption", `[%]`, `{"apiKeyId":"k","connectionId":"c"}`, 1, 1000},
	{"adjustment", `[%]`, `{"apiKeyId":"k","connectionId":"c","reason":"r"}`, 1, 1000},
	{"saturation", `[%]`, `{"connectionId":"c","readings":[]}`, 1, 1000},
	{"release", `[%]`, `{"apiKeyId":"k","requestId":"r"}`, 1, 1000},
	{"due", `[%]`, `{}`, 1, 1000},
	{"hold", `[%]`, `{"id":"#","apiKeyId":"k","requestId":"r","connectionId":"c","estimate":{},"leaseMs":1,"decisionId":"d"}`, 1, 1000},
	{"cloudEvents", `[%]`, `{"specversion":"1.0","type":"quota.release","source":"/g","id":"#","data":{"apiKeyId":"k","requestId":"r"}}`, 1, 1000},
	{"questions", `[%]`, `{"apiKeyId":"k","connectionId":"c"}`, 0, 1000},
	{"routeQuestions", `[%]`, `{"apiKeyId":"k","pool":"p"}`, 0, 1000},
	{"saturation", `{"connectionId":"c","readings":[%]}`, `{"window":"5h","scope":"#","usedPercent":1}`, 0, 100},
	{"saturation", `{"connectionId":"c","headers":{%}}`, `"h#":"v"`, 0, 200},
	{"hold", `{"id":"e","apiKeyId":"k","requestId":"r","candidates":[%],"estimate":{},"leaseMs":1,"decisionId":"d"}`, `{"connectionId":"c#"}`, 1, 1000},
	{"routeQuestion", `{"apiKeyId":"k","candidates":[%]}`, `{"connectionId":"c#"}`, 1, 1000},
	{"pool", `{"id":"a","name":"A","provider":"kimi","connections":[%]}`, `{"connectionId":"c#"}`, 1, 10_000},
	{"pool", `{"id":"a","name":"A","provider":"kimi","connectionIds":[%]}`, `"c#"`, 1, 10_000},
	{"pool", `{"id":"a","name":"A","provider":"kimi","connectionId":"c","allocations":[%]}`, `{"apiKeyId":"k#","weight":1}`, 0, 10_000},
	{"pool", `{"id":"a","name":"A","provider":"kimi","connectionId":"c","allocations":[{"apiKeyId":"k","weight":1,"caps":[%]}]}`, `{"unit":"<u>","window":"<w>","value":1}`, 0, 20},
	{"plan", `{"connectionId":"c","dimensions":[%]}`, `{"unit":"<u>","window":"<w>","limit":1}`, 0, 20},
	{"pool", `{"id":"a","name":"A","provider":"kimi","connectionId":"c","modelCaps":[%]}`, `{"apiKeyId":"k","model":"m#","capUnit":"usd","capValue":1}`, 0, 10_000},
}

// documentOf is a document with n items.
func documentOf(doc, item string, n int) []byte {
	items := make([]string, n)
	for i := range items {
		unit, window := quota.Unit(i%quota.NumUnits), quota.Window(i/quota.NumUnits%quota.NumWindows)
		items[i] = strings.NewReplacer("#", fmt.Sprint(i), "<u>", unit.String(), "<w>", window.String()).Replace(item)
	}
	return []byte(strings.Replace(doc, "%", strings.Join(items, ","), 1))
}

// TestListsHaveTheSameBounds: the fewest and the most that a schema allows are those that
// its decoder takes.
func TestListsHaveTheSameBounds(t *testing.T) {
	for _, l := range lists {
		for _, n := range []int{l.least - 1, l.least, l.most, l.most + 1} {
			if n < 0 {
				continue
			}
			doc, fits := documentOf(l.doc, l.item, n), n >= l.least && n <= l.most
			if said := schematest.Payload(l.message, doc); (said == nil) != fits {
				t.Errorf("%s with %d items of %s: the schema says %v", l.doc, n, l.item, said)
			}
			if read := readerOf(t, l.message)(doc); (read == nil) != fits {
				t.Errorf("%s with %d items of %s: the decoder says %v", l.doc, n, l.item, read)
			}
		}
	}
}

func readerOf(t *testing.T, message string) func([]byte) error {
	t.Helper()
	switch message {
	case "questions", "routeQuestions":
		message = strings.TrimSuffix(message, "s")
	case "cloudEvents":
		return event("quota.release")
	}
	for _, c := range codecs {
		if c.message == message {
			return c.read
		}
	}
	t.Fatalf("nobody reads %s", message)
	return nil
}
