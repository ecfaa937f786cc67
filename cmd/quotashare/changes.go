package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os/user"
	"strconv"
	"strings"
	"unicode"

	"github.com/quotashare/quotashare/internal/program"
)

// Paths of the configuration.
const (
	poolsPath    = "/api/quota/pools"
	plansPath    = "/api/quota/plans"
	settingsPath = "/api/quota/settings"
)

// changer is who changes the configuration, and why: both go into the log with
// the change.
type changer struct {
	Actor  string `placeholder:"NAME" help:"Who makes the change (your user name)."`
	Reason string `placeholder:"TEXT" help:"Why."`
}

// editor writes configuration on behalf of a changer.
type editor struct {
	*client
	header http.Header
}

// editor checks what would break a header. What else is legal, the engine says.
func (ch *changer) editor(c *client, p program.Process) (*editor, error) {
	h := http.Header{"Content-Type": {"application/json"}}
	for _, f := range []struct{ flag, header, value string }{
		{"--actor", "X-Quota-Actor", cmp.Or(ch.Actor, userName(p))},
		{"--reason", "X-Quota-Reason", ch.Reason},
	} {
		if strings.ContainsFunc(f.value, unicode.IsControl) {
			return nil, fmt.Errorf("%s has a control character: write it in one line", f.flag)
		}
		if f.value != "" {
			h.Set(f.header, f.value)
		}
	}
	return &editor{c, h}, nil
}

// userName is who runs this process, "" when nobody can tell.
func userName(p program.Process) string {
	if name := cmp.Or(p.Getenv("USER"), p.Getenv("LOGNAME")); name != "" {
		return name
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// write sends a document, or a deletion. It is refused if the document is not
// the one with that revision any more; 0 = there must be none.
func (e *editor) write(ctx context.Context, method, path string, revision uint64, body []byte) ([]byte, error) {
	h := e.header.Clone()
	h.Set("If-Match", `"`+strconv.FormatUint(revision, 10)+`"`)
	return e.send(ctx, method, path, h, body)
}

// pathOf returns the path of a document. Of the characters that stand for
// themselves in a path only those two names have another meaning.
func pathOf(kind, id string) string {
	if id == "." || id == ".." {
		return kind + "/" + strings.ReplaceAll(id, ".", "%2E")
	}
	return kind + "/" + url.PathEscape(id)
}

// listing is all items of a list that the engine gives in pages.
type listing struct {
	items []json.RawMessage
	first []byte // the first page as it came
	pages int
	name  string                     // of the list
	rest  map[string]json.RawMessage // the fields of the first page
}

// perPage is how many items are asked for at once: each may be a large document.
const perPage = 200

// list asks for page after page of what the query leaves, which may be nil.
func (c *client) list(ctx context.Context, path, name string, query url.Values) (*listing, error) {
	l := &listing{name: name}
	for total := 1; len(l.items) < total; l.pages++ {
		q := url.Values{"limit": {strconv.Itoa(perPage)}, "offset": {strconv.Itoa(len(l.items))}}
		maps.Copy(q, query)
		data, err := c.get(ctx, path, q)
		if err != nil {
			return nil, err
		}
		var page map[string]json.RawMessage
		var items []json.RawMessage
		if err := readFields(data, &page); err != nil {
			return nil, err
		}
		if err := readFields(page[name], &items); err != nil {
			return nil, err
		}
		if err := readFields(page["total"], &total); err != nil {
			return nil, err
		}
		if l.pages == 0 {
			l.first, l.rest = data, page
		}
		if len(items) == 0 {
			break // others deleted some meanwhile
		}
		l.items = append(l.items, items...)
	}
	return l, nil
}

// json is the list as one answer: as it came, when it was one.
func (l *listing) json() []byte {
	if l.pages <= 1 {
		return l.first
	}
	doc := fmt.Appendf(nil, `{%q:[%s],"total":%d`, l.name, joined(l.items), len(l.items))
	if catalogue, there := l.rest["catalogue"]; there {
		doc = fmt.Appendf(doc, `,"catalogue":%s`, catalogue)
	}
	return append(doc, '}')
}

// joined are the items of an array, as they came.
func joined(items []json.RawMessage) string {
	parts := make([]string, len(items))
	for i, item := range items {
		parts[i] = string(item)
	}
	return strings.Join(parts, ",")
}

// readFields reads what the engine said.
func readFields(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("the engine's answer cannot be read: %w", err)
	}
	return nil
}
