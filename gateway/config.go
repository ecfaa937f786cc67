package gateway

import (
	"bytes"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quotashare/quotashare/wire"
)

// Config says where calls may go.
type Config struct {
	// Connections in the order of preference: the first that serves the path of a call
	// and has its model gets it.
	Connections []Connection
}

// Connection is an account at a provider.
type Connection struct {
	ID       string // as pools name it
	Provider string
	URL      string // what stands there for /v1 here, such as https://api.anthropic.com/v1
	// Serves are the paths; none means /v1/messages and /v1/messages/count_tokens of
	// Anthropic's providers, and all but these of the others. /v1/models is served always.
	Serves         []string
	Models         []string          // that it has, maybe with * at the end; none = all
	Auth           string            // AuthBearer or AuthAPIKey; "" = AuthAPIKey where it serves /v1/messages, else AuthBearer
	Credential     Secret            // or CredentialFile
	CredentialFile string            // is read anew when it changes
	Headers        map[string]string // of each request
	MaxOutput      int64             // tokens that are held at most for an answer; 0 = as the request says
}

// The headers that a credential is sent in.
const (
	AuthBearer = "bearer"    // Authorization: Bearer …
	AuthAPIKey = "x-api-key" // X-Api-Key: …
)

// Secret is text that shows itself to nobody who only prints it.
type Secret string

// hidden is what is seen of a secret.
const hidden = "[hidden]"

// String returns what may be seen.
func (s Secret) String() string { return hidden }

// GoString returns what may be seen.
func (s Secret) GoString() string { return hidden }

// MarshalText returns what may be seen.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue returns what may be seen.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// The bounds of a document.
const (
	maxConnections = 1000
	maxList        = 1000
	maxText        = 16 << 10 // characters, of a header's value or a credential
)

// ParseConfig reads a configuration as JSON, {"connections": […]} or the array alone.
// A credential ${NAME} is taken from getenv, and files of credentials are looked at. An
// error is wire.Faults with everything that is wrong, by field, or says where it is no
// JSON.
func ParseConfig(data []byte, getenv func(string) string) (Config, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}") // what is wrong is that it has no connections
	}
	doc, err := wire.ParseJSON(data)
	if err != nil {
		return Config{}, wire.Located(data, err)
	}
	if doc.Kind == wire.Array {
		doc = wire.Value{Kind: wire.Object, Fields: []wire.Field{{Name: "connections", Value: doc}}}
	}
	var faults wire.Faults
	r, ok := wire.Read(doc, "", &faults)
	if !ok {
		return Config{}, faults.Err()
	}
	r.Only("connections")
	items, _ := r.Array("connections", maxConnections)
	c := Config{Connections: make([]Connection, len(items))}
	for i, item := range items {
		if o, ok := wire.Read(item, r.ItemPath("connections", i), &faults); ok {
			c.Connections[i] = readConnection(o, getenv)
		}
	}
	_, more := c.build()
	return c, join(faults, more).Err()
}

func readConnection(o wire.Reader, getenv func(string) string) Connection {
	o.Only("id", "provider", "url", "serves", "models", "auth", "credential", "credentialFile", "headers", "maxOutput")
	c := Connection{
		ID: o.ID("id"), Provider: o.ID("provider"), URL: o.Text("url", maxText), Serves: texts(o, "serves"), Models: texts(o, "models"),
		Auth: o.Text("auth", maxText), CredentialFile: o.Text("credentialFile", maxText),
	}
	c.MaxOutput, _ = o.Int("maxOutput", 1, 1<<40)
	c.Credential = Secret(readSecret(o, "credential", getenv))
	if h, ok := o.Object("headers"); ok {
		c.Headers = map[string]string{}
		for _, name := range h.Names() {
			c.Headers[name] = readSecret(h, name, getenv)
		}
	}
	return c
}

// variable is a text that stands in the environment.
var variable = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// readSecret reads a text, or the variable that it names as ${NAME}.
func readSecret(o wire.Reader, field string, getenv func(string) string) string {
	text := o.Text(field, maxText)
	name := variable.FindStringSubmatch(text)
	if name == nil {
		return text
	}
	value := getenv(name[1])
	if value == "" {
		o.Fault(field, "is ${"+name[1]+"}, which the environment does not have: set it")
	}
	return value
}

func texts(o wire.Reader, name string) []string {
	items, _ := o.Array(name, maxList)
	var all []string
	for i, v := range items {
		switch {
		case v.Kind != wire.String:
			o.Fault(name+"["+strconv.Itoa(i)+"]", "is "+v.Kind.String()+", not a string")
		case v.Text == "":
			o.Fault(name+"["+strconv.Itoa(i)+"]", "is empty: name it or leave it out")
		}
		all = append(all, v.Text)
	}
	return all
}

// join adds to faults those of fields that have none yet: what could not be read is
// missing as well.
func join(faults, more wire.Faults) wire.Faults {
	read := len(faults)
	for _, f := range more {
		if !slices.ContainsFunc(faults[:read], func(known wire.Fault) bool {
			return f.Field == known.Field || strings.HasPrefix(f.Field, known.Field+".")
		}) {
			faults = append(faults, f)
		}
	}
	return faults
}
