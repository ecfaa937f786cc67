package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/quotashare/quotashare/wire"
)

// Bounds of a page.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// query reads the parameters of a request and gathers all their faults.
type query struct {
	values url.Values
	faults wire.Faults
}

func newQuery(r *http.Request) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.faults.Add("query", "is no query string: "+err.Error())
	}
	return q
}

// one returns a parameter that may be there once.
func (q *query) one(name string) (value string, there bool) {
	values := q.values[name]
	if len(values) > 1 {
		q.faults.Add(name, "is given more than once: send it once")
	}
	if len(values) != 1 {
		return "", false
	}
	return values[0], true
}

// number reads a decimal in lo..hi; it is def when absent.
func (q *query) number(name string, def, lo, hi uint64) uint64 {
	text, there := q.one(name)
	if !there {
		return def
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < lo || n > hi {
		q.faults.Add(name, fmt.Sprintf("is %s: use a whole number from %d to %d", quote(text), lo, hi))
	}
	return n
}

// flag reads true or false; it is false when absent.
func (q *query) flag(name string) bool {
	text, there := q.one(name)
	if there && text != "true" && text != "false" {
		q.faults.Add(name, "is "+quote(text)+": use true or false")
	}
	return text == "true"
}

// only makes parameters of other names faults; what says whose parameters these
// are.
func (q *query) only(what string, names ...string) {
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if !slices.Contains(names, name) {
			q.faults.Add(wire.Show(name), "is no parameter of "+what+": use "+strings.Join(names, ", "))
		}
	}
}

// page reads limit and offset.
func (q *query) page() (offset, limit int) {
	limit = int(q.number("limit", defaultLimit, 1, maxLimit))
	return int(q.number("offset", 0, 0, 1<<31-1)), limit
}

// err returns all faults, or nil.
func (q *query) err() error {
	if len(q.faults) == 0 {
		return nil
	}
	return invalidFields(q.faults)
}
