package projector_test

import (
	"fmt"
	"strconv"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// start is where random histories begin: an hour's, a day's and a 5h bucket's
// edges are near, so that histories cross them.
const start int64 = 1_790_035_200_000 - 90_000

// histories draws logs with everything in them that may happen to a log:
// events with and without ids, sent again, sent again with other content,
// early, late, from the future, in arrays, corrections, holds with what ends them,
// configuration that is put, changed, wrong and deleted, and garbage.
func histories(most int) *rapid.Generator[[]events.Message] {
	return rapid.Custom(func(t *rapid.T) []events.Message {
		n := rapid.IntRange(1, most).Draw(t, "messages")
		log := make([]events.Message, 0, n)
		clock := start
		for seq := range n {
			clock += gaps.Draw(t, "gap")
			m := events.Message{Seq: uint64(seq + 1), Time: clock}
			fill(t, &m)
			log = append(log, m)
		}
		return log
	})
}

var gaps = rapid.OneOf(
	rapid.Int64Range(0, 2_000),
	rapid.SampledFrom([]int64{60_000, 300_000, 3_599_999, 3_600_000, 18_000_000, 86_400_000, 604_800_000, 2_592_000_000, projectorHorizon}),
)

const projectorHorizon = 7 * 86_400_000

func fill(t *rapid.T, m *events.Message) {
	switch rapid.IntRange(0, 20).Draw(t, "what") {
	case 0:
		fillPool(t, m)
	case 1:
		m.Subject = "quota.config.plan." + conns.Draw(t, "conn")
		m.Header = map[string][]string{"Quota-Config": {"put"}}
		m.Data = []byte(fmt.Sprintf(`{"connectionId":%q,"dimensions":[{"unit":"tokens","window":%q,"limit":%d}]}`,
			m.Subject[len("quota.config.plan."):], rapid.SampledFrom([]string{"hourly", "5h", "never"}).Draw(t, "window"), rapid.IntRange(0, 5000).Draw(t, "limit")))
	case 2:
		m.Subject = "quota.config.settings"
		m.Header = map[string][]string{"Quota-Config": {"put"}}
		m.Data = []byte(fmt.Sprintf(`{"values":{"saturationThreshold":{"value":%s,"source":"stored"},"signalTtlMs":{"value":%d,"source":"stored"}}}`,
			rapid.SampledFrom([]string{"0", "0.5", "1", "2"}).Draw(t, "threshold"), rapid.SampledFrom([]int{1, 30_000, 86_400_000}).Draw(t, "ttl")))
	case 3:
		m.Subject = rapid.SampledFrom([]string{"quota.consumption", "quota.config.pool.p", "quota.config.nothing", "quota.saturation"}).Draw(t, "subject")
		m.Data = []byte(rapid.SampledFrom([]string{"", "null", "42", "{", "[]", `[{"apiKeyId":""}]`, `{"cost":{"tokns":1}}`}).Draw(t, "garbage"))
	case 4, 5, 6:
		fillSaturation(t, m)
	case 7, 8, 9, 10:
		fillHolds(t, m)
	case 11:
		fillRelease(t, m)
	default:
		fillUsage(t, m)
	}
}

var (
	conns     = rapid.SampledFrom([]string{"c1", "c2", "c3"})
	keys      = rapid.SampledFrom([]string{"alice", "bob", "a:b", "a/b", "*"})
	models    = rapid.SampledFrom([]string{"", "", "gpt", "opus"})
	providers = rapid.SampledFrom([]string{"", "kimi", "custom"})
)

func fillPool(t *rapid.T, m *events.Message) {
	id := rapid.SampledFrom([]string{"p", "q"}).Draw(t, "pool")
	m.Subject = "quota.config.pool." + id
	if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
		m.Header = map[string][]string{"Quota-Config": {"delete"}}
		return
	}
	m.Header = map[string][]string{"Quota-Config": {"put"}}
	m.Data = []byte(fmt.Sprintf(`{"id":%q,"name":"n","provider":"kimi","connectionIds":[%q],"allocations":[{"apiKeyId":"alice","weight":%d,"policy":"hard"},{"apiKeyId":"*","weight":20,"policy":"soft"}]}`,
		id, conns.Draw(t, "conn"), rapid.IntRange(0, 120).Draw(t, "weight")))
}

// fillUsage makes one consumption or adjustment, or an array of them.
func fillUsage(t *rapid.T, m *events.Message) {
	m.Subject = rapid.SampledFrom([]string{"quota.consumption", "quota.consumption", "quota.consumption.gw.1", "quota.adjustment"}).Draw(t, "subject")
	kind := events.Consumption
	if m.Subject == "quota.adjustment" {
		kind = events.Adjustment
	}
	list := make([]events.Event, rapid.SampledFrom([]int{1, 1, 1, 3}).Draw(t, "array"))
	for i := range list {
		list[i] = usage(t, kind, m.Time)
	}
	if len(list) == 1 {
		m.Data = events.AppendJSON(nil, &list[0])
		return
	}
	m.Data = events.AppendArray(nil, 0, list)
}

