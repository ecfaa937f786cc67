package projector_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// routed draws a log in which many requests want a connection and few have room.
func routed(most int) *rapid.Generator[[]events.Message] {
	return rapid.Custom(func(t *rapid.T) (log []events.Message) {
		clock := start
		add := func(fill func(t *rapid.T, m *events.Message)) {
			m := events.Message{Seq: uint64(len(log) + 1), Time: clock}
			fill(t, &m)
			log = append(log, m)
		}
		add(func(t *rapid.T, m *events.Message) { putRoutedPool(t, m, "p") })
		add(func(t *rapid.T, m *events.Message) { putRoutedPool(t, m, "q") })
		for range rapid.IntRange(most/2, most).Draw(t, "messages") {
			clock += rapid.SampledFrom([]int64{0, 0, 1, 400, 1_000, 1_000, 20_000, 3_600_000}).Draw(t, "gap")
			add(fillRouted)
		}
		return log
	})
}

func fillRouted(t *rapid.T, m *events.Message) {
	switch rapid.IntRange(0, 29).Draw(t, "what") {
	case 0, 1:
		fillRoutedPool(t, m)
	case 2:
		m.Subject, m.Header = "quota.config.plan.c1", map[string][]string{"Quota-Config": {"put"}}
		m.Data = fmt.Appendf(nil, `{"connectionId":"c1","dimensions":[{"unit":"tokens","window":"hourly","limit":%d},{"unit":"percent","window":"5h","limit":100}]}`,
			rapid.SampledFrom([]int{0, 20, 6_000}).Draw(t, "limit"))
	case 3:
		m.Subject, m.Header = "quota.config.settings", map[string][]string{"Quota-Config": {"put"}}
		m.Data = fmt.Appendf(nil, `{"values":{"saturationThreshold":{"value":%s,"source":"stored"}}}`, rapid.SampledFrom([]string{"0", "1"}).Draw(t, "threshold"))
	case 4, 5:
		fillSaturation(t, m)
	case 6, 7, 8:
		fillUsage(t, m)
	case 9, 10, 11:
		m.Subject = "quota.due"
		m.Data = []byte("{}")
	case 12, 13, 14, 15:
		fillRoutedEnd(t, m)
	case 16:
		fillHolds(t, m)
	default:
		m.Subject = "quota.hold"
		list := make([]events.Event, rapid.SampledFrom([]int{1, 1, 2, 5}).Draw(t, "array"))
		for i := range list {
			list[i] = routedHold(t, m.Seq, i)
		}
		m.Data = events.AppendArray(nil, 0, list)
	}
}

func fillRoutedPool(t *rapid.T, m *events.Message) {
	id := rapid.SampledFrom([]string{"p", "p", "q"}).Draw(t, "pool")
	m.Subject = "quota.config.pool." + id
	if rapid.IntRange(0, 5).Draw(t, "delete") == 0 {
		m.Header = map[string][]string{"Quota-Config": {"delete"}}
		return
	}
	putRoutedPool(t, m, id)
}

func putRoutedPool(t *rapid.T, m *events.Message, id string) {
	m.Subject, m.Header = "quota.config.pool."+id, map[string][]string{"Quota-Config": {"put"}}
	of := []string{"c1", "c2", "c3"}
	if id == "q" {
		of = []string{"c3", "c4"}
	}
	var list []string
	for _, c := range rapid.SliceOfNDistinct(rapid.SampledFrom(of), 1, 3, rapid.ID).Draw(t, "connections") {
		most := rapid.SampledFrom([]string{"", `,"maxConcurrent":1`, `,"maxConcurrent":1`, `,"maxConcurrent":1`, `,"maxConcurrent":2`}).Draw(t, "most")
		list = append(list, fmt.Sprintf(`{"connectionId":%q,"weight":%d%s}`, c, rapid.SampledFrom([]int{1, 2, 1000}).Draw(t, "weight"), most))
	}
	m.Data = fmt.Appendf(nil, `{"id":%q,"name":"n","provider":"kimi","mode":%q,"connections":[%s],"allocations":[`+
		`{"apiKeyId":"alice","weight":%d,"policy":"hard"},{"apiKeyId":"bob","weight":1,"policy":"hard","suspended":%t},{"apiKeyId":"*","weight":20,"policy":"hard"}]}`,
		id, rapid.SampledFrom([]string{"enforce", "enforce", "enforce", "enforce", "enforce", "enforce", "observe", "off"}).Draw(t, "mode"), strings.Join(list, ","),
		rapid.IntRange(0, 99).Draw(t, "weight"), rapid.IntRange(0, 3).Draw(t, "suspended") == 0)
}

