package events

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

func TestKinds(t *testing.T) {
	for k := Consumption; k <= ConfigSettings; k++ {
		subject := k.Subject("a.b")
		if got, id, err := ParseSubject(subject); err != nil || got != k || (id != "" && id != "a.b") {
			t.Errorf("%s: %v %q %v", subject, got, id, err)
		}
		if got, ok := ParseKind(k.String()); !ok || got != k {
			t.Errorf("%s: %v %v", k, got, ok)
		}
		if k.IsConfig() != strings.HasPrefix(subject, ConfigPrefix) {
			t.Errorf("%s is configuration: %v", k, k.IsConfig())
		}
	}
	if _, ok := ParseKind("quota.other"); ok {
		t.Error("there is no quota.other")
	}
	if got := RejectedSubject(18446744073709551615, 7); got != "quota.rejected.18446744073709551615.7" {
		t.Error(got)
	}
}

// TestStreamSubjects checks that the stream takes every subject of a kind, and
// tails where they are allowed only.
func TestStreamSubjects(t *testing.T) {
	subjects := StreamSubjects()
	for k := Consumption; k <= Due; k++ {
		if !slices.Contains(subjects, k.String()) {
			t.Errorf("no %s", k)
		}
		_, _, err := ParseSubject(k.String() + ".x")
		if slices.Contains(subjects, k.String()+".>") != (err == nil) {
			t.Errorf("%s.>: %v", k, err)
		}
	}
	if len(subjects) != 11 {
		t.Errorf("%d subjects", len(subjects))
	}
}

func TestEscapeID(t *testing.T) {
	for id, token := range map[string]string{
		"aZ09_-": "aZ09_-",
		"a.b":    "a%2Eb",
		"a:b/c":  "a%3Ab%2Fc",
		"*":      "%2A",
		">":      "%3E",
		"a b":    "a%20b",
		"100%":   "100%25",
		"é":      "%C3%A9",
	} {
		if got := EscapeID(id); got != token {
			t.Errorf("%q: %q", id, got)
		}
		if got, err := UnescapeID(token); got != id || err != nil {
			t.Errorf("%q: %q %v", token, got, err)
		}
	}
	for token, want := range map[string]error{
		"%41": ErrEscape, "%5F": ErrEscape, "%2e": ErrEscape, "%": ErrEscape, "%2": ErrEscape, "%2G": ErrEscape, "a.b": ErrEscape, "a b": ErrEscape, "é": ErrEscape,
		"": quota.ErrIDEmpty, "%00": quota.ErrIDControl, "%FF": quota.ErrIDUTF8, strings.Repeat("a", 257): quota.ErrIDLong,
	} {
		if _, err := UnescapeID(token); err != want {
			t.Errorf("%q: %v", token, err)
		}
	}
}

func decodeOne(t *testing.T, subject, data string) Event {
	t.Helper()
	items, _ := decodeBoth(t, &Message{Subject: subject, Data: []byte(data)})
	if len(items) != 1 || items[0].Err != nil {
		t.Fatalf("%s: %v", data, items[0].Err)
	}
	return items[0].Event
}

// TestIdentity: kind, source and id, and nothing else; texts that meet when they
// are joined are apart.
func TestIdentity(t *testing.T) {
	base := Event{Kind: Consumption, ID: "ab", Source: "c"}
	id := func(e Event) [16]byte {
		got, ok := e.Identity()
		if !ok {
			t.Fatalf("%+v has no identity", e)
		}
		return got
	}
	same := base
	same.Time, same.APIKeyID, same.Cost[quota.Tokens] = 1, "k", 1
	if id(same) != id(base) {
		t.Error("the identity depends on more than kind, source and id")
	}
	for _, other := range []Event{
		{Kind: Adjustment, ID: "ab", Source: "c"},
		{Kind: Consumption, ID: "b", Source: "ca"},
		{Kind: Consumption, ID: "abc"},
		{Kind: Consumption, ID: "ab"},
	} {
		if id(other) == id(base) {
			t.Errorf("%+v has the same identity", other)
		}
	}
	for _, e := range []Event{{Kind: Consumption}, {Kind: Consumption, Source: "s"}, {Kind: ConfigPool, ID: "a"}} {
		if _, ok := e.Identity(); ok {
			t.Errorf("%+v has an identity", e)
		}
	}
	sum := sha256.Sum256([]byte("\x11quota.consumption\x01c\x02ab"))
	if got := id(base); !bytes.Equal(got[:], sum[:16]) {
		t.Errorf("%x", got)
	}
}

