package decider

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
)

// environment brings the settings that this program was told into the log,
// because the rules are part of the log: a replay must know them. A stored
// value stands. Of two programs that were told different values the one that
// started last wins, and both say so.
type environment struct {
	e    *Engine
	from string // this process, as other programs' log lines name it
	bell chan struct{}
}

func newEnvironment(e *Engine) *environment {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return &environment{e: e, from: fmt.Sprintf("%s, process %d", host, os.Getpid()), bell: make(chan struct{}, 1)}
}

// wake says that the configuration changed; it does not block.
func (v *environment) wake() {
	select {
	case v.bell <- struct{}{}:
	default:
	}
}

// environmentRetry is the wait after the log took no write.
const environmentRetry = time.Second

// run writes the settings once the state has caught up, and then watches that
// nobody else's environment replaces them.
func (v *environment) run(ctx context.Context, p *projection) error {
	select {
	case <-p.loop.CaughtUp():
	case <-ctx.Done():
		return ctx.Err()
	}
	for err := v.adopt(ctx); err != nil; err = v.adopt(ctx) {
		v.e.o.Log.Warn("cannot write the settings of the environment; trying again", "err", err)
		select {
		case <-time.After(environmentRetry):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	said := [plans.NumSettings]string{}
	for {
		v.watch(p.state.Settings(), &said)
		select {
		case <-v.bell:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// adopt writes what differs.
func (v *environment) adopt(ctx context.Context) error {
	w := configWrite{
		subject:  events.SettingsSubject,
		do:       events.ConfigPut,
		meta:     httpapi.Meta{Actor: v.from, Reason: "environment"},
		revision: func(*projection) uint64 { return 0 },
		body: func(p *projection) []byte {
			now := p.state.Settings()
			next, replaced, changed := now.Adopt(&v.e.o.Settings, v.from)
			if !changed {
				return nil
			}
			for _, s := range replaced {
				v.e.o.Log.Warn("another program's environment sets this differently; the last start wins",
					"setting", s, "ours", next[s].N, "theirs", now[s].N, "from", now[s].From)
			}
			return plans.AppendSettingsJSON(nil, &next)
		},
	}
	_, _, err := v.e.write(ctx, &w)
	return err
}

// watch says once when another environment has replaced a setting of ours.
func (v *environment) watch(now plans.Settings, said *[plans.NumSettings]string) {
	for s := range plans.Setting(plans.NumSettings) {
		mine := v.e.o.Settings[s]
		theirs := now[s].Origin == plans.Environment && mine.Origin == plans.Environment && now[s].N != mine.N
		if theirs && said[s] != now[s].From {
			v.e.o.Log.Warn("another program's environment has replaced this setting; the last start wins",
				"setting", s, "ours", mine.N, "theirs", now[s].N, "from", now[s].From)
			said[s] = now[s].From
		}
	}
}
