package decider

import (
	"context"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/usage"
)

// Reach implements httpapi.Views.
func (e *Engine) Reach(ctx context.Context, doc *plans.Pool, offset, limit int) (*usage.Reach, error) {
	p := e.current.Load()
	if p == nil {
		return nil, e.without()
	}
	reach, err := p.state.Reach(ctx, doc, offset, limit)
	if err != nil {
		return nil, ended(err)
	}
	return reach, nil
}
