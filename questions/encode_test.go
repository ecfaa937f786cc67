package questions

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// blocked is a reply that has everything.
func blocked() *Reply {
	return &Reply{
		DecisionID:   "d-7",
		Reason:       "fair-share",
		ScoreFactor:  quota.RatioOne,
		HTTPStatus:   429,
		Message:      "Quota share limit reached for your API key on \"codex\" \u2028",
		RetryAfterMs: 1_234_567,
		RetryAt:      1_790_000_000_001,
		Binding:      Binding{Unit: quota.Tokens, Window: quota.FiveHour, Model: "gpt-5"},
		HasBinding:   true,
		Scope:        "key",
		Alternatives: []string{"b", "c:ü"},
		WouldBlock:   true,
		RequestID:    "r-1",
		AsOf:         AsOf{Seq: 300, Time: 1_789_999_999_999, LagMs: 12},
		Degraded:     []string{"lag"},
		Detail:       "line\nend",
		ConnectionID: "b",
		Candidates: []RouteCandidate{
			{ConnectionID: "b", Order: 1, InFlight: 2, MaxConcurrent: 3, Score: 350_000, HasScore: true},
			{ConnectionID: "c:ü", Order: 2, Gate: "saturated", HasScore: true},
			{ConnectionID: "d", Order: 3, Gate: "blocked"},
		},
		Explained: true, HasTraffic: true,
		Traffic: Traffic{InFlight: 3, MaxConcurrent: 4, Waiting: 5, OldestMs: 1200, KeyWaiting: 2, KeyOldestMs: 300},
		Dimensions: []Dimension{
			{
				Unit: quota.Tokens, Window: quota.FiveHour, Limit: 100_000, Consumed: 50_001, Held: 500,
				FairShare: 50_000, HasFairShare: true, Remaining: 0, HasRemaining: true, ConsumedTotal: 75_000, HeldTotal: 1_500,
				Mode: "strict", Borrowing: true, Deficit: 1,
			},
			{
				Unit: quota.Percent, Window: quota.Weekly, Consumed: 1_500_000, Mode: "generous", Deficit: -9,
				ProviderUsed: 99_999_999, HasProvider: true, ResetAt: 1_790_000_000_000,
				ObservedAt: 1_789_999_999_001, Attributed: 60_000_001, Unattributed: 39_999_998, HasSplit: true,
			},
		},
	}
}

// TestGolden fixes the bytes: programs in other languages rely on them.
func TestGolden(t *testing.T) {
	softened := &Reply{Allow: true, Reason: "ok", Deprioritize: true, ScoreFactor: 700_000, HTTPStatus: 200}
	softened.AsOf = AsOf{Seq: 1, Time: 1_790_000_000_000}
	failed := &Reply{Err: &Error{CodeAtTooOld, "at is before the state: ask replay"}, DecisionID: "d-8"}
	for name, r := range map[string]*Reply{"block": blocked(), "allow": typicalReply(), "soft": softened, "error": failed} {
		golden(t, name+".json", append(AppendReply(nil, wire.JSON, r), '\n'))
		golden(t, name+".msgpack.hex", []byte(hex.Dump(AppendReply(nil, wire.Msgpack, r))))
	}
	request := Request{IsArray: true, Questions: make([]Question, 1), Bad: []BadItem{{0, failed.Err}, {2, failed.Err}}}
	replies := []Reply{*softened}
	golden(t, "array.json", append(request.Append(nil, wire.JSON, replies), '\n'))
	golden(t, "array.msgpack.hex", []byte(hex.Dump(request.Append(nil, wire.Msgpack, replies))))
	golden(t, "ratelimit.json", append(AppendRateLimit(nil, blocked().Message), '\n'))
	golden(t, "internal.json", append(AppendError(nil, wire.JSON, &Error{CodeInternal, "our fault"}), '\n'))
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	request := Request{Questions: make([]Question, 1)}
	for _, enc := range []wire.Encoding{wire.JSON, wire.Msgpack} {
		alone := request.Append(nil, enc, []Reply{*blocked()})
		if got := request.Append([]byte("before"), enc, []Reply{*blocked()}); string(got) != "before"+string(alone) {
			t.Errorf("%s: got %q", enc.ContentType(), got)
		}
	}
}

