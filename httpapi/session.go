package httpapi

import (
	"encoding/base64"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/quotashare/quotashare/tokens"
	"github.com/quotashare/quotashare/wire"
)

const (
	sessionPath = "/api/quota/session"
	// sessionAge is how long a browser keeps a session: a working day, and a night.
	sessionAge = 24 * time.Hour
	// maxToken is what fits into a cookie, which browsers keep up to 4096 bytes of.
	maxToken = 2048
)

// cookieName is that of the server's port: browsers send a cookie to all ports of a
// host, and two engines of one machine would else end each other's sessions.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "quotashare-" + port
	}
	return "quotashare"
}

// sessionToken returns the token that the browser has. The cookie holds the token
// itself: so a session is good on every decider and after a restart, needs no memory
// here, and ends with its token.
func sessionToken(r *http.Request) (token string, sent bool) {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return "", false
	}
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	return string(text), err == nil
}

// cookie makes one that no script sees, that no other site's page makes a browser send,
// and that goes over TLS alone if the page did: its origin says so, also behind a proxy.
func cookie(r *http.Request, token string, age time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(r), Value: base64.RawURLEncoding.EncodeToString([]byte(token)), Path: "/",
		MaxAge: int(age.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://"),
	}
}

// getSession says who the caller is, and whether a token is needed. It works without
// one, and tells a page whether to ask.
func (a *api) getSession(w http.ResponseWriter, r *http.Request) error {
	a.writeSession(w, callerOf(r))
	return nil
}

// beginSession takes a token for a cookie.
func (a *api) beginSession(w http.ResponseWriter, r *http.Request) error {
	token, err := a.readToken(r)
	if err != nil {
		return err
	}
	if !a.guard.asks {
		a.writeSession(w, everybody)
		return nil
	}
	who, problem := a.guard.whose(token)
	if problem != "" {
		return unauthorized("token " + problem)
	}
	http.SetCookie(w, cookie(r, token, who.sessionAge(time.Now())))
	a.writeSession(w, who)
	return nil
}

// endSession makes the browser forget its token.
func (a *api) endSession(w http.ResponseWriter, r *http.Request) error {
	gone := cookie(r, "", 0)
	gone.MaxAge = -1
	http.SetCookie(w, gone)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// sessionAge is how long a browser is to keep the caller's token, no longer than it is
// good.
func (c *caller) sessionAge(now time.Time) time.Duration {
	if c.token == nil || c.token.ExpiresAt.IsZero() {
		return sessionAge
	}
	return min(sessionAge, max(time.Second, c.token.ExpiresAt.Sub(now)))
}

// readToken reads {"token": "…"}.
func (a *api) readToken(r *http.Request) (string, error) {
	doc, err := a.logins.readJSON(r)
	if err != nil {
		return "", err
	}
	var faults wire.Faults
	o, ok := wire.Read(doc, "", &faults)
	if !ok {
		return "", invalidFields(faults)
	}
	o.Only("token")
	// Blanks around it come along when it is pasted.
	token := strings.TrimSpace(o.NeedText("token", maxToken))
	if len(faults) > 0 {
		return "", invalidFields(faults)
	}
	return token, nil
}

// writeSession answers with who the caller is.
func (a *api) writeSession(w http.ResponseWriter, who *caller) {
	var doc wire.Writer
	doc.Object()
	doc.Name("needsToken")
	doc.Bool(who.role == tokens.None)
	if who.role != tokens.None {
		doc.Name("role")
		doc.String(who.role.String())
	}
	if who.name != "" {
		doc.Name("name")
		doc.String(who.name)
	}
	if who.bound() {
		doc.Name("keys")
		doc.Array()
		for _, id := range who.keys {
			doc.String(id)
		}
		doc.End()
	}
	if who.token != nil && !who.token.ExpiresAt.IsZero() {
		doc.Name("expiresAt")
		doc.Instant(who.token.ExpiresAt.UnixMilli())
	}
	a.appendTrouble(&doc, who)
	doc.End()
	writeJSON(w, http.StatusOK, &doc)
}

// appendTrouble tells those who can do something about it that the token file is not in
// force as it is.
func (a *api) appendTrouble(doc *wire.Writer, who *caller) {
	if a.guard.tokens == nil || who.role != tokens.Admin {
		return
	}
	if trouble, _ := a.guard.tokens.Trouble(); trouble != "" {
		doc.Name("problem")
		doc.String("the token file is of no use, the tokens of the last good one stay in force: " + trouble)
	}
}
