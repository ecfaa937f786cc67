package gateway

import (
	"net/http"
	"strings"

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

// voice is the API whose words a client understands, whatever it asked for.
func voice(r *http.Request) dialect.API {
	path := r.URL.Path
	switch {
	case r.Header.Get("Anthropic-Version") != "", strings.HasPrefix(path, dialect.Messages.String()):
		return dialect.Messages
	case strings.HasPrefix(path, dialect.Responses.String()):
		return dialect.Responses
	}
	return dialect.Chat
}

// choose returns where a call goes, or why nowhere: the first connection that serves
// it and has its model.
func (g *Gateway) choose(api dialect.API, r *http.Request) (to *connection, problem string) {
	if api == 0 {
		return nil, "There is no " + r.Method + " " + shown(r.URL.Path) + " here, because what it uses could not be counted."
	}
	var serving []*connection
	for _, c := range g.connections {
		if c.serves[api] {
			serving = append(serving, c)
		}
	}
	if api == dialect.Models {
		return first(serving, r), ""
	}
	if len(serving) == 0 {
		return nil, "No connection of this gateway serves " + api.String() + "."
	}
	return serving[0], ""
}

// first is the connection that lists its models: the first that speaks as the client
// does, else the first.
func first(all []*connection, r *http.Request) *connection {
	anthropic := voice(r) == dialect.Messages
	for _, c := range all {
		if c.serves[dialect.Messages] == anthropic {
			return c
		}
	}
	return all[0]
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
