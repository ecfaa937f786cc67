package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// usage is what is read of the pool's use. Amounts are shown as the engine writes them.
type usage struct {
	Dimensions []struct {
		Unit, Mode                                string
		Limit, StrictAt, ConsumedTotal, HeldTotal json.Number
		PerConnection                             []connection
		PerKey                                    []struct {
			APIKeyID            string
			Consumed, FairShare json.Number
		}
	}
	Keys []struct {
		APIKeyID, Decision, Reason string
		Deprioritize               bool
		RetryAt                    time.Time
	}
}

// board is how everything stands at one instant.
type board struct {
	limit, strictAt, used json.Number // tokens
	held                  json.Number // tokens of requests in flight
	strict                bool        // shares are enforced
	rows                  []row       // in the order of the cast
}

// row is one key.
type row struct {
	key           string
	served        json.Number // requests
	blocked       int64       // requests
	tokens, share json.Number
	block         string    // the reason, "" when it is allowed
	free          time.Time // when it would be allowed again; zero = not by itself
	behind        bool      // it gives way to others
}

var errTaken = errors.New("the pool " + PoolID + " was changed or deleted while the demo used it: another demo may run")

// board asks the engine how everything stands.
func (call API) board(ctx context.Context, id string) (*board, error) {
	var doc struct{ Usage usage }
	err := call.get(ctx, poolPath+"/usage", &doc)
	if errors.Is(err, ErrNotFound) {
		return nil, errTaken
	}
	if err != nil {
		return nil, err
	}
	blocked, err := call.blocked(ctx, id)
	if err != nil {
		return nil, err
	}
	return doc.Usage.board(id, blocked)
}

// blocked counts the requests of each key that the engine has blocked. Its log has every
// block; equal ones of a second are one row.
func (call API) blocked(ctx context.Context, id string) (map[string]int64, error) {
	q := url.Values{"connectionId": {id}, "decision": {"block"}, "limit": {"1000"}}
	counts := map[string]int64{}
	for {
		var page struct {
			Decisions []struct {
				Count    int64
				Question struct{ APIKeyID string }
			}
			Next string
		}
		if err := call.get(ctx, "/api/quota/decisions?"+q.Encode(), &page); err != nil {
			return nil, err
		}
		for _, d := range page.Decisions {
			counts[d.Question.APIKeyID] += d.Count
		}
		if page.Next == "" {
			return counts, nil
		}
		q.Set("before", page.Next)
	}
}

// board puts together what is shown of each key.
func (u *usage) board(id string, blocked map[string]int64) (*board, error) {
	b := &board{}
	for _, h := range cast {
		b.rows = append(b.rows, row{key: h.key, blocked: blocked[h.key]})
	}
	for i := range u.Dimensions {
		d := &u.Dimensions[i]
		if len(d.PerConnection) != 1 || d.PerConnection[0].ConnectionID != id {
			return nil, errTaken
		}
		if d.Unit == "tokens" {
			b.limit, b.strictAt, b.used, b.held, b.strict = d.Limit, d.StrictAt, d.ConsumedTotal, d.HeldTotal, d.Mode == "strict"
		}
		for _, k := range d.PerKey {
			switch r := b.row(k.APIKeyID); {
			case r == nil:
			case d.Unit == "tokens":
				r.tokens, r.share = k.Consumed, k.FairShare
			case d.Unit == "requests":
				r.served = k.Consumed
			}
		}
	}
	for _, k := range u.Keys {
		if r := b.row(k.APIKeyID); r != nil && k.Decision == "block" {
			r.block, r.free = k.Reason, k.RetryAt
		} else if r != nil {
			r.behind = k.Deprioritize
		}
	}
	return b, nil
}

func (b *board) row(key string) *row {
	for i := range b.rows {
		if b.rows[i].key == key {
			return &b.rows[i]
		}
	}
	return nil
}

// state is what a request of the key would come to now. A time is rounded up to seconds:
// who comes back at it is let in.
func (r *row) state(zone *time.Location) string {
	switch {
	case r.block != "" && r.free.IsZero():
		return "blocked (" + r.block + ")"
	case r.block != "":
		return "blocked until " + r.free.Add(time.Second-1).In(zone).Format(time.TimeOnly)
	case r.behind:
		return "served, deprioritized"
	case r.served == "0":
		return "not here yet"
	}
	return "served"
}

// line says how the account stands.
func (b *board) line() string {
	if b.strict {
		return fmt.Sprintf("%s of %s tokens used, shares are enforced from %s on", b.used, b.limit, b.strictAt)
	}
	return fmt.Sprintf("%s of %s tokens used, keys may borrow until %s are", b.used, b.limit, b.strictAt)
}

// seen is what the board shows, in words.
func (b *board) seen(zone *time.Location) string {
	var served, all []string
	for _, r := range b.rows {
		switch {
		case r.block != "":
			all = append(all, fmt.Sprintf("%s is %s (%s), and was refused %d times", r.key, r.state(zone), r.block, r.blocked))
		case r.behind:
			all = append(all, r.key+" is above its share too, and goes behind the others")
		default:
			served = append(served, r.key)
		}
	}
	if len(all) == 0 {
		return "nobody is blocked: " + b.line()
	}
	if len(served) > 0 {
		all = append(all, "the rest is served: "+strings.Join(served, ", "))
	}
	return strings.Join(all, "; ")
}
