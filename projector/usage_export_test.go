package projector

import (
	"context"

	"github.com/quotashare/quotashare/usage"
)

// TakeUsage does what Usage does under its last lock, and nothing else.
func (s *State) TakeUsage(poolID string) bool { return s.usageSheetOf(poolID, 0, nil) != nil }

// UsageChosen is Usage after another state chose these keys.
func (s *State) UsageChosen(poolID string, clock int64, chosen ...string) *usage.Snapshot {
	var keys []keyUse
	for _, id := range chosen {
		keys = append(keys, keyUse{key: s.names.find(id), id: id})
	}
	sheet := s.usageSheetOf(poolID, clock, keys)
	_ = sheet.fill(context.Background(), clock, len(keys))
	return sheet.snapshot
}

// UsageBefore is Usage of the state before something happened that comes between
// taking it and making the snapshot.
func (s *State) UsageBefore(poolID string, clock int64, happens func()) *usage.Snapshot {
	sheet := s.usageSheetOf(poolID, 0, nil)
	happens()
	_ = sheet.fill(context.Background(), clock, 0)
	return sheet.snapshot
}
