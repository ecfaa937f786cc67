package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// shown is a pool's use as the engine shows it, on a connection demo-1.
const shown = `{"dimensions": [
 {"unit": "tokens", "limit": 7000, "strictAt": 3500, "mode": "strict", "consumedTotal": 4667.5, "heldTotal": 12,
  "perConnection": [{"connectionId": "demo-1"}], "perKey": [
   {"apiKeyId": "zoe", "consumed": 9, "fairShare": null},
   {"apiKeyId": "dan", "consumed": 0, "fairShare": 2800},
   {"apiKeyId": "cleo", "consumed": 1003, "fairShare": 700},
   {"apiKeyId": "bob", "consumed": 2898.5, "fairShare": 700},
   {"apiKeyId": "ada", "consumed": 460, "fairShare": 2800}]},
 {"unit": "requests", "limit": 700000, "strictAt": 350000, "mode": "generous", "consumedTotal": 49, "heldTotal": 1,
  "perConnection": [{"connectionId": "demo-1"}], "perKey": [
   {"apiKeyId": "ada", "consumed": 10}, {"apiKeyId": "bob", "consumed": 29},
   {"apiKeyId": "cleo", "consumed": 10}, {"apiKeyId": "dan", "consumed": 0}, {"apiKeyId": "zoe", "consumed": 3}]}],
 "keys": [
  {"apiKeyId": "ada", "decision": "allow", "reason": "ok", "retryAt": null},
  {"apiKeyId": "bob", "decision": "block", "reason": "fair-share", "retryAt": "2026-11-30T10:15:00.193Z"},
  {"apiKeyId": "cleo", "decision": "allow", "reason": "ok", "deprioritize": true, "retryAt": null},
  {"apiKeyId": "dan", "decision": "allow", "reason": "ok", "retryAt": null},
  {"apiKeyId": "zoe", "decision": "block", "reason": "global-saturated", "retryAt": null}]}`

// boardOf is the board of what the engine shows, after a change to its text.
func boardOf(t *testing.T, replace ...string) (*board, error) {
	t.Helper()
	var u usage
	must(t, json.Unmarshal([]byte(strings.NewReplacer(replace...).Replace(shown)), &u))
	return u.board("demo-1", map[string]int64{"bob": 71, "zoe": 2})
}

func drawn(t *testing.T, b *board) string {
	t.Helper()
	s := &screen{zone: time.UTC, length: 30 * time.Second}
	return strings.Join(s.lines(b, 12*time.Second), "\n")
}

func TestBoard(t *testing.T) {
	b, err := boardOf(t)
	must(t, err)
	want := `KEY   SERVED  BLOCKED  TOKENS  SHARE  STATE
ada   10      0        460     2800   served
bob   29      71       2898.5  700    blocked until 10:15:01
cleo  10      0        1003    700    served, deprioritized
dan   0       0        0       2800   not here yet

12s of 30s: 4667.5 of 7000 tokens used, shares are enforced from 3500 on`
	if got := drawn(t, b); got != want {
		t.Errorf("the board is\n%s\nwant\n%s", got, want)
	}
	if b.held != "12" {
		t.Errorf("held are %s", b.held)
	}
	seen := "bob is blocked until 10:15:01 (fair-share), and was refused 71 times; " +
		"cleo is above its share too, and goes behind the others; the rest is served: ada, dan"
	if got := b.seen(time.UTC); got != seen {
		t.Errorf("seen is\n%s\nwant\n%s", got, seen)
	}
}

func TestState(t *testing.T) {
	at := time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC)
	for _, tt := range []struct {
		row  row
		want string
	}{
		{row{served: "0"}, "not here yet"},
		{row{served: "1"}, "served"},
		{row{served: "1", behind: true}, "served, deprioritized"},
		{row{served: "0", block: "suspended"}, "blocked (suspended)"},
		{row{served: "1", block: "fair-share", free: at}, "blocked until 23:59:59"},
		{row{served: "1", block: "fair-share", free: at.Add(time.Millisecond)}, "blocked until 00:00:00"},
	} {
		if got := tt.row.state(time.UTC); got != tt.want {
			t.Errorf("%+v is %q, want %q", tt.row, got, tt.want)
		}
	}
}

func TestNobodyIsBlocked(t *testing.T) {
	b, err := boardOf(t, `"mode": "strict"`, `"mode": "generous"`, `"decision": "block"`, `"decision": "allow"`, `"deprioritize": true`, `"deprioritize": false`)
	must(t, err)
	if got, want := b.seen(time.UTC), "nobody is blocked: 4667.5 of 7000 tokens used, keys may borrow until 3500 are"; got != want {
		t.Errorf("seen is %q, want %q", got, want)
	}
}

// A pool on another connection, or on more of them, is somebody else's by now.
func TestBoardOfAnother(t *testing.T) {
	for _, connections := range []string{`{"connectionId": "demo-2"}`, `{"connectionId": "demo-1"}, {"connectionId": "demo-2"}`, ``} {
		if _, err := boardOf(t, `{"connectionId": "demo-1"}`, connections); !errors.Is(err, errTaken) {
			t.Errorf("on %s: %v, want that it was taken", connections, err)
		}
	}
}

func TestWhoseThePoolIs(t *testing.T) {
	for _, tt := range []struct {
		name        string
		connections []string
		want        bool
	}{
		{"Quotashare demo", []string{"demo-20261130-094402.490"}, true},
		{"Quotashare demo", nil, true},
		{"Quotashare demo", []string{"demo-1", "demo-2"}, true},
		{"Quotashare demo", []string{"demo-1", "kimi-1"}, false},
		{"Quotashare demo", []string{"demo"}, false},
		{"Our demo", []string{"demo-1"}, false},
	} {
		p := &pool{Name: tt.name}
		for _, id := range tt.connections {
			p.Connections = append(p.Connections, connection{id})
		}
		if got := p.demos(); got != tt.want {
			t.Errorf("%s: it is a demo's: %t", fmt.Sprint(tt), got)
		}
	}
}
