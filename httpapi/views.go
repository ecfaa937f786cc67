package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
	"github.com/quotashare/quotashare/wire"
)

// poolUsage shows how a pool stands now.
func (a *api) poolUsage(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	u, err := a.engine.Usage(r.Context(), id)
	if errors.Is(err, ErrNotFound) {
		return noPool(id)
	}
	if err != nil {
		return err
	}
	u, ok := callerOf(r).ownUsage(u)
	if !ok {
		return noPool(id)
	}
	doc := u.Append([]byte(`{"usage":`))
	writeBody(w, http.StatusOK, "application/json", append(doc, '}', '\n'))
	return nil
}

// poolHistory shows what a pool used by time.
func (a *api) poolHistory(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	ask := usage.Query{PoolID: r.PathValue("id"), From: q.instant("from"), To: q.instant("to"), StepMs: q.step("step"), Key: q.id("key")}
	if err := q.err(); err != nil {
		return err
	}
	if err := ask.Normalize(time.Now().UnixMilli()); err != nil {
		return err
	}
	h, err := a.engine.History(r.Context(), ask)
	if errors.Is(err, ErrNotFound) {
		return noPool(ask.PoolID)
	}
	if err != nil {
		return err
	}
	doc := h.Append([]byte(`{"history":`))
	writeBody(w, http.StatusOK, "application/json", append(doc, '}', '\n'))
	return nil
}

// listConnections lists every connection that was seen or named, so that an
// operator finds the misspelt one and the traffic that no pool has.
func (a *api) listConnections(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	offset, limit := q.page()
	in := q.membership()
	if err := q.err(); err != nil {
		return err
	}
	list := slices.DeleteFunc(a.engine.Connections(), func(c Connection) bool { return !in.has(c.PoolID) })
	writeList(w, "connections", list, offset, limit, (*Connection).append)
	return nil
}

func (c *Connection) append(doc *wire.Writer) {
	doc.Object()
	doc.Name("connectionId")
	doc.String(c.ConnectionID)
	doc.Name("provider")
	doc.String(c.Provider)
	doc.Name("poolId")
	appendID(doc, c.PoolID)
	doc.Name("source")
	doc.String(c.Source.String())
	doc.Name("lastEventAt")
	appendInstant(doc, c.LastEventAt)
	doc.Name("keys")
	doc.Int(int64(c.Keys))
	doc.End()
}

// listKeys lists every key that was seen or has an allocation.
func (a *api) listKeys(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	offset, limit := q.page()
	in := q.membership()
	if err := q.err(); err != nil {
		return err
	}
	list := slices.DeleteFunc(callerOf(r).ownKeys(a.engine.Keys()), func(k Key) bool { return !k.within(in) })
	writeList(w, "keys", list, offset, limit, (*Key).append)
	return nil
}

// within reports whether the key has to do with such a pool; with none, when it
// used a connection that is in none.
func (k *Key) within(in membership) bool {
	return k.Outside && in.has("") || slices.ContainsFunc(k.Pools, func(p KeyPool) bool { return in.has(p.PoolID) })
}

func (k *Key) append(doc *wire.Writer) {
	doc.Object()
	doc.Name("apiKeyId")
	doc.String(k.APIKeyID)
	doc.Name("lastEventAt")
	appendInstant(doc, k.LastEventAt)
	doc.Name("pools")
	doc.Array()
	for _, p := range k.Pools {
		doc.Object()
		doc.Name("poolId")
		doc.String(p.PoolID)
		doc.Name("allocation")
		appendID(doc, p.Allocation)
		doc.End()
	}
	doc.End()
	doc.Name("connections")
	doc.Int(int64(k.Connections))
	doc.Name("outside")
	doc.Bool(k.Outside)
	doc.End()
}

// writeList answers with a page of the list, under that name, and how long it is
// in all.
func writeList[T any](w http.ResponseWriter, name string, list []T, offset, limit int, item func(*T, *wire.Writer)) {
	var doc wire.Writer
	doc.Object()
	doc.Name(name)
	doc.Array()
	for _, one := range page(list, offset, limit) {
		item(&one, &doc)
	}
	doc.End()
	doc.Name("total")
	doc.Int(int64(len(list)))
	doc.End()
	writeJSON(w, http.StatusOK, &doc)
}

// page returns the part of the list that was asked for.
func page[T any](list []T, offset, limit int) []T {
	return list[min(offset, len(list)):min(offset+limit, len(list))]
}

func appendID(doc *wire.Writer, id string) {
	if id == "" {
		doc.Null()
		return
	}
	doc.String(id)
}

func appendInstant(doc *wire.Writer, ms int64) {
	if ms == 0 {
		doc.Null()
		return
	}
	doc.Instant(ms)
}

// membership says of what pools a list is wanted.
type membership struct {
	pool     string // its id; "" = whichever
	in, none bool   // in some pool, or in none
}

// has reports whether the pool, "" for none, is one of them.
func (m membership) has(pool string) bool {
	switch {
	case m.none:
		return pool == ""
	case m.in:
		return pool != ""
	}
	return m.pool == "" || pool == m.pool
}

// membership reads pool, an id, or pooled. A pool may be called none or true, so
// that one parameter cannot be for both.
func (q *query) membership() (m membership) {
	m.pool = q.id("pool")
	if _, there := q.values["pooled"]; there {
		m.in = q.flag("pooled")
		m.none = !m.in
		if m.pool != "" {
			q.faults.Add("pooled", "cannot be with pool: give one of the two")
		}
	}
	return m
}

// instant reads a time; 0 when absent.
func (q *query) instant(name string) int64 {
	text, there := q.one(name)
	if !there {
		return 0
	}
	ms, err := quota.ParseInstant(text)
	if err != nil {
		q.faults.Add(name, err.Error())
	}
	return ms
}

// step reads a length in milliseconds; 0 when absent.
func (q *query) step(name string) int64 {
	const most = 400 * 24 * 3_600_000
	return int64(q.number(name, 0, 60_000, most))
}

// id reads an id; "" when absent.
func (q *query) id(name string) string {
	text, there := q.one(name)
	if !there {
		return ""
	}
	if err := quota.ValidateID(text); err != nil {
		q.faults.Add(name, fmt.Sprintf("is %s: %v", quote(text), err))
	}
	return text
}
