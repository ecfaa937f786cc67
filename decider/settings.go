package decider

import (
	"context"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
)

// Settings implements httpapi.Configuration.
func (e *Engine) Settings() httpapi.Settings {
	p := e.current.Load()
	if p == nil {
		return httpapi.Settings{Values: plans.DefaultSettings()}
	}
	values, at := p.state.SettingsAt()
	return httpapi.Settings{Values: values, Stamp: at}
}

// ChangeSettings implements httpapi.Configuration. Where a stored value is taken
// away, that of this program's environment takes its place.
func (e *Engine) ChangeSettings(ctx context.Context, change func(plans.Settings) (plans.Settings, error), m httpapi.Meta) (httpapi.Settings, error) {
	var next plans.Settings
	done, err := e.write(ctx, &configWrite{
		subject: events.SettingsSubject, do: events.ConfigPut, meta: m,
		revision: func(p *projection) uint64 {
			_, at := p.state.SettingsAt()
			return at.Revision
		},
		body: func(p *projection) (body []byte, err error) {
			now := p.state.Settings()
			if next, err = change(now); err != nil {
				return nil, err
			}
			next, _ = next.Fill(&e.o.Settings, e.from)
			if next == now {
				return nil, nil
			}
			return plans.AppendSettingsJSON(nil, &next), nil
		},
	})
	switch {
	case err != nil:
		return httpapi.Settings{}, err
	case m.Trial != nil:
		e.try(done.projection, m.Trial, projector.Draft{Settings: &next})
		_, done.stamp = done.state.SettingsAt()
	case done.stamp.Revision == 0:
		return e.Settings(), nil
	}
	return httpapi.Settings{Values: next, Stamp: done.stamp}, nil
}
