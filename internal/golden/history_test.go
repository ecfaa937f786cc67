package golden

import (
	"fmt"
	"math"
	"slices"

	"github.com/quotashare/quotashare/events"
)

const start int64 = 1_790_000_000_000

// log is a history that is being written.
type log struct {
	list []events.Message
	now  int64
}

func (l *log) add(subject string, body []byte) {
	m := events.Message{Subject: subject, Seq: uint64(len(l.list) + 1), Time: l.now, Data: body}
	l.list = append(l.list, m)
}

func (l *log) say(subject, format string, args ...any) {
	l.add(subject, fmt.Appendf(nil, format, args...))
}

// put stores a document, "" deletes it.
func (l *log) put(name, document string) {
	l.say("quota.config."+name, "%s", document)
	how := "put"
	if document == "" {
		how = "delete"
	}
	l.list[len(l.list)-1].Header = map[string][]string{"Quota-Config": {how}, "Quota-Actor": {"somebody"}}
}

// rounds is how often everything that can happen happens; with the steps of time
// they are two months.
const rounds = 400

// history has every kind of event, in every form and with everything that can be
// wrong with it, from numbers alone.
func history() []events.Message {
	l := &log{now: start}
	l.rules("60.5")
	for n := range rounds {
		l.now += 61_803
		if n%8 == 7 {
			l.now += 95_000_000
		}
		l.use(n)
		l.hear(n)
		l.hold(n)
		l.wrong(n)
		if n == rounds/2 {
			l.rules("33.333333")
			l.put("pool.r", "")
		}
	}
	return l.list
}

func (l *log) rules(weight string) {
	l.put("settings", `{"values":{"saturationThreshold":{"value":0.35,"source":"stored"},"signalTtlMs":{"value":86400000,"source":"stored"}}}`)
	l.put("plan.c0", `{"connectionId":"c0","dimensions":[{"unit":"tokens","window":"5h","limit":90000.125},{"unit":"usd","window":"daily","limit":"1.234567891"},{"unit":"percent","window":"weekly","limit":100}]}`)
	l.put("plan.c1", `{"connectionId":"c1","dimensions":[{"unit":"requests","window":"hourly","limit":7},{"unit":"tokens","window":"monthly","limit":777777}]}`)
	l.put("pool.p", `{"id":"p","name":"P","provider":"codex","reserve":12,"connections":[{"connectionId":"c0","weight":2,"maxConcurrent":2},{"connectionId":"c1","weight":1}],`+
		`"allocations":[{"apiKeyId":"k0","weight":`+weight+`,"policy":"hard"},{"apiKeyId":"k1","weight":"20.000001","policy":"soft"},{"apiKeyId":"*","weight":7,"policy":"burst"}]}`)
	l.put("pool.q", `{"id":"q","name":"Q","provider":"kimi","connections":[{"connectionId":"c2","maxConcurrent":1},{"connectionId":"c3","weight":3,"maxConcurrent":1}],"allocations":[{"apiKeyId":"k0","weight":1},{"apiKeyId":"k2","weight":3}]}`)
	l.put("pool.r", `{"id":"r","name":"R","provider":"claude","mode":"observe","connectionIds":["c4"],"allocations":[]}`)
}

// use adds consumption and adjustments: alone, in arrays, late, early, twice, in JSON
// and as floats of msgpack.
func (l *log) use(n int) {
	key, conn := n%5, n*3%6
	l.say("quota.consumption", `{"id":"u%d","apiKeyId":"k%d","connectionId":"c%d","provider":"codex","model":"m%d","requestId":"q%d","cost":{"tokens":%d,"usd":"0.%09d"}}`,
		n, key, conn, n%3, n-1, n*7919%30_000, n*104_729%1_000_000_000)
	if n%4 == 0 { // again, and every second time with another cost
		l.say("quota.consumption.again", `{"id":"u%d","apiKeyId":"k%d","connectionId":"c%d","provider":"codex","model":"m%d","requestId":"q%d","cost":{"tokens":%d,"usd":"0.%09d"}}`,
			n, key, conn, n%3, n-1, n*7919%30_000+n%8/4, n*104_729%1_000_000_000)
	}
	l.say("quota.consumption", `[{"apiKeyId":"k%d","connectionId":"c%d","cost":{"tokens":1e3,"percent":0.%06d}},{"id":"a%d","apiKeyId":"k%d","connectionId":"c%d","time":%d,"cost":{"usd":%d.5e-3}}]`,
		key, (conn+1)%6, n*1_299_709%1_000_000, n, (key+1)%5, conn, l.now-int64(n%9)*3_500_000+int64(n%4)*70_000, n)
	l.add("quota.consumption.packed", packed(fmt.Sprintf("k%d", key), fmt.Sprintf("c%d", n%3), float32(n)/3, math.Sqrt(float64(n))/1e4))
	if n%6 == 0 {
		l.say("quota.adjustment", `{"apiKeyId":"k%d","connectionId":"c%d","requestId":"q%d","cost":{"tokens":-%d,"usd":-0.000000001},"reason":"refund"}`, key, conn, n-1, n*31%900)
	}
}