func TestEmptyArray(t *testing.T) {
	request := Request{IsArray: true}
	if got := string(request.Append(nil, wire.JSON, nil)); got != "[]" {
		t.Errorf("got %q", got)
	}
	if got := string(request.Append(nil, wire.Msgpack, nil)); got != "\x90" {
		t.Errorf("got %q", got)
	}
}

func TestEncodeAllocatesNothing(t *testing.T) {
	for _, enc := range []wire.Encoding{wire.JSON, wire.Msgpack} {
		r, buf := blocked(), make([]byte, 0, 4096)
		if allocs := testing.AllocsPerRun(10, func() { AppendReply(buf, enc, r) }); allocs > 0 {
			t.Errorf("%s: %v allocations", enc.ContentType(), allocs)
		}
	}
}

func TestReset(t *testing.T) {
	r := blocked()
	r.Err = &Error{}
	r.Reset()
	if diff := cmp.Diff(Reply{}, *r, emptyIsNil); diff != "" {
		t.Errorf("-zero +reset:\n%s", diff)
	}
	if cap(r.Alternatives) == 0 || cap(r.Degraded) == 0 || cap(r.Dimensions) == 0 || cap(r.Candidates) == 0 {
		t.Error("the room of a list is lost")
	}
}

func TestRetryAfter(t *testing.T) {
	for ms, want := range map[int64]int64{-5: 0, 0: 0, 1: 1, 999: 1, 1000: 1, 1001: 2, 1<<63 - 1: 9_223_372_036_854_776} {
		if got := RetryAfter(ms); got != want {
			t.Errorf("RetryAfter(%d) = %d, want %d", ms, got, want)
		}
	}
}

// TestEncodersAgree reads both encodings with the libraries and compares them
// with a reply that is written down field by field. Numbers are compared as
// exact ratios, whatever their form.
func TestEncodersAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawReply(t)
		want := document(r)
		dec := json.NewDecoder(bytes.NewReader(AppendReply(nil, wire.JSON, r)))
		dec.UseNumber()
		var fromJSON any
		if err := dec.Decode(&fromJSON); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, normal(fromJSON, true)); diff != "" {
			t.Fatalf("JSON (-want +got):\n%s", diff)
		}
		var fromMsgpack any
		if err := msgpack.Unmarshal(AppendReply(nil, wire.Msgpack, r), &fromMsgpack); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(normal(want, false), normal(fromMsgpack, false)); diff != "" {
			t.Fatalf("msgpack (-want +got):\n%s", diff)
		}
	})
}

// TestParseReplies reads back what was written.
func TestParseReplies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawReply(t)
		for i := range r.Dimensions {
			if d := &r.Dimensions[i]; !d.HasFairShare {
				d.Deficit = 0 // not shown
			}
		}
		request := Request{IsArray: true, Questions: make([]Question, 1), Bad: []BadItem{{0, &Error{CodeInvalid, "m"}}}}
		for _, enc := range []wire.Encoding{wire.JSON, wire.Msgpack} {
			got, err := ParseReplies(request.Append(nil, enc, []Reply{*r}), enc)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]Reply{{Err: request.Bad[0].Err}, *r}, got, emptyIsNil); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", enc.ContentType(), diff)
			}
		}
	})
}

