package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/wire"
)

type settingsCmd struct {
	List   settingsListCmd   `cmd:"" default:"withargs" help:"List the settings, and where each has its value from."`
	Apply  settingsApplyCmd  `cmd:"" help:"Store the settings of a file: shows what is different, then writes it."`
	Export settingsExportCmd `cmd:"" help:"Print the stored settings as a file that apply reads."`
	Delete settingsDeleteCmd `cmd:"" help:"Give settings their defaults back."`
}

type settingsListCmd struct {
	JSON   bool `name:"json" help:"Print the answer as it came."`
	server `embed:"" group:"Configuration"`
}

func (l *settingsListCmd) run(ctx context.Context, p program.Process) error {
	c, err := l.client()
	if err != nil {
		return err
	}
	now, answer, err := c.settings(ctx)
	if err != nil {
		return err
	}
	if l.JSON {
		return show(p.Stdout, answer)
	}
	rows := [][]string{{"NAME", "VALUE", "SOURCE", "DEFAULT", "FROM"}}
	usual := plans.DefaultSettings()
	for name := range plans.Setting(plans.NumSettings) {
		v := now.Settings[name]
		rows = append(rows, []string{name.String(), value(name, v), v.Origin.String(), value(name, usual[name]), named(v.From)})
	}
	return table(p.Stdout, rows...)
}

func value(name plans.Setting, v plans.SettingValue) string {
	return string(name.AppendValue(nil, v.N))
}

type settingsExportCmd struct{ exporting }

func (x *settingsExportCmd) run(ctx context.Context, p program.Process) error {
	c, err := x.client()
	if err != nil {
		return err
	}
	now, _, err := c.settings(ctx)
	if err != nil {
		return err
	}
	stored := wire.Value{Kind: wire.Object}
	for name, v := range now.Settings {
		if v.Origin == plans.Stored {
			stored.Fields = append(stored.Fields, field(plans.Setting(name), v))
		}
	}
	return x.write(p.Stdout, configfile.Settings, stored)
}

// field is the setting in a body: its value, or null for none that is stored.
func field(name plans.Setting, v plans.SettingValue) wire.Field {
	f := wire.Field{Name: name.String(), Value: wire.Value{Kind: wire.Null}}
	if v.Origin == plans.Stored {
		f.Value = wire.Value{Kind: wire.Number, Text: value(name, v)}
	}
	return f
}

type settingsApplyCmd struct {
	applying `embed:""`
}

func (c *settingsApplyCmd) run(ctx context.Context, p program.Process) error {
	return c.applying.run(ctx, p, configfile.Settings, c.plan)
}

func (c *settingsApplyCmd) plan(ctx context.Context, e *editor, file *configfile.File) ([]step, error) {
	// First alone, so that a wrong file is found out without an engine.
	if _, err := file.Settings(plans.DefaultSettings(), false); err != nil {
		return nil, c.fault(err)
	}
	now, _, err := e.settings(ctx)
	if err != nil {
		return nil, err
	}
	next, err := file.Settings(now.Settings, c.Prune)
	if err != nil {
		return nil, c.fault(err)
	}
	return []step{putSettings(now, next)}, nil
}

// putSettings is one step, for all settings are one document. A value that only
// is stored from now on is a change: no environment overrules it any more.
func putSettings(now *settings, next plans.Settings) step {
	s := step{name: "settings", method: http.MethodPut, path: settingsPath, revision: now.revision}
	body := wire.Value{Kind: wire.Object}
	for i, v := range next {
		name, was := plans.Setting(i), now.Settings[i]
		if v.N == was.N && v.Origin == was.Origin {
			continue
		}
		s.verb = change
		s.diff = append(s.diff, fmt.Sprintf("%s: %s (%s) -> %s (%s)", name, value(name, was), was.Origin, value(name, v), v.Origin))
		body.Fields = append(body.Fields, field(name, v))
	}
	s.body = wire.AppendValue(nil, wire.JSON, body)
	return s
}

type settingsDeleteCmd struct {
	Names    []string `arg:"" name:"name" help:"The settings."`
	deleting `embed:""`
}

// run gives each its default by itself, as the other deletions do.
func (d *settingsDeleteCmd) run(ctx context.Context, p program.Process) error {
	e, err := d.start(p)
	if err != nil {
		return err
	}
	return d.each(p.Stdout, "setting", d.Names, func(id string) (string, error) {
		name, known := plans.ParseSetting(id)
		if !known {
			return "", missing(fmt.Sprintf("setting %s is unknown: use %s", configfile.Show(id), plans.SettingNames))
		}
		body := wire.Value{Kind: wire.Object, Fields: []wire.Field{{Name: id, Value: wire.Value{Kind: wire.Null}}}}
		_, err := e.send(ctx, http.MethodPut, settingsPath, e.header, wire.AppendValue(nil, wire.JSON, body))
		usual := plans.DefaultSettings()
		return value(name, usual[name]) + ", its default", err
	})
}
