package sim

import (
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/sim/model"
	"github.com/quotashare/quotashare/wire"
)

// String shows the message as JSON, however it is encoded.
func (d *draft) String() string {
	if len(d.events) == 0 {
		return d.subject + " " + string(d.data)
	}
	return d.subject + " " + string(events.AppendArray(nil, wire.JSON, d.events))
}

// draft makes a message of events, which are of one kind: a single document or an
// array, in one of the encodings. The subject may go on where it may.
func (w *world) draft(list ...events.Event) *draft {
	enc := wire.JSON
	if w.dice.chance(20) {
		enc = wire.Msgpack
	}
	d := &draft{subject: list[0].Kind.Subject(""), events: list}
	if list[0].Kind <= events.Release && w.dice.chance(20) {
		d.subject += ".north.1"
	}
	if len(list) == 1 && w.dice.chance(50) {
		d.data = events.Append(nil, enc, &list[0])
	} else {
		d.data = events.AppendArray(nil, enc, list)
	}
	return d
}

// garbage is a message that says nothing.
func (w *world) garbage() *draft {
	return &draft{
		subject: pick(w.dice, []string{"quota.hold", "quota.consumption", "quota.release", "quota.config.pool.p", "quota.nothing"}),
		data:    []byte(pick(w.dice, []string{"", "null", "[]", `{"apiKeyId":"a"`, `{"id":"1","apiKeyId":"a"}`})),
	}
}

func putHeader() map[string][]string {
	return map[string][]string{events.HeaderConfig: {events.ConfigPut}, events.HeaderTTL: {events.TTLNever}}
}

func deleteHeader() map[string][]string {
	return map[string][]string{events.HeaderConfig: {events.ConfigDelete}, events.HeaderTTL: {events.TTLNever}}
}

func putPool(p *plans.Pool) *draft {
	return &draft{
		subject: events.ConfigPool.Subject(p.ID), header: putHeader(), data: plans.AppendPoolJSON(nil, p),
		config: &model.Config{Pool: p.ID, PutPool: p},
	}
}

func deletePool(id string) *draft {
	return &draft{subject: events.ConfigPool.Subject(id), header: deleteHeader(), config: &model.Config{Pool: id}}
}

func putPlan(connection string, d []plans.Dimension) *draft {
	return &draft{
		subject: events.ConfigPlan.Subject(connection), header: putHeader(), data: plans.AppendPlanJSON(nil, connection, d),
		config: &model.Config{Connection: connection, PutPlan: d, HasPlan: true},
	}
}

func deletePlan(connection string) *draft {
	return &draft{subject: events.ConfigPlan.Subject(connection), header: deleteHeader(), config: &model.Config{Connection: connection}}
}

func putSettings(s model.Settings) *draft {
	doc := plans.DefaultSettings()
	doc[plans.SaturationThreshold] = plans.SettingValue{N: int64(s.Threshold), Origin: plans.Stored}
	doc[plans.SoftDeprioritizeFactor] = plans.SettingValue{N: int64(s.SoftFactor), Origin: plans.Stored}
	doc[plans.SignalTTLMs] = plans.SettingValue{N: s.SignalTTLMs, Origin: plans.Stored}
	return &draft{
		subject: events.SettingsSubject, header: putHeader(), data: plans.AppendSettingsJSON(nil, &doc),
		config: &model.Config{Settings: &s},
	}
}

// given has a bit for each unit that is named.
func given(units ...quota.Unit) (bits uint8) {
	for _, u := range units {
		bits |= 1 << u
	}
	return bits
}
