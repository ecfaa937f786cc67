package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// operator sets up a running engine over HTTP, and looks at how it stands.
type operator struct{ *process }

func newOperator(t *testing.T) operator {
	t.Helper()
	return operator{up(t, t.TempDir())}
}

// apiPath joins ids, which may have any characters, to a path of the API. What
// is only dots would be a step of the path.
func apiPath(ids ...string) string {
	var b strings.Builder
	b.WriteString("/api/quota")
	for _, id := range ids {
		b.WriteByte('/')
		if strings.Trim(id, ".") == "" {
			b.WriteString(strings.ReplaceAll(id, ".", "%2E"))
		} else {
			b.WriteString(url.PathEscape(id))
		}
	}
	return b.String()
}

// plan limits the connection; the dimensions are such as "usd/daily 66.67".
func (o operator) plan(connection string, dims ...string) {
	o.t.Helper()
	list := []object{}
	for _, text := range dims {
		name, limit, _ := strings.Cut(text, " ")
		unit, window, _ := strings.Cut(name, "/")
		list = append(list, object{"unit": unit, "window": window, "limit": json.Number(limit)})
	}
	o.send("PUT", apiPath("plans", connection), object{"dimensions": list})
}

// send sends a document and returns the answer of a call that has to succeed.
func (o operator) send(method, path string, doc any) string {
	o.t.Helper()
	return o.mustCall(method, path, text(o.t, doc))
}

// poolOf creates a pool of provider custom, whose id is its name. Allocations
// are such as "alice 50 soft"; the words after the key may be left out.
func (o operator) poolOf(id string, connections []string, allocations ...string) {
	o.t.Helper()
	o.send("POST", apiPath("pools"), object{
		"id": id, "name": id, "provider": "custom", "connectionIds": connections, "allocations": shares(o.t, allocations...),
	})
}

// reallocate replaces the pool's allocations.
func (o operator) reallocate(id string, allocations ...string) {
	o.t.Helper()
	o.send("PATCH", apiPath("pools", id), object{"allocations": shares(o.t, allocations...)})
}

func shares(t *testing.T, allocations ...string) []object {
	t.Helper()
	list := []object{}
	for _, text := range allocations {
		words := strings.Fields(text)
		a := object{"apiKeyId": words[0], "weight": json.Number(words[1])}
		if len(words) > 2 {
			a["policy"] = words[2]
		}
		list = append(list, a)
	}
	return list
}

// soon is the time of usage that windows shall show whole for the next minute:
// a counter that begins after now is read at its beginning, and one that ends
// within the minute is not what this time falls into.
func soon() int64 { return time.Now().Add(time.Minute).UnixMilli() }

// used is an event: the key consumed the amount on the connection at a time.
func used(key, connection, unit, amount string, at int64) object {
	cost := object{"requests": 0}
	cost[unit] = json.Number(amount)
	return object{"apiKeyId": key, "connectionId": connection, "cost": cost, "time": at}
}

// consume publishes the events and returns when they count.
func (o operator) consume(events ...object) {
	o.t.Helper()
	var doc struct {
		Results  []struct{ Seq uint64 }
		Rejected int
	}
	decode(o.t, o.send("POST", apiPath("events"), events), &doc)
	if doc.Rejected > 0 {
		o.t.Fatalf("%d events of %v are refused", doc.Rejected, events)
	}
	o.at(doc.Results[len(doc.Results)-1].Seq)
}

// ask asks for a decision about the connection. Without a time it is now.
func (o operator) ask(key, connection string, at ...int64) answer {
	o.t.Helper()
	q := object{"apiKeyId": key, "connectionId": connection, "explain": true}
	if len(at) > 0 {
		q["at"] = at[0]
	}
	a := parseAnswer(o.t, []byte(o.send("POST", apiPath("decide"), q)))
	if a.Error != nil || len(a.Degraded) > 0 {
		o.t.Fatalf("%v: %+v, degraded %v", q, a.Error, a.Degraded)
	}
	return a
}

// mustSay asks now, and compares decision and reason with "allow ok" and alike.
func (o operator) mustSay(key, connection, want string) {
	o.t.Helper()
	if a := o.ask(key, connection); a.Decision+" "+a.Reason != want {
		o.t.Errorf("%s on %s: %s %s, want %s", key, connection, a.Decision, a.Reason, want)
	}
}

// standing is what a usage snapshot says. Amounts are the text they came in, ""
// for null.
type standing struct {
	PoolID, GeneratedAt string
	Mode                string
	Enforcing           bool
	Dimensions          []standingDimension
	Keys                []struct {
		APIKeyID, Decision, Reason string
		Allocation                 *string
		RetryAt                    *string
	}
	UnlistedKeys int
}

type standingDimension struct {
	Unit, Window, Mode                          string
	Limit, ConsumedTotal, UsedPercent, Unlisted json.Number
	PerConnection                               []standingConnection
	PerKey                                      []standingKey
}

type standingConnection struct {
	ConnectionID         string
	Limit, ConsumedTotal json.Number
}

type standingKey struct {
	APIKeyID                                string
	Allocation                              *string
	Consumed, FairShare, Deficit, Remaining json.Number
	Borrowing                               bool
}

// usage returns the snapshot of the pool.
func (o operator) usage(pool string) standing {
	o.t.Helper()
	var doc struct{ Usage standing }
	decode(o.t, o.mustCall("GET", apiPath("pools", pool, "usage"), ""), &doc)
	if doc.Usage.PoolID != pool {
		o.t.Fatalf("the usage of pool %q is that of %q", pool, doc.Usage.PoolID)
	}
	return doc.Usage
}

// dimension returns the only dimension of the pool.
func (o operator) dimension(pool string) standingDimension {
	o.t.Helper()
	s := o.usage(pool)
	if len(s.Dimensions) != 1 {
		o.t.Fatalf("pool %s has %d dimensions, want 1: %+v", pool, len(s.Dimensions), s)
	}
	return s.Dimensions[0]
}

// key returns the row of a key.
func (d standingDimension) key(t *testing.T, id string) standingKey {
	t.Helper()
	for _, k := range d.PerKey {
		if k.APIKeyID == id {
			return k
		}
	}
	t.Fatalf("the usage has no key %q: %+v", id, d)
	return standingKey{}
}

// String is what most tests compare: the limit, what is used of it, and what
// each key consumed of its share.
func (d standingDimension) String() string {
	s := fmt.Sprintf("%s/%s %s of %s", d.Unit, d.Window, d.ConsumedTotal, known(d.Limit))
	for _, k := range d.PerKey {
		s += fmt.Sprintf("; %s %s of %s", k.APIKeyID, k.Consumed, known(k.FairShare))
	}
	return s
}

func known(n json.Number) string {
	if n == "" {
		return "unknown"
	}
	return n.String()
}

// mustStand compares the pool's only dimension with its text.
func (o operator) mustStand(pool, want string) {
	o.t.Helper()
	if got := o.dimension(pool).String(); got != want {
		o.t.Errorf("pool %s stands at\n  %s, want\n  %s", pool, got, want)
	}
}
