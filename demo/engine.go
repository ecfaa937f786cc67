package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// API sends one request to the HTTP API of the engine and returns the body of its
// answer. What the engine does not have is an error that is ErrNotFound; every other one
// is shown as it is.
type API func(ctx context.Context, method, path string, header http.Header, body []byte) ([]byte, error)

// ErrNotFound is the error of an API for what the engine does not have.
var ErrNotFound = errors.New("the engine does not have it")

// What a demo's documents are known by.
const (
	PoolID = "demo" // of the pool

	poolName = "Quotashare demo"
	prefix   = "demo-" // of its connections
	actor    = "quotashare demo"
	provider = "kimi" // which serves both of the APIs that are used here
)

const (
	poolPath  = "/api/quota/pools/" + PoolID
	plansPath = "/api/quota/plans/"
)

// pool is what is written and read of the pool.
type pool struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Provider    string       `json:"provider"`
	Connections []connection `json:"connections"`
	Allocations []allocation `json:"allocations"`
	Revision    uint64       `json:"revision,omitempty"`
}

type connection struct {
	ConnectionID string `json:"connectionId"`
}

type allocation struct {
	APIKeyID string `json:"apiKeyId"`
	Weight   int    `json:"weight"`
	Policy   string `json:"policy"`
}

// demos reports whether the pool is that of an earlier demo. Somebody may have changed it
// to try something; it is a demo's as long as it has the name and no other connections.
func (p *pool) demos() bool {
	for _, c := range p.Connections {
		if !strings.HasPrefix(c.ConnectionID, prefix) {
			return false
		}
	}
	return p.Name == poolName
}

// do asks the engine and reads its answer into a document.
func (call API) do(ctx context.Context, method, path string, header http.Header, body, into any) error {
	var data []byte
	if body != nil {
		data, _ = json.Marshal(body) // strings and numbers
		header.Set("Content-Type", "application/json")
	}
	answer, err := call(ctx, method, path, header, data)
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("the engine's answer to %s %s cannot be read: %w", method, path, err)
	}
	return nil
}

func (call API) get(ctx context.Context, path string, into any) error {
	return call.do(ctx, http.MethodGet, path, http.Header{}, nil, into)
}

// signed are the headers of a change.
func signed() http.Header {
	return http.Header{"X-Quota-Actor": {actor}, "X-Quota-Reason": {"a demo was started"}}
}

// prepare makes the pool, on a connection that nobody has used, with a plan of so many
// tokens an hour. It returns the sequence of the log from which on all is there.
func (call API) prepare(ctx context.Context, id string, tokens int64) (seq uint64, err error) {
	if err := call.clear(ctx); err != nil {
		return 0, err
	}
	doc := pool{ID: PoolID, Name: poolName, Provider: provider, Connections: []connection{{id}}}
	for _, h := range cast {
		doc.Allocations = append(doc.Allocations, allocation{h.key, h.weight, h.policy})
	}
	if err := call.do(ctx, http.MethodPost, "/api/quota/pools", signed(), doc, nil); err != nil {
		return 0, err
	}
	// Requests are limited too, because what the plan has is what the engine shows, and so
	// far above what is asked for that the tokens decide.
	plan := map[string]any{"dimensions": []any{
		map[string]any{"unit": "tokens", "window": "hourly", "limit": tokens},
		map[string]any{"unit": "requests", "window": "hourly", "limit": 100 * tokens},
	}}
	var made struct{ Plan struct{ Revision uint64 } }
	err = call.do(ctx, http.MethodPut, plansPath+url.PathEscape(id), signed(), plan, &made)
	return made.Plan.Revision, err
}

// clear removes what an earlier demo has left. What it consumed stays counted on its
// connection, which nobody asks about any more.
func (call API) clear(ctx context.Context) error {
	var old struct{ Pool pool }
	err := call.get(ctx, poolPath, &old)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case !old.Pool.demos():
		return fmt.Errorf("the pool %s, named %q, is none of a demo, which would put its own in its place: "+
			"export it and give it another id, or delete it if nobody needs it", PoolID, old.Pool.Name)
	}
	header := signed()
	header.Set("If-Match", `"`+strconv.FormatUint(old.Pool.Revision, 10)+`"`)
	if err := call.do(ctx, http.MethodDelete, poolPath, header, nil, nil); err != nil {
		return err
	}
	for _, c := range old.Pool.Connections {
		err := call.do(ctx, http.MethodDelete, plansPath+url.PathEscape(c.ConnectionID), signed(), nil, nil)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// settle waits until the engine has folded everything that its log has now.
func (call API) settle(ctx context.Context) error {
	var state struct{ LastSeq uint64 }
	if err := call.get(ctx, "/api/quota/state", &state); err != nil {
		return err
	}
	return call.get(ctx, "/api/quota/state?minSeq="+strconv.FormatUint(state.LastSeq, 10), &state)
}
