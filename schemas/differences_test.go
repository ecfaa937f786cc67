package schemas_test

import (
	"encoding/base64"
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/schemas/schematest"
)

// difference is something about which a schema and its decoder do not agree.
type difference struct {
	name     string
	why      string
	stricter bool   // the schema refuses what the decoder takes, else the other way
	message  string // an example of it
	example  string
	explains func(doc any) bool // a document that has it
}

var differences = []difference{
	{
		"a number in a string", "a schema compares numbers, and of a string it sees the characters", false,
		"consumption", `{"apiKeyId":"k","connectionId":"c","cost":{"usd":"-1"}}`,
		func(doc any) bool {
			return each(doc, func(name string, v any) bool {
				s, ok := v.(string)
				return ok && isNumber(s) && len(s) <= 64 && slices.Contains(numeric, name)
			})
		},
	},
	{
		"the bytes of an id", "a schema counts characters", false,
		"release", `{"apiKeyId":"` + strings.Repeat("é", 129) + `","requestId":"r"}`,
		func(doc any) bool {
			return each(doc, func(_ string, v any) bool { s, ok := v.(string); return ok && len(s) > 256 && len([]rune(s)) <= 256 })
		},
	},
	{
		"the digits of a number", "to a schema 0e31 is 0, and to multiples of a millionth few validators are exact", false,
		"routeQuestion", `{"apiKeyId":"k","candidates":[{"connectionId":"a","score":0.1234567}]}`,
		func(doc any) bool {
			return each(doc, func(_ string, v any) bool {
				n, ok := v.(json.Number)
				_, err := quota.ParseRatio(string(n))
				return ok && (err == quota.ErrNumberDecimal || err == quota.ErrNumberExp || err == quota.ErrNumberLength)
			})
		},
	},
	{
		"less than an amount can be", "what is rounded is judged after that, and a schema does not round", true,
		"consumption", `{"apiKeyId":"k","connectionId":"c","cost":{"tokens":-0.0004}}`,
		func(doc any) bool {
			return each(doc, func(_ string, v any) bool { n, ok := v.(json.Number); return ok && nearBound(string(n)) })
		},
	},
	{
		"an instant that is none", "a pattern does not know how long months are, nor the year 2000", false,
		"due", `{"time":"2026-02-30T03:04:05Z"}`,
		func(doc any) bool {
			return each(doc, func(name string, v any) bool {
				s, ok := v.(string)
				_, err := quota.ParseInstant(s)
				return ok && isInstant(name) && instant.MatchString(s) && err != nil
			})
		},
	},
	{
		"an instant written oddly", "of milliseconds in a string only the digits are described", true,
		"due", `{"time":"1786699815250.0"}`,
		func(doc any) bool {
			return each(doc, func(name string, v any) bool {
				s, ok := v.(string)
				_, err := quota.ParseInt(s)
				return ok && isInstant(name) && err == nil && !allDigits.MatchString(s)
			})
		},
	},
	{
		"something twice", "a schema does not compare the items of a list, nor names that differ in case", false,
		"hold", `{"id":"e","apiKeyId":"k","requestId":"r","candidates":[{"connectionId":"a"},{"connectionId":"a"}],"estimate":{},"leaseMs":1,"decisionId":"d"}`,
		hasTwice,
	},
	{
		"two forms that do not say the same", "a schema does not compare fields", false,
		"pool", `{"id":"a","name":"A","provider":"kimi","connectionIds":["c"],"connectionId":"d"}`,
		func(doc any) bool {
			o, _ := doc.(object)
			a, b, c := idsOf(o["connections"]), idsOf(o["connectionIds"]), idsOf(o["connectionId"])
			return a != "" && b != "" && a != b || c != "" && (a != "" && a != c || b != "" && b != c)
		},
	},
	{
		"the names and lengths of headers", "a name has to be an id, and texts of a list are measured in bytes", false,
		"saturation", `{"connectionId":"c","headers":{"":"b"}}`,
		func(doc any) bool {
			return slices.ContainsFunc(bodies(doc), func(o object) bool { return oddHeaders(o["headers"]) })
		},
	},
	{
		"null among what is counted", "null is absent to a decoder, and a field to a schema", true,
		"saturation", `{"connectionId":"c","headers":{` + many(`"h%":"v",`, 200) + `"n":null}}`,
		func(doc any) bool {
			return slices.ContainsFunc(bodies(doc), func(o object) bool { h, _ := o["headers"].(object); return len(h) > 200 })
		},
	},
	{
		"what is in base64", "a schema does not read it", false,
		"cloudEvent", `{"specversion":"1.0","type":"quota.release","source":"/g","id":"e","data_base64":"e30="}`,
		func(doc any) bool {
			o, _ := doc.(object)
			text, _ := o["data_base64"].(string)
			data, err := base64.StdEncoding.DecodeString(text)
			kind, _ := o["type"].(string)
			return o["data"] == nil && text != "" && (err != nil || event(kind)(data) != nil)
		},
	},
	{
		"fields that mean nothing where they are", "a status beside readings, a content type or base64 beside data, and within data an id, " +
			"a version, and a time when the envelope has one, are not looked at", true,
		"saturation", `{"connectionId":"c","readings":[],"status":"x"}`,
		meansNothing,
	},
	{
		"envelopes of what deciders and operators write", "they are read as those of others are, and nobody is to write them", true,
		"due", `{"specversion":"1.0","type":"quota.due","source":"/g","id":"e","data":{}}`,
		func(doc any) bool {
			o, _ := doc.(object)
			kind, _ := o["type"].(string)
			return o["specversion"] != nil && slices.Contains([]string{"quota.hold", "quota.due", "quota.config.pool", "quota.config.plan", "quota.config.settings"}, kind)
		},
	},
}

