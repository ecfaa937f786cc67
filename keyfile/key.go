package keyfile

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Key is one token of an API key; the token itself is nowhere.
type Key struct {
	ID        string    // of the API key
	Prefix    string    // the first characters of the token
	CreatedAt time.Time // UTC, whole milliseconds

	sum sum
}

// PrefixLength is the length of Key.Prefix: qs- and 4 of 43 random characters, which
// tell the tokens of a key apart and leave 232 bits that nobody sees.
const PrefixLength = len(mark) + 4

// sum is the SHA-256 of a token.
type sum [sha256.Size]byte

const (
	mark = "qs-" // so that a token is known for what it is in a log or a commit

	// maxKeys is as many as a pool may have allocations.
	maxKeys = 10_000

	// maxSize is more than maxKeys take: an id of 256 quotes and a prefix alike are
	// 1024 bytes, the rest 190.
	maxSize = 16 << 20
)

// sumOf is the hash a token is known by. Blanks around it are none of the token:
// they come along when it is pasted.
func sumOf(token string) sum {
	return sha256.Sum256([]byte(strings.TrimSpace(token)))
}

// newToken returns a token and what is kept of it.
func newToken(id string, now time.Time) (string, Key) {
	var random [32]byte
	rand.Read(random[:]) // it ends the process rather than fail
	token := mark + base64.RawURLEncoding.EncodeToString(random[:])
	return token, Key{ID: id, Prefix: token[:PrefixLength], CreatedAt: now, sum: sumOf(token)}
}

// checkID refuses what events could not name, and the name that stands for others.
func checkID(id string) error {
	if id == quota.AllOthers {
		return errors.New("stands for all keys that have no allocation: name one key")
	}
	return quota.ValidateID(id)
}

// checkNewID refuses also what nobody means to name a key: a blank that nobody sees
// would make it another key than the one that has the allocation. In a file it is let
// pass, because one such key would take the tokens of all others out of force.
func checkNewID(id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	if strings.TrimSpace(id) != id {
		return errors.New("begins or ends with a blank: name the key as its allocation does")
	}
	return nil
}

// parse reads a document. All its faults are one error, each with its field; of one
// that is no JSON it says where.
func parse(data []byte) ([]Key, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New(`the file is empty: one without keys is {"keys":[]}`)
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
	r.Only("keys")
	r.Need("keys")
	objects, _ := r.Objects("keys", maxKeys)
	keys := make([]Key, len(objects))
	places := make(map[sum]string, len(objects))
	for i, o := range objects {
		keys[i] = readKey(o)
		if keys[i].sum == (sum{}) { // a fault already
			continue
		}
		if first, twice := places[keys[i].sum]; twice {
			o.Fault("sha256", "is "+first+" too: a token belongs to one key")
		}
		places[keys[i].sum] = o.Path("sha256")
	}
	return keys, faults.Err()
}

func readKey(o wire.Reader) Key {
	o.Only("id", "sha256", "prefix", "createdAt")
	k := Key{ID: o.NeedID("id"), Prefix: o.NeedID("prefix")}
	if err := checkID(k.ID); k.ID != "" && err != nil {
		o.Fault("id", err.Error())
	}
	k.sum = readSum(o)
	o.Need("createdAt")
	k.CreatedAt = time.UnixMilli(o.Instant("createdAt")).UTC()
	return k
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

// encode writes the document, indented: people look at it.
func encode(keys []Key) []byte {
	type key struct {
		ID        string `json:"id"`
		SHA256    string `json:"sha256"`
		Prefix    string `json:"prefix"`
		CreatedAt string `json:"createdAt"`
	}
	doc := struct {
		Keys []key `json:"keys"`
	}{make([]key, len(keys))}
	for i, k := range keys {
		doc.Keys[i] = key{k.ID, hex.EncodeToString(k.sum[:]), k.Prefix, quota.FormatInstant(k.CreatedAt.UnixMilli())}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(doc) // strings into memory: nothing of it can fail
	return b.Bytes()
}
