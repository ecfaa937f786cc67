package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/tokens"
)

// caller is who sent a request.
type caller struct {
	role tokens.Role
	name string   // of the token; "" = it needed none
	keys []string // which tokens.Self is bound to

	// Both are nil when it is the same as long as the server runs.
	token  *tokens.Token
	tokens *tokens.File
}

var (
	nobody    = &caller{role: tokens.None}
	everybody = &caller{role: tokens.Admin} // where no token is asked for
)

// still reports whether the caller may go on with what goes on for long: the token was
// neither removed nor changed, and has not expired.
func (c *caller) still() bool { return c.token == nil || c.tokens.Still(c.token) }

// bound reports whether the caller has to do with some keys alone.
func (c *caller) bound() bool { return c.role == tokens.Self }

// owns reports whether the caller may ask about the key.
func (c *caller) owns(key string) bool { return !c.bound() || slices.Contains(c.keys, key) }

// notTheirs is the refusal of what is about the key of somebody else.
func (c *caller) notTheirs(key string) *fault {
	return forbidden("key-not-allowed", "apiKeyId: is "+quote(key)+", and this token is bound to "+quoteAll(c.keys))
}

// quoteAll shows names as quote does, the first few of many.
func quoteAll(names []string) string {
	const most = 5
	var quoted []string
	for _, n := range names[:min(most, len(names))] {
		quoted = append(quoted, quote(n))
	}
	if len(names) > most {
		quoted = append(quoted, "…")
	}
	return strings.Join(quoted, ", ")
}

type callerKey struct{}

func withCaller(r *http.Request, c *caller) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
}

// callerOf returns who sent the request: nobody, when nobody has looked.
func callerOf(r *http.Request) *caller {
	if c, ok := r.Context().Value(callerKey{}).(*caller); ok {
		return c
	}
	return nobody
}

// access is who may call a path: a set of roles.
type access uint8

func of(roles ...tokens.Role) (a access) {
	for _, r := range roles {
		a |= 1 << r
	}
	return a
}

// Who may call what. docs/format/http.md has the same table for people.
var (
	anyone     = of(tokens.None, tokens.Ingest, tokens.Read, tokens.Self, tokens.Admin)
	everyRole  = of(tokens.Ingest, tokens.Read, tokens.Self, tokens.Admin)
	admins     = of(tokens.Admin)
	viewers    = of(tokens.Read, tokens.Admin)
	publishers = of(tokens.Ingest, tokens.Admin)
	// What is released is an event too, and who holds gives back.
	releasers = of(tokens.Ingest, tokens.Self, tokens.Admin)
	askers    = of(tokens.Self, tokens.Admin)
	// Their handlers show tokens.Self what is its keys' alone.
	owners = of(tokens.Self, tokens.Read, tokens.Admin)
)

func (a access) has(r tokens.Role) bool { return a&(1<<r) != 0 }

// check returns why the caller is refused, or nil.
func (a access) check(c *caller) error {
	if a.has(c.role) {
		return nil
	}
	var may []string
	for _, r := range tokens.Roles() {
		if a.has(r) {
			may = append(may, r.String())
		}
	}
	return forbidden("role-not-allowed", "role: this needs the role "+strings.Join(may, " or ")+", and the token "+quote(c.name)+" has the role "+c.role.String())
}
