package gateway

import (
	"net/http"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/client"
	"github.com/quotashare/quotashare/dialect"
)

// apiOf returns the call that a request is, 0 for one that is none. The path goes on to
// a provider with a credential, so one that another server might read as another path
// is none.
func apiOf(r *http.Request) dialect.API {
	api, _ := dialect.Of(r.Method, r.URL.Path)
	if api != dialect.Models {
		return api
	}
	for part := range strings.SplitSeq(r.URL.Path[1:], "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsFunc(part, isOdd) {
			return 0
		}
	}
	return api
}

// isOdd reports what no model has in its name.
func isOdd(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-._:@+", c)
}

// voice is the API whose words a client understands, whatever it asked for, and
// whatever its base URL has done to that.
func voice(r *http.Request) dialect.API {
	path := r.URL.Path
	for strings.HasPrefix(path, "/v1/") {
		path = strings.TrimPrefix(path, "/v1")
	}
	path = "/v1" + path
	switch {
	case r.Header.Get("Anthropic-Version") != "", strings.HasPrefix(path, dialect.Messages.String()):
		return dialect.Messages
	case strings.HasPrefix(path, dialect.Responses.String()):
		return dialect.Responses
	}
	return dialect.Chat
}

// choose returns where a call may go, or why nowhere: the first connection that serves it
// and has its model, and the others of its provider that do. Others' are left out: that
// they have a model too may be no more than a configuration that says nothing of models.
func (g *Gateway) choose(api dialect.API, r *http.Request) (to []*connection, problem string) {
	if api == 0 {
		return nil, g.unknown(r)
	}
	serving := g.serving(api, r)
	if len(serving) == 0 {
		return nil, "No connection of this gateway serves " + api.String() + "."
	}
	model := ""
	if slices.ContainsFunc(serving, func(c *connection) bool { return len(c.Models) > 0 }) {
		model = modelOf(api, r)
	}
	for _, c := range serving {
		if c.takes(model) && (len(to) == 0 || c.Provider == to[0].Provider) {
			to = append(to, c)
		}
	}
	if len(to) == 0 {
		return nil, "No connection of this gateway has the model " + shown(model) + "."
	}
	return to, ""
}

// unknown says that there is no such call, what there is, and, when it is that, which
// of the two mistakes the client's base URL has that nearly all of them are.
func (g *Gateway) unknown(r *http.Request) string {
	text := "There is no " + shown(r.Method) + " " + shown(r.URL.Path) + " here"
	if api, ok := dialect.Of(r.Method, "/v1"+r.URL.Path); ok {
		text += ", but " + api.String() + ": the client's base URL lacks /v1"
	} else if api, ok := dialect.Of(r.Method, strings.TrimPrefix(r.URL.Path, "/v1")); ok {
		text += ", but " + api.String() + ": the client adds a /v1 that its base URL has already"
	}
	return text + ". This gateway serves " + g.served() + "; what another call uses could not be counted."
}

// served lists the calls that have a connection.
func (g *Gateway) served() string {
	var all []string
	for api := dialect.Chat; api <= dialect.CountTokens; api++ {
		if slices.ContainsFunc(g.connections, func(c *connection) bool { return c.serves[api] }) {
			all = append(all, "POST "+api.String())
		}
	}
	return strings.Join(append(all, "GET "+dialect.Models.String()), ", ")
}

// serving are the connections that serve a call, in the order of preference. Both
// providers list their models at one path, and each client understands only its own's
// list: so there those come first that speak as the client does.
func (g *Gateway) serving(api dialect.API, r *http.Request) []*connection {
	var all, others []*connection
	anthropic := voice(r) == dialect.Messages
	for _, c := range g.connections {
		switch {
		case !c.serves[api]:
		case api == dialect.Models && c.serves[dialect.Messages] != anthropic:
			others = append(others, c)
		default:
			all = append(all, c)
		}
	}
	return append(all, others...)
}

// modelOf returns the model that a call names, "" when it names none. A body that
// cannot be read names none either: who reads it next says what is wrong with it.
func modelOf(api dialect.API, r *http.Request) string {
	if api == dialect.Models {
		return strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, api.String()), "/")
	}
	facts, _ := client.Peek(r, api, 0)
	return facts.Model
}

// shown is a part of a request as a message may have it.
func shown(text string) string {
	const most = 100
	clean := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, text)
	if len(clean) > most {
		return clean[:most] + "…"
	}
	return clean
}