// packed is a consumption whose amounts are floats, of both sizes.
func packed(key, conn string, tokens float32, usd float64) []byte {
	str := func(b []byte, s string) []byte { return append(append(b, 0xa0|byte(len(s))), s...) }
	b := []byte{0x83}
	b = str(str(b, "apiKeyId"), key)
	b = str(str(b, "connectionId"), conn)
	b = append(str(b, "cost"), 0x82)
	b = append(str(b, "tokens"), 0xca)
	for shift := 24; shift >= 0; shift -= 8 {
		b = append(b, byte(math.Float32bits(tokens)>>shift))
	}
	b = append(str(b, "usd"), 0xcb)
	for shift := 56; shift >= 0; shift -= 8 {
		b = append(b, byte(math.Float64bits(usd)>>shift))
	}
	return b
}

// hear adds what providers say: readings, with resets that jitter, and headers.
func (l *log) hear(n int) {
	reset := start + (l.now-start)/18_000_000*18_000_000 + 18_000_000 + int64(n%3)*700
	l.say("quota.saturation", `{"connectionId":"c0","provider":"codex","readings":[{"window":"5h","usedPercent":%d.%d,"resetAt":%d},{"window":"weekly","scope":"M1","usedPercent":%d}]}`,
		n*13%101, n%10, reset, n%100)
	l.say("quota.saturation", `{"connectionId":"c4","provider":"claude","status":200,"headers":{"anthropic-ratelimit-unified-5h-utilization":"0.%d","anthropic-ratelimit-unified-5h-reset":"%d","anthropic-ratelimit-unified-status":"allowed"}}`,
		n*17%1000, reset/1000)
}

// hold adds requests in flight, on a connection and with a choice; some of these wait,
// some are released, some settled by use, partly, and some forgotten.
func (l *log) hold(n int) {
	l.say("quota.hold", `{"id":"h%d","apiKeyId":"k%d","requestId":"q%d","connectionId":"c%d","model":"m%d","estimate":{"tokens":%d,"usd":0.1},"leaseMs":%d,"decisionId":"d%d"}`,
		n, (n+1)%5, n, (n+1)*3%6, n%3, n*41%5_000, 1_000+n%5*800_000, n)
	l.say("quota.hold", `[{"id":"w%d","apiKeyId":"k%d","requestId":"w%d","pool":"q","estimate":{"tokens":9},"leaseMs":3600000,"maxWaitMs":%d,"decisionId":"w%[1]d"},{"id":"x%[1]d","apiKeyId":"k2","requestId":"x%[1]d","candidates":[{"connectionId":"c2","score":0.%d},{"connectionId":"c3"},{"connectionId":"c0","score":0.1}],"estimate":{},"leaseMs":900000,"maxWaitMs":3600000,"decisionId":"x%[1]d"}]`,
		n, n%3, n, n%4*1_200_000, 1+n%9)
	if n%3 == 0 {
		l.say("quota.release", `{"apiKeyId":"k%d","requestId":"w%d"}`, n%3, n)
	}
	if n%5 == 0 {
		l.say("quota.consumption", `{"apiKeyId":"k%d","connectionId":"c2","requestId":"w%d","partial":true,"cost":{"tokens":4}}`, n%3, n)
	}
}

var faults = []string{``, `{`, `null`, `[]`, `{"apiKeyId":"k0"}`, `{"apiKeyId":"k0","connectionId":"c0","cost":{"tokns":1}}`, `{"apiKeyId":"k0","connectionId":"c0","cost":{"tokens":1e300}}`}

func (l *log) wrong(n int) {
	if n%11 == 0 {
		l.say("quota.consumption", "%s", faults[n/11%len(faults)])
		l.say("quota.due", `{}`)
	}
}

// kinds are the subjects of a history, sorted.
func kinds(list []events.Message) (all []string) {
	for i := range list {
		if k, found := slices.BinarySearch(all, list[i].Subject); !found {
			all = slices.Insert(all, k, list[i].Subject)
		}
	}
	return all
}