// TestContentIsWhatWasSaid: the same said otherwise is the same, and anything
// else said is not.
func TestContentIsWhatWasSaid(t *testing.T) {
	const subject = "quota.consumption"
	base := decodeOne(t, subject, `{"id":"1","time":1786699815250,"apiKeyId":"k","connectionId":"c","cost":{"tokens":1}}`)
	for _, same := range []string{
		`{"cost":{"tokens":"1.0","usd":null},"connectionId":"c","apiKeyId":"k","time":"2026-08-14T11:30:15.25+02:00","id":"1"}`,
		`{"id":"1","time":1786699815250,"apiKeyId":"\u006b","connectionId":"c","cost":{"tokens":10e-1},"other":{},"model":null,"partial":false}`,
	} {
		if e := decodeOne(t, subject, same); e.Content() != base.Content() {
			t.Errorf("%s: another content", same)
		}
	}
	seen := map[[32]byte]string{base.Content(): "base"}
	for _, other := range []string{
		`{"id":"1","apiKeyId":"k","connectionId":"c","cost":{"tokens":1}}`,
		`{"id":"1","time":1786699815251,"apiKeyId":"k","connectionId":"c","cost":{"tokens":1}}`,
		`{"id":"1","time":1786699815250,"apiKeyId":"c","connectionId":"k","cost":{"tokens":1}}`,
		`{"id":"1","time":1786699815250,"apiKeyId":"k","connectionId":"c","cost":{"usd":1}}`,
		`{"id":"1","time":1786699815250,"apiKeyId":"k","connectionId":"c","cost":{"tokens":1.001}}`,
		`{"id":"1","time":1786699815250,"apiKeyId":"k","connectionId":"c","cost":{"tokens":1,"requests":1}}`,
		`{"id":"1","time":1786699815250,"apiKeyId":"k","connectionId":"c","cost":{"tokens":1},"partial":true}`,
		`{"id":"1","time":1786699815250,"apiKeyId":"k","connectionId":"c","cost":{"tokens":1},"estimated":true}`,
		`{"id":"1","time":1786699815250,"apiKeyId":"k","connectionId":"c","cost":{"tokens":1},"model":"m"}`,
		`{"id":"1","time":1786699815250,"apiKeyId":"k","connectionId":"c","cost":{"tokens":1},"provider":"m"}`,
		`{"id":"1","time":1786699815250,"apiKeyId":"k","connectionId":"c","cost":{"tokens":1},"requestId":"m"}`,
	} {
		e := decodeOne(t, subject, other)
		if twin, twice := seen[e.Content()]; twice {
			t.Errorf("%s has the content of %s", other, twin)
		}
		seen[e.Content()] = other
	}
}

// TestHash: each part of a stored message counts, and where one part ends.
func TestHash(t *testing.T) {
	base := Message{Subject: "s", Header: map[string][]string{"A": {"b", "c"}, "D": {"e"}}, Data: []byte("x")}
	seen := map[[32]byte]int{Hash(&base): -1}
	for i, m := range []Message{
		{Subject: "t", Header: base.Header, Data: base.Data},
		{Subject: "s", Data: base.Data},
		{Subject: "s", Header: map[string][]string{"A": {"c", "b"}, "D": {"e"}}, Data: base.Data},
		{Subject: "s", Header: map[string][]string{"A": {"bc"}, "D": {"e"}}, Data: base.Data},
		{Subject: "s", Header: map[string][]string{"A": {"b", "c", "D", "e"}}, Data: base.Data},
		{Subject: "s", Header: map[string][]string{"a": {"b", "c"}, "D": {"e"}}, Data: base.Data},
		{Subject: "s", Header: base.Header, Data: []byte("xy")},
		{Subject: "s", Header: base.Header},
	} {
		h := Hash(&m)
		if twin, twice := seen[h]; twice {
			t.Errorf("%d has the hash of %d", i, twin)
		}
		seen[h] = i
	}
	same := base
	same.Seq, same.Time = 7, 7
	if Hash(&same) != Hash(&base) {
		t.Error("sequence or time are in the hash")
	}
	if Hash(&Message{Subject: "s"}) != Hash(&Message{Subject: "s", Header: map[string][]string{}, Data: []byte{}}) {
		t.Error("no headers and none are two")
	}
	body := sha256.Sum256([]byte("x"))
	if want := sha256.Sum256([]byte("\x01s\x02\x01A\x02\x01b\x01c\x01D\x01\x01e" + string(body[:]))); Hash(&base) != want {
		t.Errorf("%x", Hash(&base))
	}
}

