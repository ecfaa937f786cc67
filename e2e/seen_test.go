package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// rows returns the ids of a list, each with the fields named.
func (o operator) rows(path, list string, fields ...string) string {
	o.t.Helper()
	var doc map[string]json.RawMessage
	decode(o.t, o.mustCall("GET", "/api/quota/"+path, ""), &doc)
	var rows []object
	decode(o.t, string(doc[list]), &rows)
	text := []string{}
	for _, row := range rows {
		words := []string{}
		for _, name := range fields {
			words = append(words, fmt.Sprint(row[name]))
		}
		text = append(text, strings.Join(words, " "))
	}
	return strings.Join(text, "; ")
}

// A key or a connection that is misspelt is one that no pool knows.
func TestWhatIsOutsideOfEveryPoolIsFound(t *testing.T) {
	o := newOperator(t)
	o.poolOf("team", []string{"acct-1", "idle"}, "alice 50", "ghost 50")
	o.consume(
		used("alice", "acct-1", "tokens", "1", soon()), used("alise", "acct-1", "tokens", "1", soon()),
		used("alice", "acct-l", "tokens", "1", soon()), used("bob", "acct-l", "tokens", "1", soon()),
	)
	for _, c := range []struct{ path, want string }{
		{"connections", "acct-1 team 2; acct-l <nil> 2; idle team 0"},
		{"connections?pooled=false", "acct-l <nil> 2"},
		{"connections?pool=team", "acct-1 team 2; idle team 0"},
	} {
		if got := o.rows(c.path, "connections", "connectionId", "poolId", "keys"); got != c.want {
			t.Errorf("%s: %s, want %s", c.path, got, c.want)
		}
	}
	for _, c := range []struct{ path, want string }{
		{"keys", "alice true 2; alise false 1; bob true 1; ghost false 0"},
		{"keys?pooled=false", "alice true 2; bob true 1"},
		{"keys?pool=team", "alice true 2; alise false 1; ghost false 0"},
	} {
		if got := o.rows(c.path, "keys", "apiKeyId", "outside", "connections"); got != c.want {
			t.Errorf("%s: %s, want %s", c.path, got, c.want)
		}
	}
}

// The history of the configuration has everything that anybody wrote, also what
// was refused at its place in the log.
func TestTheHistoryHasWhatWasRefusedAndWhy(t *testing.T) {
	o := newOperator(t)
	js := jetStream(t, brokertest.Connect(t, o.nats))
	o.poolOf("team", []string{"c"}, "alice 50")
	put(t, js, "quota.config.pool.thief", `{"id":"thief","name":"T","provider":"custom","connectionIds":["c"]}`)
	o.at(put(t, js, "quota.config.plan.c", `{"connectionId":"c","dimensions":7}`))
	o.mustCall("DELETE", apiPath("pools", "team"), "")
	var doc struct {
		Changes []struct {
			Seq              uint64
			Kind, ID, Change string
			Rejected         *struct{ Reason, Message string }
		}
	}
	decode(t, o.mustCall("GET", "/api/quota/changes", ""), &doc)
	got := []string{}
	for _, c := range doc.Changes {
		line := fmt.Sprintln(c.Seq, c.Kind, c.ID, c.Change)
		if c.Rejected != nil {
			line = fmt.Sprintln(c.Seq, c.Kind, c.ID, c.Change, c.Rejected.Reason, c.Rejected.Message)
		}
		got = append(got, line)
	}
	want := []string{"1 pool team put\n", "2 pool thief put config-invalid ", "3 plan c put config-invalid ", "4 pool team delete\n"}
	for i := range want {
		if len(got) != len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("the changes are %q, want %q", got, want)
		}
	}
	if !strings.Contains(got[1], "team") || !strings.Contains(got[2], "dimensions") {
		t.Errorf("the refusals do not name the other pool, and the field: %q", got)
	}
}
