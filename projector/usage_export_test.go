package projector

// TakeUsage does what Usage does under its last lock, and nothing else.
func (s *State) TakeUsage(poolID string) bool { return s.usageSheetOf(poolID, nil) != nil }
