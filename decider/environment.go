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
	bell chan struct{}
}

func newEnvironment(e *Engine) *environment {
	return &environment{e: e, bell: make(chan struct{}, 1)}
}

// thisProcess is what others' log lines and the settings call this program.
func thisProcess() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
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
	if err := v.insist(ctx, v.adopt); err != nil {
		return err
	}
	said := [plans.NumSettings]string{}
	for {
		v.watch(p.state.Settings(), &said)
		select {
		case <-v.bell:
		case <-ctx.Done():
			return ctx.Err()
		}
		// Somebody took a value away, through a program that was not told one.
		if err := v.insist(ctx, v.fill); err != nil {
			return err
		}
	}
}

// insist writes until the log takes it.
func (v *environment) insist(ctx context.Context, write func(context.Context) error) error {
	for {
		err := write(ctx)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		v.e.o.Log.Warn("cannot write the settings of the environment; trying again", "err", err)
		select {
		case <-time.After(environmentRetry):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fill writes the values of settings that have none.
func (v *environment) fill(ctx context.Context) error {
	now := v.e.Settings().Values
	if _, some := now.Fill(&v.e.o.Settings, v.e.from); !some {
		return nil
	}
	keep := func(s plans.Settings) (plans.Settings, error) { return s, nil }
	_, err := v.e.ChangeSettings(ctx, keep, httpapi.Meta{Actor: v.e.from, Reason: "environment"})
	return err
}

// adopt writes what differs.
func (v *environment) adopt(ctx context.Context) error {
	w := configWrite{
		subject:  events.SettingsSubject,
		do:       events.ConfigPut,
		meta:     httpapi.Meta{Actor: v.e.from, Reason: "environment"},
		revision: func(*projection) uint64 { return 0 },
		body: func(p *projection) ([]byte, error) {
			now := p.state.Settings()
			next, replaced, changed := now.Adopt(&v.e.o.Settings, v.e.from)
			if !changed {
				return nil, nil
			}
			for _, s := range replaced {
				v.e.o.Log.Warn("another program's environment sets this differently; the last start wins",
					"setting", s, "ours", shown(s, next[s].N), "theirs", shown(s, now[s].N), "from", now[s].From)
			}
			return plans.AppendSettingsJSON(nil, &next), nil
		},
	}
	_, err := v.e.write(ctx, &w)
	return err
}

// watch says once when another environment has replaced a setting of ours.
func (v *environment) watch(now plans.Settings, said *[plans.NumSettings]string) {
	for s := range plans.Setting(plans.NumSettings) {
		mine := v.e.o.Settings[s]
		theirs := now[s].Origin == plans.Environment && mine.Origin == plans.Environment && now[s].N != mine.N
		if theirs && said[s] != now[s].From {
			v.e.o.Log.Warn("another program's environment has replaced this setting; the last start wins",
				"setting", s, "ours", shown(s, mine.N), "theirs", shown(s, now[s].N), "from", now[s].From)
			said[s] = now[s].From
		}
	}
}

// shown is a value as people write it.
func shown(s plans.Setting, n int64) string { return string(s.AppendValue(nil, n)) }
