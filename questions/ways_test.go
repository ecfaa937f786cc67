package questions

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/wire"
)

// TestWaysAgree draws documents that are nearly questions, which bytes by chance
// seldom are, and reads them both ways.
func TestWaysAgree(t *testing.T) {
	scanned := 0
	rapid.Check(t, func(t *rapid.T) {
		doc := drawDocument(t)
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "spaced") {
			var spaced bytes.Buffer
			_ = json.Indent(&spaced, data, " ", "\t")
			data = spaced.Bytes()
		}
		scanned += bothKinds(t, data, wire.JSON)
		if data, err = msgpack.Marshal(doc); err != nil {
			t.Fatal(err)
		}
		scanned += bothKinds(t, data, wire.Msgpack)
	})
	if scanned == 0 {
		t.Error("the scanner took none of the documents")
	}
}

// drawDocument draws a question or an array of them: mostly legal values, now
// and then others, and values at the bounds.
func drawDocument(t *rapid.T) any {
	text := rapid.OneOf(rapid.StringMatching(`[ -~]{1,20}`), rapid.String())
	number := rapid.OneOf(
		rapid.Map(rapid.Int64Range(0, 4_000_000), wrap), rapid.Map(rapid.Int64(), wrap), rapid.Map(rapid.Int64Range(900_000_000_000, 2_000_000_000_000), wrap),
		rapid.Map(rapid.StringMatching(`-?[0-9]{1,16}(\.[0-9]{1,10})?(e-?[0-9]{1,2})?`), wrap),
		rapid.Map(rapid.Float64Range(-1, 2e6), wrap),
	)
	anything := rapid.OneOf(rapid.Map(text, wrap), number, rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any]("2026-01-01T00:00:00Z"))
	question := rapid.Custom(func(t *rapid.T) any {
		doc := object{"apiKeyId": text.Draw(t, "key")}
		for _, name := range []string{"connectionId", "pool", "model", "requestId"} {
			if rapid.IntRange(0, 2).Draw(t, name) == 0 {
				doc[name] = text.Draw(t, name)
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "route") == 0 {
			doc["route"] = rapid.StringMatching(`qtS[dD]/[a-z%2F]{1,9}/[a-z]{1,3}/?[ -~]{0,5}`).Draw(t, "name")
		}
		for _, name := range []string{"leaseMs", "at", "minSeq", "maxWaitMs"} {
			if rapid.IntRange(0, 3).Draw(t, name) == 0 {
				doc[name] = number.Draw(t, name)
			}
		}
		for _, name := range []string{"reserve", "explain"} {
			if rapid.IntRange(0, 3).Draw(t, name) == 0 {
				doc[name] = rapid.Bool().Draw(t, name)
			}
		}
		if rapid.Bool().Draw(t, "estimate") {
			doc["estimate"] = rapid.MapOfN(rapid.SampledFrom([]string{"requests", "tokens", "usd", "percent", "token"}), number, 0, 3).Draw(t, "estimate")
		}
		if rapid.IntRange(0, 5).Draw(t, "odd") == 0 {
			doc[rapid.SampledFrom(append(fieldNames[:], "other")).Draw(t, "field")] = anything.Draw(t, "value")
		}
		return doc
	})
	if rapid.Bool().Draw(t, "array") {
		return rapid.SliceOfN(question, 0, 3).Draw(t, "questions")
	}
	return question.Draw(t, "question")
}

func wrap[T any](v T) any { return v }

// fataler is a testing.T or a rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// bothKinds decodes the message as one of decide and as one of route.
func bothKinds(t fataler, data []byte, enc wire.Encoding) (scanned int) {
	t.Helper()
	return bothWays(t, data, enc, false) + bothWays(t, data, enc, true)
}

// bothWays decodes with the scanner and with the tree, and returns 1 if the
// scanner took the message.
func bothWays(t fataler, data []byte, enc wire.Encoding, routes bool) int {
	t.Helper()
	fast, slow := Request{routes: routes}, Request{routes: routes}
	ok, fastErr := fast.scan(string(data), enc)
	if !ok {
		return 0
	}
	slowErr := slow.readTree(data, enc)
	if diff := cmp.Diff(slowErr, fastErr); diff != "" {
		t.Fatalf("%q error (-tree +scanner):\n%s", data, diff)
	}
	if fastErr != nil {
		return 1
	}
	if diff := cmp.Diff(slow, fast, emptyIsNil, cmpopts.IgnoreUnexported(Request{})); diff != "" {
		t.Fatalf("%q (-tree +scanner):\n%s", data, diff)
	}
	return 1
}
