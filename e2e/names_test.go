package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// lookalikes are names that anything which joins, splits, escapes, folds or
// trims them takes for another.
var lookalikes = []string{
	"a", "A", "a:b", "a/b", "a%b", "a%2Fb", "a%252Fb", "a.b", "a b", " a", "a ", "a+b", "a*", "a>b", "a..b", "..", ".", "a,b", "a?b", "a#b", "a&b=c", `a"b`, `a\b`,
	"a:b:c", "a/b/c", "\u00e4", "a\u0308", "日本/鍵", "%", "a%", "a%3Ab", "usage", "*c",
}

// amount is what one key consumed on one connection: none is the sum of others.
func amount(connection, key int) int { return 1 + key + connection*1000 }

// Pools, connections, plans and keys share these names; whatever one of them
// says is its own.
func TestNamesThatLookAlikeNeverCollide(t *testing.T) {
	o := newOperator(t)
	for i, connection := range lookalikes {
		o.plan(connection, fmt.Sprint("tokens/daily ", 100_000+i))
		var events []object
		for j, key := range lookalikes {
			events = append(events, used(key, connection, "tokens", strconv.Itoa(amount(i, j)), soon()))
		}
		o.consume(events...)
		o.send("POST", apiPath("pools"), object{
			"id": connection, "name": "pool of " + connection, "provider": "custom", "connectionIds": []string{connection},
			"allocations": []object{{"apiKeyId": connection, "weight": 100}},
		})
	}
	for i, id := range lookalikes {
		o.mustBeItsOwn(i, id)
	}
	o.mustListAll("pools", "id")
	o.mustListAll("plans", "connectionId")
	o.mustListAll("connections", "connectionId")
	o.mustListAll("keys", "apiKeyId")
}

func (o operator) mustBeItsOwn(i int, id string) {
	o.t.Helper()
	var doc struct {
		Pool struct{ ID, Name string }
		Plan struct {
			ConnectionID, PoolID string
			Dimensions           []struct{ Limit json.Number }
		}
	}
	decode(o.t, o.mustCall("GET", apiPath("pools", id), ""), &doc)
	decode(o.t, o.mustCall("GET", apiPath("plans", id), ""), &doc)
	if doc.Pool.ID != id || doc.Pool.Name != "pool of "+id || doc.Plan.ConnectionID != id || doc.Plan.PoolID != id ||
		doc.Plan.Dimensions[0].Limit.String() != strconv.Itoa(100_000+i) {
		o.t.Errorf("%q is %+v", id, doc)
	}
	d := o.dimension(id)
	for j, key := range lookalikes {
		k := d.key(o.t, key)
		if own := k.Allocation != nil; k.Consumed.String() != strconv.Itoa(amount(i, j)) || own != (key == id) {
			o.t.Errorf("on %q key %q is %+v, want %d consumed, and an allocation only of its own name", id, key, k, amount(i, j))
		}
	}
	if n := len(d.PerKey); n != len(lookalikes) {
		o.t.Errorf("%q has %d keys, want %d", id, n, len(lookalikes))
	}
}

// mustListAll reads a list in pages.
func (o operator) mustListAll(list, field string) {
	o.t.Helper()
	var got []string
	for offset := 0; offset < len(lookalikes); offset += 10 {
		var doc map[string]any
		decode(o.t, o.mustCall("GET", fmt.Sprintf("/api/quota/%s?limit=10&offset=%d", list, offset), ""), &doc)
		if doc["total"] != float64(len(lookalikes)) {
			o.t.Errorf("%s: total %v, want %d", list, doc["total"], len(lookalikes))
		}
		for _, one := range doc[list].([]any) {
			got = append(got, one.(object)[field].(string))
		}
	}
	if want := slices.Sorted(slices.Values(lookalikes)); !slices.Equal(got, want) {
		o.t.Errorf("%s are %q, want %q", list, got, want)
	}
}

// Whoever creates a pool is told where it is.
func TestTheLocationOfANewPoolLeadsToIt(t *testing.T) {
	o := newOperator(t)
	for _, id := range lookalikes {
		doc := text(t, object{"id": id, "name": "pool of " + id, "provider": "custom", "connectionIds": []string{id}})
		r, err := http.NewRequestWithContext(deadline(t), "POST", o.http+apiPath("pools"), strings.NewReader(doc))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		var got struct{ Pool struct{ ID string } }
		decode(t, o.mustCall("GET", answer.Header.Get("Location"), ""), &got)
		if answer.StatusCode != 201 || got.Pool.ID != id {
			t.Errorf("%q: %d, at %s is %q", id, answer.StatusCode, answer.Header.Get("Location"), got.Pool.ID)
		}
	}
}

// A key that is renamed is another key: the old one's usage stays its own.
func TestARenamedKeyStartsAfresh(t *testing.T) {
	o := newOperator(t)
	o.plan("c:1", "tokens/daily 1000")
	total, before := 0, ""
	for i, name := range []string{"team:a", "team/a", "team%a", "team.a", "team%2Fa"} {
		if i == 0 {
			o.poolOf("p", []string{"c:1"}, name+" 100")
		} else {
			o.reallocate("p", name+" 100")
		}
		o.mustStand("p", fmt.Sprintf("tokens/daily %d of 1000; %s 0 of 1000%s", total, name, before))
		more := 10 * (i + 1) // the most used of those without an allocation comes first
		o.consume(used(name, "c:1", "tokens", strconv.Itoa(more), soon()))
		total, before = total+more, fmt.Sprintf("; %s %d of unknown%s", name, more, before)
	}
}
