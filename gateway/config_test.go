package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/dialect"
	"github.com/quotashare/quotashare/wire"
)

// environment has what the configurations of these tests name.
func environment(name string) string {
	return map[string]string{"A_KEY": "sk-a", "AZURE": "azure-key", "TWO_LINES": "sk-a\nsk-b"}[name]
}

func TestEverythingWrongIsSaidAtOnce(t *testing.T) {
	const doc = `{"conections": [], "connections": [
		{"id": "", "provider": "anthropic", "url": "ftp://x/v1", "credential": "${NO_SUCH}", "serves": ["/v1/messages", "/v1/batches", 7]},
		{"id": "b", "url": "https://user:secret@x/v1", "auth": "basic", "models": ["*-mini", ""], "maxOutput": 0, "weight": 1},
		{"id": "b", "provider": "openai", "url": "https://x/v1?key=1", "credential": "a b", "credentialFile": "/no/such/file",
		 "headers": {"X-Api-Key": "k", "Bad Name": "v", "X-Line": "a\nb", "quota-x": "", "X-Env": "${NO_SUCH}"}},
		"https://x/v1",
		{"id": 5, "provider": "openai", "url": "https://x/v1", "credentialFile": "/no/such/file"},
		{"id": "f", "provider": "openai", "url": "https://x/v1", "credential": "${TWO_LINES}"},
		{"id": "g", "provider": "openai", "url": "https://x/v1", "credential": "Bearer ${A_KEY}"},
		{"provider": "openai", "url": "https://x/v1", "credential": "sk"}
	]}`
	want := strings.TrimPrefix(`
conections is unknown: use connections
connections[0].credential is ${NO_SUCH}, which the environment does not have: set it
connections[0].id is empty
connections[0].serves[1] is "/v1/batches", which is not known: use some of /v1/chat/completions, /v1/embeddings, /v1/messages, /v1/messages/count_tokens, /v1/models, /v1/responses
connections[0].serves[2] is a number, not a string
connections[0].url is no http or https URL: use one such as https://api.openai.com/v1
connections[1].auth is "basic": use x-api-key or bearer
connections[1].credential is missing: use ${NAME} for a variable of the environment, or credentialFile
connections[1].maxOutput is not within 1 to 1099511627776
connections[1].models[0] has a * that is not its end: name one model, or how several begin, as claude-*
connections[1].models[1] is empty: name it or leave it out
connections[1].provider is missing: name it as pools and plans do
connections[1].url has a name or a password: put it into credential
connections[1].weight is unknown: use id, provider, url, serves, models, auth, credential, credentialFile, headers, maxOutput
connections[2].credential is there beside credentialFile: leave one of them out
connections[2].headers.Bad Name is no name of a header
connections[2].headers.X-Api-Key is not to be set here: it is the gateway's own
connections[2].headers.X-Env is ${NO_SUCH}, which the environment does not have: set it
connections[2].headers.X-Line has a control character
connections[2].headers.quota-x is not to be set here: it is the gateway's own
connections[2].id is that of connections[1] too: give each its own
connections[2].url has a ? or a #: name the path alone
connections[3] is a string, not an object
connections[4].credentialFile open /no/such/file: no such file or directory
connections[4].id is a number, not a string
connections[5].credential has a blank, a control character or a ${ within: it is a token, or ${NAME} and nothing else
connections[6].credential has a blank, a control character or a ${ within: it is a token, or ${NAME} and nothing else
connections[7].id is missing: name it as pools and plans do
`, "\n")
	_, err := ParseConfig([]byte(doc), environment)
	var faults wire.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("the error is %v", err)
	}
	var got []string
	for _, f := range faults {
		got = append(got, f.Error()+"\n")
	}
	if diff := cmp.Diff(want, strings.Join(sorted(got), "")); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	for _, secret := range []string{"secret", "sk-a", "sk-b"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the faults have %q in them", secret)
		}
	}
}

func TestConfigurationsThatAreNone(t *testing.T) {
	for doc, want := range map[string]string{
		"{\n  x":              "line 2, column 3: not well formed: invalid character 'x'",
		"":                    "connections has none: name at least one, with id, provider, url and credential",
		" \n":                 "connections has none: name at least one, with id, provider, url and credential",
		`7`:                   "the document is a number, not an object",
		`{}`:                  "connections has none: name at least one, with id, provider, url and credential",
		`[]`:                  "connections has none: name at least one, with id, provider, url and credential",
		`{"connections": {}}`: "connections is an object, not an array",
	} {
		if _, err := ParseConfig([]byte(doc), environment); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", doc, err, want)
		}
	}
}