// differencesOf lists those that the document has.
func differencesOf(doc any) (list []difference) {
	for _, d := range differences {
		if d.explains(doc) {
			list = append(list, d)
		}
	}
	return list
}

// TestDifferences: each of the list is there, as it says. One that is no more would
// explain away what others have done.
func TestDifferences(t *testing.T) {
	for _, d := range differences {
		said, read := schematest.Payload(d.message, []byte(d.example)), readerOf(t, d.message)([]byte(d.example))
		if (said != nil) != d.stricter || (read != nil) == d.stricter {
			t.Errorf("%s: %.200s\nthe decoder says: %v\nthe schema says: %v", d.name, d.example, read, said)
		}
		if !d.explains(parsed(t, d.example)) || d.why == "" {
			t.Errorf("%s does not explain its example", d.name)
		}
	}
}

// TestWhatIsNoValue is refused by decoders, and gets to no schema as it was sent.
func TestWhatIsNoValue(t *testing.T) {
	deep := strings.Repeat("[", 200)
	for _, doc := range []string{
		`{"id":"a","id":"b"}`, `{} {}`, "{\"id\":\"\xff\"}", `{"id":"\ud800"}`, `{"x":` + deep + strings.Repeat("]", 200) + `}`, "", `{`,
	} {
		if err := readerOf(t, "due")([]byte(doc)); err == nil {
			t.Errorf("%.60q is read", doc)
		}
	}
}

var (
	number    = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	instant   = regexp.MustCompile(`^([0-9]{12,15}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))$`)
	allDigits = regexp.MustCompile(`^[0-9]{12,15}$`)
)

func isNumber(s string) bool { return number.MatchString(s) }

// numeric are the fields that are numbers.
var numeric = strings.Fields("requests tokens usd percent usedPercent status leaseMs maxWaitMs minSeq score weight maxConcurrent reserve capValue value limit")

// idsOf lists the connections that a field of a pool names.
func idsOf(v any) (list string) {
	each(v, func(name string, v any) bool {
		if s, ok := v.(string); ok && (name == "" || name == "connectionId") {
			list += s + " "
		}
		return false
	})
	return list
}

// isInstant reports whether fields of that name are times.
func isInstant(name string) bool {
	return slices.Contains([]string{"time", "at", "resetAt", "createdAt"}, name)
}

// nearBound reports whether the number is beyond a bound of amounts, and by less than
// the largest step of one.
func nearBound(text string) bool {
	n, ok := new(big.Rat).SetString(text)
	for _, bound := range []int64{0, 1_000_000, -1_000_000, 1_000_000_000_000, -1_000_000_000_000} {
		off := new(big.Rat).Sub(n, big.NewRat(bound, 1))
		if ok && off.Sign() != 0 && off.Abs(off).Cmp(big.NewRat(1, 2000)) < 0 {
			return true
		}
	}
	return false
}

// hasTwice reports whether items of a list have the same name, or one object names that
// differ in case only.
func hasTwice(doc any) bool {
	return each(doc, func(_ string, v any) bool {
		seen := map[string]bool{}
		again := func(key string) bool {
			was := seen[key]
			seen[key] = true
			return was && key != ""
		}
		switch v := v.(type) {
		case object:
			for name := range v {
				if again(strings.ToLower(name)) {
					return true
				}
			}
		case []any:
			for _, item := range v {
				if again(identity(item)) {
					return true
				}
			}
		}
		return false
	})
}

// identity is what an item of a list may be but once.
func identity(item any) string {
	o, ok := item.(object)
	if s, isText := item.(string); !ok {
		if !isText {
			return ""
		}
		return s
	}
	var key []any
	for _, name := range []string{"connectionId", "apiKeyId", "model", "unit", "capUnit", "window"} {
		key = append(key, o[name])
	}
	text, _ := json.Marshal(key) // of strings and what else JSON gave
	return string(text)
}

func oddHeaders(v any) bool {
	o, _ := v.(object)
	for name, value := range o {
		list, _ := value.([]any)
		if quota.ValidateID(name) != nil || each(list, func(_ string, v any) bool { s, ok := v.(string); return ok && len(s) > 8192 && len([]rune(s)) <= 8192 }) {
			return true
		}
	}
	return false
}

func meansNothing(doc any) bool {
	return slices.ContainsFunc(bodies(doc), func(o object) bool {
		data, _ := o["data"].(object)
		return o["readings"] != nil && o["status"] != nil ||
			data != nil && (o["datacontenttype"] != nil || o["data_base64"] != nil || data["specversion"] != nil || data["id"] != nil || o["time"] != nil && data["time"] != nil)
	})
}

// bodies are the documents of a message, and those within envelopes.
func bodies(doc any) []object {
	list := objectsOf(doc)
	for _, o := range list {
		list = append(list, objectsOf(o["data"])...)
	}
	return list
}

// many repeats a text with % counted up.
func many(text string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "%", string(rune('a'+i%26))+strings.Repeat("x", i/26)))
	}
	return b.String()
}
