package wire

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzJSON: the scanner agrees with the parser; what the parser takes is JSON,
// and is the same after it was written again.
func FuzzJSON(f *testing.F) {
	for _, s := range scanSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		agree(t, JSON, data)
		v, items, err := ParseItems(JSON, data)
		if err != nil {
			return
		}
		if !json.Valid(bytes.TrimPrefix(data, byteOrderMark)) {
			t.Fatalf("%q is no JSON", data)
		}
		checkAgain(t, JSON, v, items)
	})
}

// FuzzMsgpack is FuzzJSON for msgpack.
func FuzzMsgpack(f *testing.F) {
	for _, s := range scanSeeds {
		f.Add([]byte(s))
		if v, err := ParseJSON([]byte(s)); err == nil {
			f.Add(AppendValue(nil, Msgpack, v))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		agree(t, Msgpack, data)
		v, items, err := ParseItems(Msgpack, data)
		if err == nil {
			checkAgain(t, Msgpack, v, items)
		}
	})
}

func checkAgain(t *testing.T, enc Encoding, v Value, items [][]byte) {
	data := AppendValue(nil, JSON, v)
	again, err := ParseJSON(data)
	if err != nil || string(AppendValue(nil, JSON, again)) != string(data) {
		t.Fatalf("%q: %v", data, err)
	}
	if len(items) != len(v.Items) {
		t.Fatalf("%d items of %d", len(items), len(v.Items))
	}
	for i, item := range items {
		alone, err := Parse(enc, item)
		if err != nil || string(AppendValue(nil, JSON, alone)) != string(AppendValue(nil, JSON, v.Items[i])) {
			t.Fatalf("item %d, %q: %v", i, item, err)
		}
	}
}
