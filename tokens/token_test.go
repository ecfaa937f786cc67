package tokens

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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var equal = cmp.AllowUnexported(Token{})

// noon is when the tests add.
var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func TestATokenIs256RandomBits(t *testing.T) {
	token, kept := newToken(Token{Name: "grafana", Role: Read}, noon.Add(1500*time.Microsecond))
	if !regexp.MustCompile(`^qt-[A-Za-z0-9_-]{43}$`).MatchString(token) {
		t.Errorf("token %q", token)
	}
	want := Token{Name: "grafana", Role: Read, Prefix: token[:9], CreatedAt: noon.Add(time.Millisecond), sum: sha256.Sum256([]byte(token))}
	if diff := cmp.Diff(want, kept, equal); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if other, _ := newToken(Token{}, noon); other == token {
		t.Error("the same token twice")
	}
}

// entry is one token of a document, with fields put behind its own.
func entry(role, n, more string) string {
	return fmt.Sprintf(`{"name":"x","role":%q,"sha256":"%064s","prefix":"qt-ab12cd","createdAt":"2026-07-01T12:00:00Z"%s}`, role, n, more)
}

func TestFaultsNameTheirFields(t *testing.T) {
	good := entry("read", "a", "")
	tests := []struct{ doc, want string }{
		{`{"tokens":[]}`, ""},
		{"\ufeff" + ` {"tokens":[` + good + `]} `, ""},
		{`{"tokens":[` + good + `,` + entry("admin", "b", `,"expiresAt":"2026-07-01T12:00:00Z"`) + `]}`, ""},
		{`{"tokens":[` + entry("self", "a", `,"keys":["alice"," bob"]`) + `]}`, ""},
		{"", `the file is empty: one without tokens is {"tokens":[]}`},
		{`{}`, "tokens is missing"},
		{"{\"tokens\":[\n", "line 2, column 1: not well formed: unexpected EOF"},
		{`{"tokens":[],"version":2}`, "version is unknown: use tokens"},
		{`{"tokens":[{}]}`, "tokens[0].name is missing; tokens[0].role is missing; tokens[0].prefix is missing; tokens[0].sha256 is missing; tokens[0].createdAt is missing"},
		{`{"tokens":[` + entry("read", "a", `,"scope":1`) + `]}`, "tokens[0].scope is unknown: use name, role, keys, sha256, prefix, createdAt, expiresAt"},
		{`{"tokens":[` + good + `,` + entry("admin", "A", "") + `]}`, "tokens[1].sha256 is tokens[0].sha256 too: a token has one role"},
		{`{"tokens":[` + entry("root", "a", "") + `]}`, "tokens[0].role is root: use ingest, read, self or admin"},
		{`{"tokens":[` + entry("none", "a", "") + `]}`, "tokens[0].role is none: use ingest, read, self or admin"},
		{`{"tokens":[` + entry("Admin", "a", "") + `]}`, "tokens[0].role is Admin: use ingest, read, self or admin"},
		{`{"tokens":[` + entry("self", "a", "") + `]}`, "tokens[0].keys is missing: the role self is bound to some keys"},
		{`{"tokens":[` + entry("self", "a", `,"keys":[]`) + `]}`, "tokens[0].keys is missing: the role self is bound to some keys"},
		{`{"tokens":[` + entry("self", "a", `,"keys":["*"]`) + `]}`, "tokens[0].keys has *, which stands for all keys that have no allocation: name each key"},
		{`{"tokens":[` + entry("self", "a", `,"keys":["bob","bob"]`) + `]}`, "tokens[0].keys has bob twice"},
		{`{"tokens":[` + entry("read", "a", `,"keys":["bob"]`) + `]}`, "tokens[0].keys is for the role self alone: read is bound to no keys"},
		{`{"tokens":[` + strings.Replace(good, "qt-ab12cd", "qt-", 1) + `]}`, "tokens[0].prefix is not the first 9 characters of a token, by which it is found"},
		{`{"tokens":[` + entry("read", "g", "") + `]}`, "tokens[0].sha256 is no SHA-256: use 64 hexadecimal digits"},
		{`{"tokens":[` + entry("read", "a", `,"expiresAt":"soon"`) + `]}`, "tokens[0].expiresAt " + quota.ErrNotInstant.Error()},
	}
	for _, tt := range tests {
		_, err := parse([]byte(tt.doc))
		if got := fmt.Sprint(err); got != tt.want && !(err == nil && tt.want == "") {
			t.Errorf("%s\ngot  %s\nwant %s", tt.doc, got, tt.want)
		}
	}
}

// The format is a contract: other programs may write it.
func TestTheFormat(t *testing.T) {
	const token = "qt-AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	hash := sha256.Sum256([]byte(token))
	want := `{"tokens": [
  {"name":"<grafana>","role":"read","sha256":"` + hex.EncodeToString(hash[:]) + `","prefix":"qt-AAECAw","createdAt":"2026-07-01T12:00:00.000Z"},
  {"name":"alice","role":"self","keys":["alice","alice-ci"],"sha256":"` + strings.Repeat("0", 64) + `","prefix":"qt-x","createdAt":"2026-07-01T12:00:00.000Z","expiresAt":"2026-07-02T12:00:00.000Z"}
]}
`
	got := string(encode([]Token{
		{Name: "<grafana>", Role: Read, Prefix: token[:PrefixLength], CreatedAt: noon, sum: sumOf(token)},
		{Name: "alice", Role: Self, Keys: []string{"alice", "alice-ci"}, Prefix: "qt-x", CreatedAt: noon, ExpiresAt: noon.Add(24 * time.Hour)},
	}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list, err := parse(encode(nil)); err != nil || len(list) != 0 {
		t.Errorf("without tokens: %v, %v", list, err)
	}
}

func anyToken(t *rapid.T) Token {
	id := rapid.String().Filter(func(id string) bool { return quota.ValidateID(id) == nil && id != quota.AllOthers })
	instant := rapid.Custom(func(t *rapid.T) time.Time {
		return time.UnixMilli(rapid.Int64Range(quota.MinInstant, quota.MaxInstant).Draw(t, "ms")).UTC()
	})
	one := Token{
		Name: id.Draw(t, "name"), Role: rapid.SampledFrom(Roles()).Draw(t, "role"), Prefix: rapid.StringMatching(`qt-[A-Za-z0-9_-]{6}`).Draw(t, "prefix"),
		CreatedAt: instant.Draw(t, "created"), sum: sumOf(rapid.StringN(1, 8, -1).Draw(t, "token")),
	}
	if rapid.Bool().Draw(t, "ends") {
		one.ExpiresAt = instant.Draw(t, "expires")
	}
	if one.Role == Self {
		one.Keys = rapid.SliceOfNDistinct(id, 1, 3, rapid.ID[string]).Draw(t, "keys")
	}
	return one
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfDistinct(rapid.Custom(anyToken), func(t Token) sum { return t.sum }).Draw(t, "tokens")
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

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"tokens":[` + entry("read", "a", "") + `]}`))
	f.Add([]byte(`{"tokens":[{"keys":["*"]},7]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parse(data)
		if err != nil {
			return
		}
		again, err := parse(encode(list))
		if diff := cmp.Diff(list, again, equal); err != nil || diff != "" {
			t.Errorf("written again it is another: %v\n%s", err, diff)
		}
	})
}
