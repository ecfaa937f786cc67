package spool

import (
	"bytes"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/ingest/groups"
	"github.com/quotashare/quotashare/wire"
)

// stamped returns the message with a time in each event that has none and whose kind has
// times. A message in which that is nothing, or that does not parse, stays as it is: the
// fold says what is wrong with it. Its id changes with what it holds.
//
// An event that was published before, in vain as it seemed, and is in the log without
// its time all the same, is there first; the fold then finds another content under its
// id, and rejects the second one, so it counts once.
func stamped(m *groups.Message, now int64) *groups.Message {
	msg := events.Message{Subject: m.Subject, Header: map[string][]string{events.HeaderContentType: {"application/json"}}, Data: m.Data}
	var list []events.Event
	for _, item := range events.Decode(&msg, nil) {
		if item.Err != nil {
			return m
		}
		if item.Event.Time == 0 && item.Event.Kind != events.Release {
			item.Event.Time = now
		}
		list = append(list, item.Event)
	}
	data := events.AppendArray(nil, wire.JSON, list)
	if bytes.Equal(data, m.Data) {
		return m
	}
	return groups.NewMessage(m.Subject, data, m.Events)
}
