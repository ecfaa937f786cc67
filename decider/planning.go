package decider

import (
	"context"
	"slices"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
)

// Plans implements httpapi.Configuration.
func (e *Engine) Plans(offset, limit int) (list []plans.PlanView, total int) {
	p := e.current.Load()
	if p == nil {
		return nil, 0
	}
	return p.state.Plans(offset, limit)
}

// Plan implements httpapi.Configuration.
func (e *Engine) Plan(connectionID string) plans.PlanView {
	p := e.current.Load()
	if p == nil {
		return plans.PlanView{ConnectionID: connectionID}
	}
	return p.state.Plan(connectionID)
}

// PutPlan implements httpapi.Configuration.
func (e *Engine) PutPlan(ctx context.Context, connectionID string, dims []plans.Dimension, m httpapi.Meta) (plans.PlanView, error) {
	done, err := e.write(ctx, &configWrite{
		subject: events.ConfigPlan.Subject(connectionID), do: events.ConfigPut, meta: m, revision: planRevision(connectionID),
		body: func(p *projection) ([]byte, error) {
			now := p.state.Plan(connectionID).Plan
			if now.Source == plans.Manual && slices.Equal(now.Dimensions, dims) {
				return nil, nil
			}
			return plans.AppendPlanJSON(nil, connectionID, dims), nil
		},
	})
	if err != nil {
		return plans.PlanView{}, err
	}
	if !done.anything {
		return done.state.Plan(connectionID), nil
	}
	draft := projector.Draft{ConnectionID: connectionID, Plan: &plans.Plan{Dimensions: dims, Source: plans.Manual}}
	view := done.state.RegardPlan(&draft)
	if m.Trial != nil {
		e.try(done.projection, m.Trial, draft)
	} else {
		view.Stamp = done.stamp // somebody may have changed it since
	}
	return view, nil
}

func planRevision(connectionID string) func(*projection) uint64 {
	return func(p *projection) uint64 { return p.state.Plan(connectionID).Revision }
}

// DeletePlan implements httpapi.Configuration.
func (e *Engine) DeletePlan(ctx context.Context, connectionID string, m httpapi.Meta) error {
	done, err := e.remove(ctx, events.ConfigPlan.Subject(connectionID), m, planRevision(connectionID))
	if err == nil && m.Trial != nil {
		e.try(done.projection, m.Trial, projector.Draft{ConnectionID: connectionID})
	}
	return err
}