var manyRequests = rapid.SampledFrom([]string{"r1", "r2", "r3", "r4", "r5", "r6"})

func routedHold(t *rapid.T, seq uint64, i int) events.Event {
	e := events.Event{
		Kind: events.Hold, ID: fmt.Sprint("h", seq, ".", i), APIKeyID: rapid.SampledFrom([]string{"alice", "bob", "a:b", "new"}).Draw(t, "key"),
		RequestID: manyRequests.Draw(t, "request"), Model: models.Draw(t, "model"), LeaseMs: rapid.SampledFrom([]int64{1, 1_000, 1_400, 60_000, 3_600_000}).Draw(t, "lease"),
		MaxWaitMs: rapid.SampledFrom([]int64{0, 1, 1_000, 30_000, 3_600_000, 3_600_000}).Draw(t, "wait"), Given: 1<<quota.Requests | 1<<quota.Tokens,
	}
	e.DecisionID = e.ID
	e.Cost[quota.Requests] = 1_000
	e.Cost[quota.Tokens] = rapid.SampledFrom([]quota.Amount{0, 1_000, 10_000, 5_000_000}).Draw(t, "tokens")
	switch rapid.IntRange(0, 6).Draw(t, "leaves open") {
	case 0:
		e.ConnectionID = rapid.SampledFrom([]string{"c1", "c2", "c3", "c4"}).Draw(t, "connection")
		return e
	case 1, 2, 3, 4:
		e.Pool = rapid.SampledFrom([]string{"p", "p", "p", "q"}).Draw(t, "pool")
		return e
	}
	for _, c := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"c1", "c2", "c3", "c4"}), 1, 4, rapid.ID).Draw(t, "of") {
		x := events.Candidate{ConnectionID: c, HasScore: rapid.Bool().Draw(t, "scored")}
		if x.HasScore {
			x.Score = 500_000
		}
		e.Candidates = append(e.Candidates, x)
	}
	return e
}

// fillRoutedEnd ends a request, whatever it is doing.
func fillRoutedEnd(t *rapid.T, m *events.Message) {
	key, request := rapid.SampledFrom([]string{"alice", "bob", "a:b", "new"}).Draw(t, "key"), manyRequests.Draw(t, "request")
	if rapid.Bool().Draw(t, "released") {
		m.Subject = "quota.release"
		m.Data = fmt.Appendf(nil, `{"apiKeyId":%q,"requestId":%q}`, key, request)
		return
	}
	m.Subject = "quota.consumption"
	m.Data = fmt.Appendf(nil, `{"apiKeyId":%q,"connectionId":"c1","requestId":%q,"partial":%s,"cost":{"tokens":3}}`,
		key, request, strconv.FormatBool(rapid.Bool().Draw(t, "partial")))
}

