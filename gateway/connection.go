package gateway

import (
	"errors"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/quotashare/quotashare/dialect"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// connection is a Connection that is ready.
type connection struct {
	Connection
	base   *url.URL
	serves map[dialect.API]bool
	secret *secret
	header http.Header
}

// apis are the calls by their path, as Serves has them.
var apis = map[string]dialect.API{
	dialect.Chat.String(): dialect.Chat, dialect.Responses.String(): dialect.Responses, dialect.Embeddings.String(): dialect.Embeddings,
	dialect.Messages.String(): dialect.Messages, dialect.CountTokens.String(): dialect.CountTokens, dialect.Models.String(): dialect.Models,
}

// anthropics are the names in the catalogue of providers that speak Anthropic's API.
var anthropics = []string{"anthropic", "claude", "claude-code"}

// build makes the connections ready and says all that is wrong with them.
func (c *Config) build() ([]*connection, wire.Faults) {
	var faults wire.Faults
	if len(c.Connections) == 0 {
		faults.Add("connections", "has none: name at least one, with id, provider, url and credential")
	}
	all := make([]*connection, len(c.Connections))
	first := map[string]string{}
	for i, one := range c.Connections {
		b := builder{"connections[" + strconv.Itoa(i) + "].", &faults}
		all[i] = b.connection(one)
		if other, twice := first[one.ID]; twice && one.ID != "" {
			b.fault("id", "is that of "+other+" too: give each its own")
		} else {
			first[one.ID] = strings.TrimSuffix(b.path, ".")
		}
	}
	return all, faults
}

// builder checks one connection.
type builder struct {
	path   string
	faults *wire.Faults
}

func (b builder) fault(field, problem string) { b.faults.Add(b.path+field, problem) }

func (b builder) connection(one Connection) *connection {
	c := &connection{Connection: one}
	b.id("id", c.ID)
	b.id("provider", c.Provider)
	c.base = b.url(c.URL)
	c.serves = b.serves(c)
	b.auth(c)
	c.secret = b.secret(c)
	c.header = b.headers(c.Headers)
	for i, m := range c.Models {
		if n := strings.Count(m, "*"); n > 1 || n == 1 && !strings.HasSuffix(m, "*") {
			b.fault("models["+strconv.Itoa(i)+"]", "has a * that is not its end: name one model, or how several begin, as claude-*")
		}
	}
	if c.MaxOutput < 0 {
		b.fault("maxOutput", "is negative: leave it out for what each request says")
	}
	return c
}

func (b builder) id(field, text string) {
	switch err := quota.ValidateID(text); {
	case text == "":
		b.fault(field, "is missing: name it as pools and plans do")
	case err != nil:
		b.fault(field, err.Error())
	}
}

// url takes the base of a provider's API. Something secret in it would be in every
// error of a call.
func (b builder) url(text string) *url.URL {
	u, err := url.Parse(text)
	switch {
	case text == "":
		b.fault("url", "is missing: name what stands there for /v1 here, as https://api.openai.com/v1")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		b.fault("url", "is no http or https URL: use one such as https://api.openai.com/v1")
	case u.User != nil:
		b.fault("url", "has a name or a password: put it into credential")
	case u.RawQuery != "" || u.Fragment != "":
		b.fault("url", "has a ? or a #: name the path alone")
	default:
		u.RawPath = strings.TrimSuffix(u.EscapedPath(), "/")
		u.Path = strings.TrimSuffix(u.Path, "/")
	}
	return u
}

func (b builder) serves(c *connection) map[dialect.API]bool {
	served := map[dialect.API]bool{dialect.Models: true}
	for i, path := range c.Serves {
		api, ok := apis[path]
		if !ok {
			b.fault("serves["+strconv.Itoa(i)+"]", "is "+strconv.Quote(path)+", which is not known: use some of "+
				strings.Join(slices.Sorted(maps.Keys(apis)), ", "))
		}
		served[api] = true
	}
	switch {
	case len(c.Serves) > 0:
	case slices.Contains(anthropics, c.Provider):
		served[dialect.Messages], served[dialect.CountTokens] = true, true
	default:
		served[dialect.Chat], served[dialect.Responses], served[dialect.Embeddings] = true, true, true
	}
	return served
}

func (b builder) auth(c *connection) {
	switch {
	case c.Auth == "" && c.serves[dialect.Messages]:
		c.Auth = AuthAPIKey
	case c.Auth == "":
		c.Auth = AuthBearer
	case c.Auth != AuthBearer && c.Auth != AuthAPIKey:
		b.fault("auth", "is "+strconv.Quote(c.Auth)+": use "+AuthAPIKey+" or "+AuthBearer)
	}
}

func (b builder) secret(c *connection) *secret {
	s := &secret{value: string(c.Credential), path: c.CredentialFile, id: c.ID}
	field := "credential"
	var err error
	switch {
	case c.Credential != "" && c.CredentialFile != "":
		err = errors.New("is there beside credentialFile: leave one of them out")
	case c.Credential == "" && c.CredentialFile == "":
		err = errors.New("is missing: use ${NAME} for a variable of the environment, or credentialFile")
	case c.CredentialFile != "":
		field = "credentialFile"
		s.value, err = readFile(s.path)
	default:
		err = usable(s.value)
	}
	if err != nil {
		b.fault(field, err.Error())
	}
	return s
}

// reserved are headers that are not for a configuration to set.
var reserved = []string{
	"Accept-Encoding", "Authorization", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Cookie", "Expect", "Host",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "X-Api-Key",
}

func (b builder) headers(given map[string]string) http.Header {
	h := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !isToken(name):
			b.fault("headers."+wire.Show(name), "is no name of a header")
		case slices.Contains(reserved, canonical) || strings.HasPrefix(canonical, "Quota-"):
			b.fault("headers."+name, "is not to be set here: it is the gateway's own")
		case strings.ContainsFunc(given[name], isControl):
			b.fault("headers."+name, "has a control character")
		}
		h.Set(name, given[name])
	}
	return h
}

func isToken(name string) bool {
	for _, c := range name {
		if c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) {
			return false
		}
	}
	return name != ""
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// takes reports whether the connection has the model; "" is one that a call does not
// name.
func (c *connection) takes(model string) bool {
	if len(c.Models) == 0 || model == "" {
		return true
	}
	return slices.ContainsFunc(c.Models, func(m string) bool {
		start, open := strings.CutSuffix(m, "*")
		return m == model || open && strings.HasPrefix(model, start)
	})
}

// point makes a call one of the connection's, and returns the credential it has.
func (c *connection) point(out *http.Request) (credential string) {
	out.URL, out.Host = c.target(out.URL), ""
	credential = c.secret.now()
	c.sign(out.Header, credential)
	return credential
}

// target is where a call goes whose URL here is u.
func (c *connection) target(u *url.URL) *url.URL {
	out := *c.base
	out.Path += strings.TrimPrefix(u.Path, "/v1")
	out.RawPath += strings.TrimPrefix(u.EscapedPath(), "/v1")
	out.RawQuery = u.RawQuery
	return &out
}

// sign puts on what the connection's requests have, its credential last.
func (c *connection) sign(h http.Header, credential string) {
	for name, values := range c.header {
		if strings.HasSuffix(name, "-Beta") { // a list, of which a client has its own part
			values = append(slices.Clone(h[name]), values...)
		}
		h[name] = values
	}
	if c.Auth == AuthBearer {
		h.Set("Authorization", "Bearer "+credential)
		return
	}
	h.Set("X-Api-Key", credential)
}