// TestAProviderThatIsMisspelt is told of and works: who has one that we do not know
// writes plans of his own.
func TestAProviderThatIsMisspelt(t *testing.T) {
	c := upstream(t, func(http.ResponseWriter, *http.Request) {})
	c.Provider = "kimmi"
	known := c
	known.ID, known.Provider = "known", "zai" // an alias
	s := start(t, nowhere, known, c)
	const want = "the catalogue has no such provider; if it is misspelt, put it right, else give the connection a plan, or nothing limits it\" connection=c provider=kimmi"
	if said := s.said.String(); !strings.Contains(said, want) || strings.Count(said, "no such provider") != 1 || !strings.Contains(said, "kimi, ") {
		t.Errorf("the log has\n%s", said)
	}
	if status, _ := s.send("POST", "/v1/chat/completions", "{}"); status != 200 {
		t.Errorf("answered %d", status)
	}
}

func TestDefaultsOfAConnection(t *testing.T) {
	const doc = `[
		{"id": "a", "provider": "anthropic", "url": "https://a/v1", "credential": "${A_KEY}"},
		{"id": "b", "provider": "claude", "url": "https://a/v1", "credential": "literal", "auth": "bearer"},
		{"id": "c", "provider": "kimi", "url": "https://a/v1/", "credential": "${A_KEY}", "headers": {"api-key": "${AZURE}"}, "maxOutput": 4096},
		{"id": "d", "provider": "kimi", "url": "https://a", "credential": "${A_KEY}", "serves": ["/v1/messages", "/v1/chat/completions"], "models": ["kimi-*"]}
	]`
	c, err := ParseConfig([]byte(doc), environment)
	must(t, err)
	all, faults := c.build()
	must(t, faults.Err())
	for i, want := range []string{
		"a x-api-key sk-a https://a/v1 [/v1/messages /v1/messages/count_tokens /v1/models] 0 map[]",
		"b bearer literal https://a/v1 [/v1/messages /v1/messages/count_tokens /v1/models] 0 map[]",
		"c bearer sk-a https://a/v1 [/v1/chat/completions /v1/responses /v1/embeddings /v1/models] 4096 map[Api-Key:[azure-key]]",
		"d x-api-key sk-a https://a [/v1/chat/completions /v1/messages /v1/models] 0 map[]",
	} {
		c := all[i]
		var serves []string
		for api := dialect.Chat; api <= dialect.Models; api++ {
			if c.serves[api] {
				serves = append(serves, api.String())
			}
		}
		if got := fmt.Sprint(c.ID, " ", c.Auth, " ", c.secret.now(), " ", c.base, " ", serves, " ", c.MaxOutput, " ", c.header); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

// TestASecretShowsItselfToNobody: a Config that somebody prints or logs is printed
// without them.
func TestASecretShowsItselfToNobody(t *testing.T) {
	c := Config{Connections: []Connection{{Credential: credential}}}
	var log lines
	log.logger().Info("x", "config", c, "credential", c.Connections[0].Credential)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "config", c)
	js, err := json.Marshal(c)
	must(t, err)
	all := fmt.Sprintf("%v %+v %#v %s %q %s %s", c, c, c, c.Connections[0].Credential, c.Connections[0].Credential, js, log.String())
	if strings.Contains(all, credential) || !strings.Contains(all, hidden) {
		t.Errorf("printed %s", all)
	}
}

// TestACredentialIsReadAgain: one that is renewed is used, and while there is none the
// last one is.
func TestACredentialIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "credential")
	write := func(text string) { must(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("  first\n")
	c := Config{Connections: []Connection{{ID: "c", Provider: "openai", URL: "https://a/v1", CredentialFile: path}}}
	all, faults := c.build()
	must(t, faults.Err())
	var said []string
	s := all[0].secret
	s.said = func(id string, err error) { said = append(said, id+" "+err.Error()) }
	is := func(want string) {
		t.Helper()
		s.read = s.read.Add(-secretAge)
		if got := s.now(); got != want {
			t.Errorf("the credential is %q, want %q", got, want)
		}
	}
	is("first")
	write("second")
	if got := s.now(); got != "first" { // it was read less than a second ago
		t.Errorf("the credential is %q at once", got)
	}
	is("second")
	write("")
	is("second")
	is("second")
	write("third\nfourth")
	is("second")
	must(t, os.Remove(path))
	is("second")
	write("fifth")
	is("fifth")
	must(t, os.Remove(path))
	is("fifth")
	want := []string{
		"c has nothing in it: write the credential there",
		"c has a blank, a control character or a ${ within: it is a token, or ${NAME} and nothing else",
		"c open " + path + ": no such file or directory",
		"c open " + path + ": no such file or directory",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
}

func sorted(all []string) []string {
	slices.Sort(all)
	return all
}