func TestNothingIsAllocatedForHashes(t *testing.T) {
	m := &Message{Subject: "quota.consumption", Data: []byte(typical)}
	e := Decode(m, nil)[0].Event
	items := make([]Item, 0, 1)
	for name, c := range map[string]struct {
		most float64
		run  func()
	}{
		"identity": {0, func() { e.Identity() }},
		"content":  {0, func() { e.Content() }},
		"hash":     {0, func() { Hash(m) }},
		"decode":   {1, func() { items = Decode(m, items[:0]) }}, // the body as a string
	} {
		if got := testing.AllocsPerRun(100, c.run); got > c.most {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}

// TestDecodeAppends: what was in dst stays, also when the scanner gives up.
func TestDecodeAppends(t *testing.T) {
	dst := []Item{{Raw: []byte("before")}}
	for _, data := range []string{`{"apiKeyId":"k","connectionId":"c"}`, `[{"apiKeyId":"k","connectionId":"c"},7]`, `x`} {
		items := Decode(&Message{Subject: "quota.consumption", Data: []byte(data)}, dst)
		if len(items) < 2 || string(items[0].Raw) != "before" {
			t.Errorf("%s: %v", data, items)
		}
	}
}

// TestHeaderCase: the exact name goes first, and then chance has no part.
func TestHeaderCase(t *testing.T) {
	for range 20 {
		m := &Message{Header: map[string][]string{"quota-actor": {"c"}, "Quota-Actor": {"a"}, "QUOTA-ACTOR": {"b"}}}
		if got := m.first(HeaderActor); got != "a" {
			t.Fatal(got)
		}
		delete(m.Header, "Quota-Actor")
		if got := m.first(HeaderActor); got != "b" {
			t.Fatal(got)
		}
	}
}

func TestRejected(t *testing.T) {
	m := &Message{Subject: "quota.consumption", Header: map[string][]string{"B": {"1", "2"}, "A": {""}}, Seq: 1 << 63, Time: 1786699815250}
	r := NewRejected(m, 3, reject(Invalid, `time "x" is wrong`), []byte("\x00{}"))
	const want = `{"seq":9223372036854775808,"index":3,"subject":"quota.consumption","reason":"invalid","message":"time \"x\" is wrong",` +
		`"time":"2026-08-14T09:30:15.250Z","headers":{"A":[""],"B":["1","2"]},"data":"AHt9"}`
	if got := string(r.AppendJSON(nil)); got != want {
		t.Error(got)
	}
	again, err := ParseRejected([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, again); d != "" {
		t.Error(d)
	}
	for _, data := range []string{`7`, `{}`, `{"time":5}`, ``} {
		if _, err := ParseRejected([]byte(data)); err == nil {
			t.Errorf("%s is taken for a record", data)
		}
	}
}

// TestRejectedWithoutHeaders: every field of a record is always there.
func TestRejectedWithoutHeaders(t *testing.T) {
	r := NewRejected(&Message{Subject: "quota.due", Seq: 1, Time: quota.MinInstant}, 0, reject(Undecodable, "m"), nil)
	const want = `{"seq":1,"index":0,"subject":"quota.due","reason":"undecodable","message":"m","time":"2000-01-01T00:00:00.000Z","headers":{},"data":""}`
	if got := string(r.AppendJSON(nil)); got != want {
		t.Error(got)
	}
}

// TestRejectedArrayFits: every event of an array repeats the headers of their
// message, and all of them together must stay in proportion to it.
func TestRejectedArrayFits(t *testing.T) {
	m := &Message{Subject: "s", Time: quota.MinInstant, Header: map[string][]string{"A": {strings.Repeat("x", 60<<10)}}}
	small := &Message{Subject: "s", Time: quota.MinInstant, Header: map[string][]string{"A": {strings.Repeat("x", 1000)}}}
	total := 0
	for i := range MaxEvents {
		r := NewRejected(m, i, reject(Invalid, "m"), []byte("42"))
		if r.Truncated != (r.Headers == nil) {
			t.Fatalf("%d: truncated %v with %d headers", i, r.Truncated, len(r.Headers))
		}
		total += len(r.AppendJSON(nil))
		if r = NewRejected(small, i, reject(Invalid, "m"), nil); r.Headers == nil {
			t.Fatalf("%d: lost few headers", i)
		}
	}
	if total > 1<<20 {
		t.Errorf("an array of %d refused events has %d bytes of records", MaxEvents, total)
	}
	if r := NewRejected(m, 0, reject(Invalid, "m"), nil); r.Headers == nil {
		t.Error("the first event has lost the headers")
	}
}

// TestRejectedFits: the record of the worst message fits into one of 1 MiB.
func TestRejectedFits(t *testing.T) {
	for n, cut := range map[int]bool{0: false, MaxRejectedData: false, MaxRejectedData + 1: true, 8 << 20: true} {
		raw := bytes.Repeat([]byte{'"'}, n)
		r := NewRejected(&Message{Subject: "s", Time: quota.MinInstant}, 0, reject(Undecodable, "m"), raw)
		if r.Truncated != cut || len(r.Data) != min(n, MaxRejectedData) {
			t.Errorf("%d: truncated %v, %d bytes", n, r.Truncated, len(r.Data))
		}
	}
	header := map[string][]string{"A": {strings.Repeat("\x01", maxRejectedHeaders)}}
	r := NewRejected(&Message{Subject: "s", Header: header, Time: quota.MinInstant}, 0, reject(Undecodable, "m"), make([]byte, 1<<20))
	if !r.Truncated || r.Headers != nil || len(r.AppendJSON(nil)) > 1<<20 {
		t.Errorf("%d bytes", len(r.AppendJSON(nil)))
	}
	header["A"][0] = header["A"][0][1:]
	r = NewRejected(&Message{Subject: "s", Header: header, Time: quota.MinInstant}, 0, reject(Undecodable, "m"), make([]byte, 1<<20))
	if r.Headers == nil || len(r.AppendJSON(nil)) > 1<<20 {
		t.Errorf("%d bytes", len(r.AppendJSON(nil)))
	}
}

// TestFaultsAreBounded: a message that is wrong in very many places is not
// answered with a longer one.
func TestFaultsAreBounded(t *testing.T) {
	data := `{"connectionId":"c","readings":[` + strings.Repeat("7,", MaxReadings-1) + "7]}"
	item := Decode(&Message{Subject: "quota.saturation", Data: []byte(data)}, nil)[0]
	if item.Err == nil || len(item.Err.Message) > 2000 {
		t.Error(item.Err)
	}
	data = `{"apiKeyId":"k","connectionId":"c","cost":{"` + strings.Repeat("x", 100000) + `":1}}`
	item = Decode(&Message{Subject: "quota.consumption", Data: []byte(data)}, nil)[0]
	if item.Err == nil || len(item.Err.Message) > 2000 {
		t.Error(item.Err)
	}
}

func TestAppendArray(t *testing.T) {
	events := make([]Event, MaxEvents)
	for i := range events {
		events[i] = Event{Kind: Release, ID: strings.Repeat("i", i%40+1), APIKeyID: "k", RequestID: "r"}
	}
	for _, enc := range []wire.Encoding{wire.JSON, wire.Msgpack} {
		items, scanned := decodeBoth(t, &Message{Subject: "quota.release", Data: AppendArray(nil, enc, events)})
		if !scanned || len(items) != len(events) {
			t.Fatalf("%d items", len(items))
		}
		for i := range items {
			if d := cmp.Diff(events[i], items[i].Event); d != "" {
				t.Error(d)
			}
		}
	}
}