// crossed makes logs in which most requests are of one key, which is near its cap in
// three pools of one connection, and name connections of several of them: so that an
// earlier one that may not go yet keeps later ones back, in lanes of other pools. They
// begin with two such, of which the first one may not have its first place when it comes
// free, and may have the second.
func crossed(most int) *rapid.Generator[[]events.Message] {
	return rapid.Custom(func(t *rapid.T) (log []events.Message) {
		clock := start
		add := func(subject, body string) {
			m := events.Message{Subject: subject, Data: []byte(body), Seq: uint64(len(log) + 1), Time: clock}
			if strings.HasPrefix(subject, events.ConfigPrefix) {
				m.Header = map[string][]string{"Quota-Config": {"put"}}
			}
			log = append(log, m)
		}
		for _, p := range []string{"p", "q", "r"} {
			add("quota.config.pool."+p, fmt.Sprintf(`{"id":%q,"name":"n","provider":"custom","connections":[{"connectionId":"%[1]s1","maxConcurrent":%d}],
				"allocations":[{"apiKeyId":"k","weight":50,"policy":"hard","caps":[{"unit":"tokens","window":"hourly","value":100}]}]}`, p, rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "most")))
		}
		for i := range 3 {
			add("quota.hold", crossedHold("h", fmt.Sprint("r", i+1), len(log), crossedConns[i:i+1], 3_600_000, 1))
		}
		large := rapid.Permutation(crossedConns).Draw(t, "large")
		small := rapid.Permutation([]string{large[0], large[2]}).Draw(t, "small")
		add("quota.hold", crossedHold("k", "r1", len(log), large[:2], 3_600_000, 60))
		add("quota.hold", crossedHold("k", "r2", len(log), small, 3_600_000, 1))
		add("quota.adjustment", fmt.Sprintf(`{"apiKeyId":"k","connectionId":%q,"reason":"a bill","cost":{"tokens":50}}`, large[0]))
		for _, c := range large[:2] {
			add("quota.release", fmt.Sprintf(`[{"apiKeyId":"h","requestId":"r%d"},{"apiKeyId":"h","requestId":%q}]`,
				slices.Index(crossedConns, c)+1, rapid.SampledFrom([]string{"r9", "r9", "r1", "r2", "r3"}).Draw(t, "another")))
		}
		for range rapid.IntRange(most/2, most).Draw(t, "messages") {
			clock += rapid.SampledFrom([]int64{0, 0, 0, 1_000, 60_000}).Draw(t, "gap")
			add(crossedEvent(t, len(log)))
		}
		return log
	})
}

var crossedConns = []string{"p1", "q1", "r1"}

func crossedHold(key, request string, n int, of []string, lease, tokens int) string {
	return fmt.Sprintf(`{"id":"h%d","apiKeyId":%q,"requestId":%q,"candidates":[{"connectionId":"%s"}],"leaseMs":%d,"maxWaitMs":3600000,"estimate":{"tokens":%d},"decisionId":"h%[1]d"}`,
		n, key, request, strings.Join(of, `"},{"connectionId":"`), lease, tokens)
}

func crossedEvent(t *rapid.T, n int) (subject, body string) {
	key, request := rapid.SampledFrom([]string{"k", "k", "k", "h"}).Draw(t, "key"), manyRequests.Draw(t, "request")
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0, 1, 2:
		return "quota.release", fmt.Sprintf(`{"apiKeyId":%q,"requestId":%q}`, key, request)
	case 3:
		return "quota.release", fmt.Sprintf(`[{"apiKeyId":%q,"requestId":%q},{"apiKeyId":%[1]q,"requestId":%[3]q}]`, key, request, manyRequests.Draw(t, "another"))
	case 4:
		return "quota.adjustment", fmt.Sprintf(`{"apiKeyId":"k","connectionId":%q,"reason":"a bill","cost":{"tokens":%d}}`,
			rapid.SampledFrom(crossedConns).Draw(t, "conn"), rapid.SampledFrom([]int{50, 50, -50}).Draw(t, "used"))
	case 5:
		return "quota.due", "{}"
	}
	of := rapid.SliceOfNDistinct(rapid.SampledFrom(crossedConns), 1, 3, rapid.ID).Draw(t, "of")
	return "quota.hold", crossedHold(key, request, n, of, rapid.SampledFrom([]int{60_000, 3_600_000}).Draw(t, "lease"), rapid.SampledFrom([]int{1, 60}).Draw(t, "tokens"))
}