func usage(t *rapid.T, kind events.Kind, now int64) events.Event {
	request := ""
	if rapid.Bool().Draw(t, "of a request") {
		request = requests.Draw(t, "request")
	}
	e := events.Event{
		Kind: kind, APIKeyID: keys.Draw(t, "key"), ConnectionID: conns.Draw(t, "conn"),
		Provider: providers.Draw(t, "provider"), Model: models.Draw(t, "model"),
		Given: 1<<quota.Requests | 1<<quota.Tokens, RequestID: request,
		Partial: kind == events.Consumption && rapid.IntRange(0, 2).Draw(t, "partial") == 0,
	}
	e.Cost[quota.Requests] = 1000
	e.Cost[quota.Tokens] = quota.Amount(rapid.Int64Range(0, 5_000_000).Draw(t, "tokens"))
	if kind == events.Adjustment {
		e.Reason = "refund"
		e.Cost[quota.Tokens] = -e.Cost[quota.Tokens]
	}
	if rapid.IntRange(0, 3).Draw(t, "huge") == 0 {
		e.Given |= 1 << quota.Percent
		e.Cost[quota.Percent] = quota.Percent.Max() // five of them overflow a bucket
	}
	// Few ids, so that many come again, often with other content.
	if id := rapid.IntRange(0, 12).Draw(t, "id"); id > 3 {
		e.ID = strconv.Itoa(id)
	}
	if rapid.Bool().Draw(t, "timed") {
		e.Time = now - rapid.SampledFrom([]int64{0, 1, 1000, -1000, -120_000, -120_001, 3_600_000, 7_200_000, 86_400_000, 90 * 86_400_000}).Draw(t, "ago")
	}
	return e
}

// fillSaturation makes what a provider says, as readings or as the headers of a
// response: of two accounts in turn, late, again, with resets that jitter, that
// have passed or that cannot be.
func fillSaturation(t *rapid.T, m *events.Message) {
	m.Subject = "quota.saturation"
	e := says(t, m.Time)
	m.Data = events.AppendJSON(nil, &e)
}

func says(t *rapid.T, now int64) events.Event {
	e := events.Event{Kind: events.Saturation, ConnectionID: conns.Draw(t, "conn"), Provider: providers.Draw(t, "provider")}
	if id := rapid.IntRange(0, 12).Draw(t, "id"); id > 3 {
		e.ID = strconv.Itoa(id)
	}
	at := now
	if rapid.Bool().Draw(t, "timed") {
		e.Time = now - rapid.SampledFrom([]int64{0, 1, 500, 5_000, 40_000, 3_600_000, -1_000, -120_000, -120_001}).Draw(t, "ago")
		at = e.Time
	}
	if rapid.IntRange(0, 3).Draw(t, "raw") == 0 {
		e.Status = rapid.SampledFrom([]int{0, 200, 429}).Draw(t, "status")
		e.Headers = headers(t, at)
	} else {
		for _, w := range rapid.SliceOfNDistinct(readingWindows, 1, 3, rapid.ID).Draw(t, "windows") {
			e.Readings = append(e.Readings, reading(t, w, at))
		}
	}
	return e
}

var readingWindows = rapid.SampledFrom([]quota.Window{quota.FiveHour, quota.FiveHour, quota.Hourly, quota.Weekly, quota.Rate})

func reading(t *rapid.T, w quota.Window, at int64) events.Reading {
	r := events.Reading{
		Window: w, Scope: rapid.SampledFrom([]string{"", "", "", "gpt", "Opus"}).Draw(t, "scope"),
		UsedPercent: quota.Amount(rapid.SampledFrom([]int{0, 1, 3, 20, 45, 70, 74, 99, 100, 104}).Draw(t, "used")) * 1_000_000,
	}
	// The ends of windows on a grid, so that several readings are of one.
	end := (at/w.Millis() + rapid.SampledFrom([]int64{0, 1, 1, 1, 2, 9}).Draw(t, "windows away")) * w.Millis()
	if rapid.IntRange(0, 3).Draw(t, "reset") > 0 {
		r.ResetAt = end + rapid.SampledFrom([]int64{0, 0, 1_900, -1_900, 60_000, 60_001}).Draw(t, "jitter")
	}
	return r
}

func headers(t *rapid.T, at int64) map[string]string {
	h := map[string]string{"date": "today"}
	for name, values := range map[string][]string{
		"x-ratelimit-limit-requests":     {"100"},
		"x-ratelimit-remaining-requests": {"100", "40", "0", "all"},
		"x-codex-primary-used-percent":   {"0", "3.5", "70", "100", "-"},
		"retry-after":                    {"10", "soon"},
	} {
		if i := rapid.IntRange(-1, len(values)-1).Draw(t, name); i >= 0 {
			h[name] = values[i]
		}
	}
	h["x-codex-primary-window-minutes"] = rapid.SampledFrom([]string{"300", "10080", "7"}).Draw(t, "minutes")
	h["x-codex-primary-reset-at"] = strconv.FormatInt(at/1000+7_200, 10)
	return h
}
