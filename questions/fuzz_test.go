package questions

import (
	"testing"

	"github.com/quotashare/quotashare/wire"
)

var seeds = []string{
	string(question),
	`[{"apiKeyId":"k","pool":"p"}, {"apiKeyId":"k"}, 7]`,
	`{"apiKeyId":"k","connectionId":"c","reserve":true,"leaseMs":1000,"estimate":{"usd":"1.5","tokens":3}}`,
	`{"apiKeyId":"k","connectionId":"c","at":"2026-01-01T00:00:00Z","explain":true,"minSeq":300,"maxWaitMs":70000}`,
	`{"apiKeyId":"k","connectionId":"c","at":1790000000000,"estimate":{"percent":0.125,"requests":1e2}}`,
	`{"specversion":"1.0","type":"quota.decide","data":{"apiKeyId":"k","pool":"p"}}`,
	`{"apiKeyId":"k","route":"qtSd/team%20a/kimi/k2/fast","requestId":"r"}`,
	`[{"apiKeyId":"k","candidates":[{"connectionId":"c","score":0.5},{"connectionId":"d"}]}]`,
	`{"apiKeyId":"ключ","pool":"\u0070","explain":null}`,
}

// FuzzScanJSON holds the scanner to the tree.
func FuzzScanJSON(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { bothKinds(t, data, wire.JSON) })
}

// FuzzScanMsgpack holds the scanner to the tree.
func FuzzScanMsgpack(f *testing.F) {
	for _, s := range seeds {
		f.Add(toMsgpack(f, s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { bothKinds(t, data, wire.Msgpack) })
}

// FuzzParseReplies looks for panics.
func FuzzParseReplies(f *testing.F) {
	for _, enc := range []wire.Encoding{wire.JSON, wire.Msgpack} {
		f.Add(AppendReply(nil, enc, typicalReply()), enc == wire.Msgpack)
	}
	f.Fuzz(func(_ *testing.T, data []byte, msgpack bool) {
		enc := wire.JSON
		if msgpack {
			enc = wire.Msgpack
		}
		_, _ = ParseReplies(data, enc)
	})
}
