package sim

import (
	"strconv"
	"strings"

	"github.com/quotashare/quotashare/quota"
)

// names are whom the world is about: few, so that they meet, and such that one
// joined to another looks like a third.
type names struct {
	keys, connections, models, scopes, pools []string
	next                                     int64
	asked                                    []asked // the newest requests
	given                                    map[asked]bool
}

// asked is a request that somebody asked for.
type asked struct{ key, request string }

func newNames() names {
	return names{
		keys:        []string{"a", "a:", "b", "ключ", "k/%2E x", "*"},
		connections: []string{"c1", "c1:", "c/2", "c 3"},
		models:      []string{"m", "Claude-Opus-5", "claude-haiku", ""},
		scopes:      []string{"opus", "claude"},
		pools:       []string{"p", "p:1", "пул"},
		given:       make(map[asked]bool),
	}
}

// id returns a name that nobody had.
func (n *names) id(prefix string) string {
	n.next++
	return prefix + strconv.FormatInt(n.next, 10)
}

// request names a request of a key. Names are unique for a key alone, and look
// like the end of another one's: "a" with ":7" is not "a:" with "7".
func (n *names) request(d dice, key string) string {
	id := n.id("")
	switch d.kind(60, 15, 25) {
	case 1:
		id = ":" + id
	case 2:
		if like := n.like(d, key, id); !n.given[asked{key, like}] {
			id = like
		}
	}
	n.given[asked{key, id}] = true
	n.asked = append(n.asked, asked{key, id})
	if len(n.asked) > 20 {
		n.asked = n.asked[1:]
	}
	return id
}

// like is the name of another key's request, or one that joined to the key reads as
// that one does; id when neither can be.
func (n *names) like(d dice, key, id string) string {
	if len(n.asked) == 0 {
		return id
	}
	last := pick(d, n.asked)
	if last.key == key {
		return id
	}
	if rest, ok := strings.CutPrefix(last.key+last.request, key); ok && rest != "" {
		return rest
	}
	return last.request
}

// points, tokens, requests and dollars are amounts from wholes.
func points(n int64) quota.Amount   { return quota.Amount(n * quota.Percent.Scale()) }
func tokens(n int64) quota.Amount   { return quota.Amount(n * quota.Tokens.Scale()) }
func requests(n int64) quota.Amount { return quota.Amount(n * quota.Requests.Scale()) }
func dollars(n int64) quota.Amount  { return quota.Amount(n * quota.USD.Scale()) }
