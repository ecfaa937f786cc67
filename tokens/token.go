package tokens

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Token is what is kept of a token; the token itself is nowhere.
type Token struct {
	Name      string // of who has it
	Role      Role
	Keys      []string  // ids of API keys: of Self at least one, of others none
	Prefix    string    // the first characters of the token
	CreatedAt time.Time // UTC, whole milliseconds
	ExpiresAt time.Time // from then on it is refused; zero = never

	sum sum
}

// PrefixLength is the length of Token.Prefix: qt- and 6 of 43 random characters, which
// tell tokens apart and leave 220 bits that nobody sees.
const PrefixLength = len(mark) + 6

// sum is the SHA-256 of a token.
type sum [sha256.Size]byte

const (
	mark = "qt-" // so that a token is known for what it is in a log or a commit

	maxTokens = 10_000
	maxKeys   = 1_000 // of one token
	maxSize   = 16 << 20
)

// sumOf is the hash a token is known by.
func sumOf(token string) sum { return sha256.Sum256([]byte(token)) }

// is compares in a time that does not depend on the sums.
func (s *sum) is(other *sum) bool { return subtle.ConstantTimeCompare(s[:], other[:]) == 1 }

// expired reports whether the token's time is over.
func (t *Token) expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// alike reports whether two are the same in everything.
func (t *Token) alike(o *Token) bool {
	return t.sum == o.sum && t.Name == o.Name && t.Role == o.Role && slices.Equal(t.Keys, o.Keys) &&
		t.CreatedAt.Equal(o.CreatedAt) && t.ExpiresAt.Equal(o.ExpiresAt)
}

// newToken returns a token, and t with what is kept of it.
func newToken(t Token, now time.Time) (string, Token) {
	var random [32]byte
	rand.Read(random[:]) // it ends the process rather than fail
	token := mark + base64.RawURLEncoding.EncodeToString(random[:])
	t.Prefix, t.CreatedAt, t.sum = token[:PrefixLength], now.UTC().Truncate(time.Millisecond), sumOf(token)
	t.ExpiresAt = t.ExpiresAt.UTC().Truncate(time.Millisecond)
	return token, t
}

// check returns what is wrong with a new token, all of it in one error.
func (t *Token) check(now time.Time) error {
	var faults wire.Faults
	if err := quota.ValidateID(t.Name); err != nil {
		faults.Add("name", err.Error())
	} else if strings.TrimSpace(t.Name) != t.Name {
		faults.Add("name", "begins or ends with a blank")
	}
	t.checkRole(func(field, problem string) { faults.Add(field, problem) })
	for _, id := range t.Keys {
		if strings.TrimSpace(id) != id {
			faults.Add("keys", "has "+strconv.Quote(id)+", which begins or ends with a blank: name the key as its allocation does")
		}
	}
	if t.expired(now) {
		faults.Add("expiresAt", "is over already")
	}
	return faults.Err()
}

// checkRole tells what does not fit together.
func (t *Token) checkRole(fault func(field, problem string)) {
	switch {
	case t.Role == None:
		fault("role", "is none: use "+roleList())
	case t.Role == Self && len(t.Keys) == 0:
		fault("keys", "is missing: the role self is bound to some keys")
	case t.Role != Self && len(t.Keys) > 0:
		fault("keys", "is for the role self alone: "+t.Role.String()+" is bound to no keys")
	}
	for i, id := range t.Keys {
		switch err := quota.ValidateID(id); {
		case err != nil:
			fault("keys", fmt.Sprintf("has %s, which %v", wire.Show(id), err))
		case id == quota.AllOthers:
			fault("keys", "has *, which stands for all keys that have no allocation: name each key")
		case slices.Contains(t.Keys[:i], id):
			fault("keys", "has "+wire.Show(id)+" twice")
		}
	}
}

func roleList() string {
	names := make([]string, 0, len(roleNames))
	for _, r := range Roles() {
		names = append(names, r.String())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// parse reads a document. All its faults are one error, each with its field; of one
// that is no JSON it says where.
func parse(data []byte) ([]Token, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New(`the file is empty: one without tokens is {"tokens":[]}`)
	}
	doc, err := wire.ParseJSON(data)
	if err != nil {
		return nil, wire.Located(data, err)
	}
	var faults wire.Faults
	r, ok := wire.Read(doc, "", &faults)
	if !ok {
		return nil, faults.Err()
	}
	r.Only("tokens")
	r.Need("tokens")
	objects, _ := r.Objects("tokens", maxTokens)
	tokens := make([]Token, len(objects))
	places := make(map[sum]string, len(objects))
	for i, o := range objects {
		tokens[i] = readToken(o)
		if tokens[i].sum == (sum{}) { // a fault already
			continue
		}
		if first, twice := places[tokens[i].sum]; twice {
			o.Fault("sha256", "is "+first+" too: a token has one role")
		}
		places[tokens[i].sum] = o.Path("sha256")
	}
	return tokens, faults.Err()
}

func readToken(o wire.Reader) Token {
	o.Only("name", "role", "keys", "sha256", "prefix", "createdAt", "expiresAt")
	t := Token{Name: o.NeedID("name")}
	t.Role = readRole(o)
	t.Keys, _ = o.IDs("keys", maxKeys)
	if t.Role != None {
		t.checkRole(o.Fault)
	}
	if t.Prefix = o.NeedID("prefix"); t.Prefix != "" && len(t.Prefix) != PrefixLength {
		o.Fault("prefix", fmt.Sprintf("is not the first %d characters of a token, by which it is found", PrefixLength))
	}
	t.sum = readSum(o)
	o.Need("createdAt")
	t.CreatedAt = time.UnixMilli(o.Instant("createdAt")).UTC()
	if o.Has("expiresAt") {
		t.ExpiresAt = time.UnixMilli(o.Instant("expiresAt")).UTC()
	}
	return t
}

func readRole(o wire.Reader) Role {
	text := o.NeedText("role", len("ingest")+10)
	r, ok := ParseRole(text)
	if !ok && text != "" {
		o.Fault("role", "is "+wire.Show(text)+": use "+roleList())
	}
	return r
}

func readSum(o wire.Reader) sum {
	text := o.NeedText("sha256", 2*sha256.Size)
	b, err := hex.DecodeString(text)
	switch {
	case text == "": // a fault already
		return sum{}
	case err != nil, len(b) != sha256.Size:
		o.Fault("sha256", fmt.Sprintf("is no SHA-256: use %d hexadecimal digits", 2*sha256.Size))
		return sum{}
	}
	return sum(b)
}

// encode writes the document, a token a line: people look at it, and compare two.
func encode(tokens []Token) []byte {
	type line struct {
		Name      string   `json:"name"`
		Role      string   `json:"role"`
		Keys      []string `json:"keys,omitempty"`
		SHA256    string   `json:"sha256"`
		Prefix    string   `json:"prefix"`
		CreatedAt string   `json:"createdAt"`
		ExpiresAt string   `json:"expiresAt,omitempty"`
	}
	b := bytes.NewBufferString(`{"tokens": [`)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	next := "\n  "
	for _, t := range tokens {
		b.WriteString(next)
		l := line{t.Name, t.Role.String(), t.Keys, hex.EncodeToString(t.sum[:]), t.Prefix, instant(t.CreatedAt), instant(t.ExpiresAt)}
		_ = e.Encode(l)         // strings into memory: nothing of it can fail
		b.Truncate(b.Len() - 1) // of the end of a line
		next = ",\n  "
	}
	b.WriteString("\n]}\n")
	return b.Bytes()
}

// instant writes a time, "" for none.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return quota.FormatInstant(t.UnixMilli())
}
