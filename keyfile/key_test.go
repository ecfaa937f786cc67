package keyfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
)

func TestMain(m *testing.M) {
	if issueAsChild() {
		return
	}
	goleak.VerifyTestMain(m)
}

var equal = cmp.AllowUnexported(Key{})

// noon is when the tests issue.
var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func TestATokenIs256RandomBits(t *testing.T) {
	token, key := newToken("alice", noon)
	if !regexp.MustCompile(`^qs-[A-Za-z0-9_-]{43}$`).MatchString(token) {
		t.Errorf("token %q", token)
	}
	plain := sha256.Sum256([]byte(token))
	want := Key{ID: "alice", Prefix: token[:7], CreatedAt: noon, sum: plain}
	if diff := cmp.Diff(want, key, equal); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if other, _ := newToken("alice", noon); other == token {
		t.Error("the same token twice")
	}
}

// entry is one key of a document, with a field put in the place of its own.
func entry(id, n, more string) string {
	return fmt.Sprintf(`{"id":%q,"sha256":"%064s","prefix":"qs-ab12","createdAt":"2026-07-01T12:00:00Z"%s}`, id, n, more)
}

func TestFaultsNameTheirFields(t *testing.T) {
	good := entry("alice", "a", "")
	tests := []struct{ doc, want string }{
		{`{"keys":[]}`, ""},
		{`{"keys":[` + entry("bob ", "a", "") + `]}`, ""}, // it is not issued, but no reason to refuse all others
		{"\ufeff" + ` {"keys":[` + good + `]} `, ""},
		{`{"keys":[` + good + `,` + entry("alice", "b", "") + `]}`, ""},
		{"", `the file is empty: one without keys is {"keys":[]}`},
		{" \n", `the file is empty: one without keys is {"keys":[]}`},
		{`{}`, "keys is missing"},
		{"{\n  \"keys\": []\n]", "line 3, column 1: not well formed: invalid character ']' after object key:value pair"},
		{"{\"keys\":[\n", "line 2, column 1: not well formed: unexpected EOF"},
		{`{"keys":{}}`, "keys is an object, not an array"},
		{`{"keys":["qs-secret"]}`, "keys[0] is a string, not an object"},
		{`{"keys":[],"version":2}`, "version is unknown: use keys"},
		{`{"keys":[{}]}`, "keys[0].id is missing; keys[0].prefix is missing; keys[0].sha256 is missing; keys[0].createdAt is missing"},
		{`{"keys":[7,` + entry("alice", "a", `,"expires":1`) + `]}`, "keys[0] is a number, not an object; keys[1].expires is unknown: use id, sha256, prefix, createdAt"},
		{`{"keys":[` + good + `,7,` + entry("bob", "A", "") + `]}`, "keys[1] is a number, not an object; keys[2].sha256 is keys[0].sha256 too: a token belongs to one key"},
		{`{"keys":[` + good + `,` + good + `]}`, "keys[1].sha256 is keys[0].sha256 too: a token belongs to one key"},
		{`{"keys":[` + entry("", "a", "") + `]}`, "keys[0].id is empty"},
		{`{"keys":[` + entry("*", "a", "") + `]}`, "keys[0].id stands for all keys that have no allocation: name one key"},
		{`{"keys":[` + entry("a\u0085", "a", "") + `]}`, "keys[0].id has a control character"},
		{`{"keys":[` + entry(strings.Repeat("x", 257), "a", "") + `]}`, "keys[0].id has more than 256 bytes"},
		{`{"keys":[` + entry("alice", "g", "") + `]}`, "keys[0].sha256 is no SHA-256: use 64 hexadecimal digits"},
		{strings.Replace(`{"keys":[`+good+`]}`, "0000", "00", 1), "keys[0].sha256 is no SHA-256: use 64 hexadecimal digits"},
		{strings.Replace(`{"keys":[`+good+`]}`, "0000", "000000", 1), "keys[0].sha256 has more than 64 characters"},
		{strings.Replace(`{"keys":[`+good+`]}`, "2026-", "26-", 1), "keys[0].createdAt " + quota.ErrNotInstant.Error()},
	}
	for _, tt := range tests {
		_, err := parse([]byte(tt.doc))
		if got := fmt.Sprint(err); got != tt.want && !(err == nil && tt.want == "") {
			t.Errorf("%s\ngot  %s\nwant %s", tt.doc, got, tt.want)
		}
	}
	for _, doc := range []string{`{"keys":[` + good, `{"keys":[]}{"keys":[]}`, `{"keys":[],"keys":[]}`, "{\"keys\":[\xff]}", "null"} {
		if keys, err := parse([]byte(doc)); err == nil {
			t.Errorf("%s is taken for %v", doc, keys)
		}
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	keys := rapid.Custom(func(t *rapid.T) Key {
		return Key{
			ID:        rapid.String().Filter(func(id string) bool { return checkID(id) == nil }).Draw(t, "id"),
			Prefix:    rapid.StringMatching(`qs-[A-Za-z0-9_-]{4}`).Draw(t, "prefix"),
			CreatedAt: time.UnixMilli(rapid.Int64Range(quota.MinInstant, quota.MaxInstant).Draw(t, "at")).UTC(),
			sum:       sumOf(rapid.StringN(1, 8, -1).Draw(t, "token")),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfDistinct(keys, func(k Key) sum { return k.sum }).Draw(t, "keys")
		data := encode(want)
		got, err := parse(data)
		if err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		if diff := cmp.Diff(want, got, equal); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// The format is a contract: other programs may write it.
func TestTheFormat(t *testing.T) {
	const token = "qs-AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	want := `{
  "keys": [
    {
      "id": "<alice>",
      "sha256": "` + hexOf(token) + `",
      "prefix": "qs-AAEC",
      "createdAt": "2026-07-01T12:00:00.000Z"
    }
  ]
}
`
	got := string(encode([]Key{{ID: "<alice>", Prefix: token[:PrefixLength], CreatedAt: noon, sum: sumOf(token)}}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := string(encode(nil)); got != "{\n  \"keys\": []\n}\n" {
		t.Errorf("without keys: %q", got)
	}
}

func hexOf(token string) string {
	s := sha256.Sum256([]byte(token))
	return hex.EncodeToString(s[:])
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"keys":[` + entry("alice", "a", "") + `]}`))
	f.Add([]byte(`{"keys":[{"id":"*"},7]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := parse(data)
		if err != nil {
			return
		}
		again, err := parse(encode(keys))
		if diff := cmp.Diff(keys, again, equal); err != nil || diff != "" {
			t.Errorf("written again it is another: %v\n%s", err, diff)
		}
	})
}