func TestParseRepliesFaults(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                      "the message is not well formed: unexpected EOF",
		`7`:                      "the document is a number, not an object",
		`{}`:                     "decision is missing",
		`{"decision":"perhaps"}`: "decision is perhaps: use allow or block",
		`{"decision":"allow","dimensions":[{"unit":"x"}]}`: "dimensions[0].unit is x: use requests, tokens, usd or percent; dimensions[0].window is missing",
	} {
		if _, err := ParseReplies([]byte(text), wire.JSON); err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

type object = map[string]any

func drawReply(t *rapid.T) *Reply {
	text := rapid.OneOf(rapid.Just(""), rapid.String())
	texts := rapid.SliceOfN(rapid.String(), 0, 3)
	amount := rapid.Map(rapid.Int64Range(-1e15, 1e15), func(n int64) quota.Amount { return quota.Amount(n) })
	instant := rapid.Int64Range(quota.MinInstant, quota.MaxInstant)
	flag := rapid.Bool()
	window := rapid.Map(rapid.IntRange(0, quota.NumWindows), func(n int) quota.Window { return quota.Window(n) })
	unit := rapid.Map(rapid.IntRange(0, quota.NumUnits-1), func(n int) quota.Unit { return quota.Unit(n) })
	r := &Reply{
		DecisionID: text.Draw(t, "id"), Allow: flag.Draw(t, "allow"), Reason: text.Draw(t, "reason"), Deprioritize: flag.Draw(t, "deprioritize"),
		ScoreFactor: quota.Ratio(rapid.Int64Range(0, int64(quota.RatioOne)).Draw(t, "factor")), HTTPStatus: rapid.IntRange(100, 599).Draw(t, "status"),
		Message: text.Draw(t, "message"), Scope: text.Draw(t, "scope"), Alternatives: texts.Draw(t, "alternatives"),
		WouldBlock: flag.Draw(t, "wouldBlock"), RequestID: text.Draw(t, "request"), Degraded: texts.Draw(t, "degraded"), Detail: text.Draw(t, "detail"),
		AsOf:       AsOf{Seq: rapid.Uint64Range(0, MaxSeq).Draw(t, "seq"), Time: instant.Draw(t, "time"), LagMs: rapid.Int64Range(0, 1e12).Draw(t, "lag")},
		HasBinding: flag.Draw(t, "binding"), Explained: flag.Draw(t, "explained"), ConnectionID: text.Draw(t, "connection"),
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "candidates") {
		c := RouteCandidate{
			ConnectionID: text.Draw(t, "candidate"), Order: i + 1, Gate: text.Draw(t, "gate"),
			InFlight: rapid.Int64Range(0, MaxSeq).Draw(t, "inFlight"), MaxConcurrent: rapid.Int64Range(0, 1000).Draw(t, "most"),
		}
		if c.HasScore = flag.Draw(t, "scored"); c.HasScore {
			c.Score = quota.Ratio(rapid.Int64Range(0, int64(MaxScore)).Draw(t, "score"))
		}
		r.Candidates = append(r.Candidates, c)
	}
	if r.HasTraffic = flag.Draw(t, "traffic"); r.HasTraffic {
		r.Traffic = drawTraffic(t)
	}
	if flag.Draw(t, "retry") {
		r.RetryAfterMs, r.RetryAt = rapid.Int64Range(0, 1e12).Draw(t, "after"), instant.Draw(t, "at")
	}
	if r.HasBinding {
		r.Binding = Binding{unit.Draw(t, "unit"), window.Draw(t, "window"), text.Draw(t, "model")}
	}
	for range rapid.IntRange(0, 2).Draw(t, "dimensions") * btoi(r.Explained) {
		d := Dimension{
			Unit: unit.Draw(t, "unit"), Window: window.Draw(t, "window"), Limit: amount.Draw(t, "limit"), Consumed: amount.Draw(t, "consumed"),
			Held: amount.Draw(t, "held"), HasFairShare: flag.Draw(t, "share"), HasRemaining: flag.Draw(t, "remains"), ConsumedTotal: amount.Draw(t, "total"),
			HeldTotal: amount.Draw(t, "heldTotal"), Mode: text.Draw(t, "mode"), Borrowing: flag.Draw(t, "borrowing"), Deficit: amount.Draw(t, "deficit"),
			HasProvider: flag.Draw(t, "reading"), HasSplit: flag.Draw(t, "split"),
		}
		if d.HasFairShare {
			d.FairShare = amount.Draw(t, "fairShare")
		}
		if d.HasRemaining {
			d.Remaining = amount.Draw(t, "remaining")
		}
		if d.HasProvider {
			known := rapid.OneOf(rapid.Just(int64(0)), instant)
			d.ProviderUsed, d.ResetAt, d.ObservedAt = amount.Draw(t, "used"), known.Draw(t, "reset"), known.Draw(t, "observed")
		}
		if d.HasSplit {
			d.Attributed, d.Unattributed = amount.Draw(t, "attributed"), amount.Draw(t, "unattributed")
		}
		if d.HasPromise = flag.Draw(t, "promise"); d.HasPromise {
			d.Promised, d.Kept, d.Headroom = amount.Draw(t, "promised"), amount.Draw(t, "kept"), amount.Draw(t, "headroom")
			for range rapid.IntRange(0, 2).Draw(t, "keptFor") {
				d.KeptFor = append(d.KeptFor, Kept{text.Draw(t, "keptKey"), amount.Draw(t, "keptAmount")})
			}
		}
		r.Dimensions = append(r.Dimensions, d)
	}
	return r
}

// drawTraffic draws what is shown whole: of an empty backlog nothing is.
func drawTraffic(t *rapid.T) (x Traffic) {
	number := rapid.Int64Range(0, MaxSeq)
	x.InFlight, x.MaxConcurrent = number.Draw(t, "inFlight"), rapid.Int64Range(0, 3).Draw(t, "most")
	if x.Waiting = rapid.Int64Range(0, 3).Draw(t, "waiting"); x.Waiting > 0 {
		x.OldestMs, x.KeyWaiting, x.KeyOldestMs = number.Draw(t, "oldest"), number.Draw(t, "keyWaiting"), number.Draw(t, "keyOldest")
	}
	return x
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// number writes v / 10^digits as big.Rat does: another way than the encoders'.
func number(v int64, digits int) string {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	return new(big.Rat).SetFrac(big.NewInt(v), scale).RatString()
}

func instantText(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// document is the reply as a generic document, with every number as the text of
// number.
func document(r *Reply) any {
	decision := map[bool]string{true: "allow", false: "block"}[r.Allow]
	doc := object{
		"decisionId": r.DecisionID, "decision": decision, "reason": r.Reason, "deprioritize": r.Deprioritize,
		"scoreFactor": number(int64(r.ScoreFactor), 6), "httpStatus": fmt.Sprint(r.HTTPStatus),
		"asOf": object{"seq": fmt.Sprint(r.AsOf.Seq), "time": instantText(r.AsOf.Time), "lagMs": fmt.Sprint(r.AsOf.LagMs)},
	}
	for name, text := range map[string]string{"message": r.Message, "scope": r.Scope, "requestId": r.RequestID, "detail": r.Detail, "connectionId": r.ConnectionID} {
		if text != "" {
			doc[name] = text
		}
	}
	for name, list := range map[string][]string{"alternatives": r.Alternatives, "degraded": r.Degraded} {
		if len(list) > 0 {
			items := []any{}
			for _, s := range list {
				items = append(items, s)
			}
			doc[name] = items
		}
	}
	if len(r.Candidates) > 0 {
		list := []any{}
		for _, c := range r.Candidates {
			list = append(list, candidateDocument(c))
		}
		doc["candidates"] = list
	}
	if r.HasTraffic {
		trafficDocument(doc, &r.Traffic)
	}
	if r.RetryAt != 0 {
		doc["retryAfterMs"], doc["retryAt"] = fmt.Sprint(r.RetryAfterMs), instantText(r.RetryAt)
	}
	if r.HasBinding {
		binding := object{"unit": r.Binding.Unit.String(), "window": r.Binding.Window.String()}
		if r.Binding.Model != "" {
			binding["model"] = r.Binding.Model
		}
		doc["binding"] = binding
	}
	if r.WouldBlock {
		doc["wouldBlock"] = true
	}
	if r.Explained {
		list := []any{}
		for _, d := range r.Dimensions {
			list = append(list, dimensionDocument(d))
		}
		doc["dimensions"] = list
	}
	return doc
}

func trafficDocument(doc object, x *Traffic) {
	doc["inFlight"] = fmt.Sprint(x.InFlight)
	if x.MaxConcurrent > 0 {
		doc["maxConcurrent"] = fmt.Sprint(x.MaxConcurrent)
	}
	if x.Waiting > 0 {
		doc["backlog"] = object{
			"waiting": fmt.Sprint(x.Waiting), "oldestMs": fmt.Sprint(x.OldestMs),
			"keyWaiting": fmt.Sprint(x.KeyWaiting), "keyOldestMs": fmt.Sprint(x.KeyOldestMs),
		}
	}
}

func candidateDocument(c RouteCandidate) object {
	doc := object{"connectionId": c.ConnectionID, "order": fmt.Sprint(c.Order), "inFlight": fmt.Sprint(c.InFlight)}
	if c.Gate != "" {
		doc["gate"] = c.Gate
	}
	if c.MaxConcurrent != 0 {
		doc["maxConcurrent"] = fmt.Sprint(c.MaxConcurrent)
	}
	if c.HasScore {
		doc["score"] = number(int64(c.Score), 6)
	}
	return doc
}

func dimensionDocument(d Dimension) object {
	amount := func(a quota.Amount, u quota.Unit, known bool) any {
		if !known {
			return nil
		}
		return number(int64(a), u.Digits())
	}
	doc := object{
		"unit": d.Unit.String(), "window": d.Window.String(), "mode": d.Mode, "borrowing": d.Borrowing,
		"limit":         amount(d.Limit, d.Unit, d.Limit != 0),
		"consumed":      amount(d.Consumed, d.Unit, true),
		"held":          amount(d.Held, d.Unit, true),
		"fairShare":     amount(d.FairShare, d.Unit, d.HasFairShare),
		"remaining":     amount(d.Remaining, d.Unit, d.HasRemaining),
		"consumedTotal": amount(d.ConsumedTotal, d.Unit, true),
		"heldTotal":     amount(d.HeldTotal, d.Unit, true),
		"deficit":       amount(d.Deficit, d.Unit, d.HasFairShare),
		"providerUsed":  amount(d.ProviderUsed, quota.Percent, d.HasProvider),
	}
	if d.ResetAt != 0 {
		doc["resetAt"] = instantText(d.ResetAt)
	}
	if d.ObservedAt != 0 {
		doc["observedAt"] = instantText(d.ObservedAt)
	}
	if d.HasSplit {
		doc["attributed"] = number(int64(d.Attributed), quota.Percent.Digits())
		doc["unattributed"] = number(int64(d.Unattributed), quota.Percent.Digits())
	}
	if d.HasPromise {
		doc["promised"], doc["kept"], doc["headroom"] = amount(d.Promised, d.Unit, true), amount(d.Kept, d.Unit, true), amount(d.Headroom, d.Unit, true)
		var list []any
		for _, k := range d.KeptFor {
			list = append(list, map[string]any{"apiKeyId": k.APIKeyID, "amount": amount(k.Amount, d.Unit, true)})
		}
		if list != nil {
			doc["keptFor"] = list
		}
	}
	return doc
}

// normal gives numbers the form of number. With numbersOnly a text stays as it
// is; without, a text that reads as a number is one too, as msgpack has it.
func normal(v any, numbersOnly bool) any {
	switch v := v.(type) {
	case json.Number:
		rat, _ := new(big.Rat).SetString(v.String())
		return rat.RatString()
	case string:
		if rat, ok := new(big.Rat).SetString(v); ok && !numbersOnly {
			return rat.RatString()
		}
		return v
	case int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return fmt.Sprint(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = normal(v[i], numbersOnly)
		}
		return list
	case object:
		doc := object{}
		for name := range v {
			doc[name] = normal(v[name], numbersOnly)
		}
		return doc
	}
	return v
}
