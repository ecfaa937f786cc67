package decider

import (
	"context"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/usage"
)

// Usage implements httpapi.Views.
func (e *Engine) Usage(ctx context.Context, poolID string) (*usage.Snapshot, error) {
	p := e.current.Load()
	if p == nil {
		return nil, e.without()
	}
	clock := e.now()
	u, ok, err := p.loop.Usage(ctx, poolID, clock)
	if err != nil {
		return nil, ended(err)
	}
	if !ok {
		return nil, httpapi.ErrNotFound
	}
	u.AsOf.LagMs, _ = p.loop.Lag(clock)
	return u, nil
}

// History implements httpapi.Views.
func (e *Engine) History(ctx context.Context, q usage.Query) (*usage.History, error) {
	p := e.current.Load()
	if p == nil {
		return nil, e.without()
	}
	h, ok, err := p.loop.UsageHistory(ctx, q)
	if err != nil {
		return nil, ended(err)
	}
	if !ok {
		return nil, httpapi.ErrNotFound
	}
	return h, nil
}

// Connections implements httpapi.Views.
func (e *Engine) Connections() []httpapi.Connection {
	p := e.current.Load()
	if p == nil {
		return nil
	}
	list := p.state.Connections()
	out := make([]httpapi.Connection, len(list))
	for i, c := range list {
		out[i] = httpapi.Connection{
			ConnectionID: c.ID, Provider: c.Provider, PoolID: c.Pool, Source: c.Source, Keys: c.Keys, LastEventAt: c.LastEvent,
		}
	}
	return out
}

// Keys implements httpapi.Views.
func (e *Engine) Keys() []httpapi.Key {
	p := e.current.Load()
	if p == nil {
		return nil
	}
	list := p.state.Keys()
	out := make([]httpapi.Key, len(list))
	for i := range list {
		k := &list[i]
		out[i] = httpapi.Key{APIKeyID: k.ID, Connections: k.Connections, Outside: k.Outside, LastEventAt: k.LastEvent}
		for _, in := range k.Pools {
			out[i].Pools = append(out[i].Pools, httpapi.KeyPool{PoolID: in.Pool, Allocation: in.Allocation})
		}
	}
	return out
}
