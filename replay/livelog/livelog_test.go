package livelog_test

import (
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/livelog"
)

// What is read from a broker is what a replay needs.
var (
	_ replay.Log  = (*livelog.Log)(nil)
	_ replay.Rows = (*livelog.Rows)(nil)
	_ replay.Kept = (*livelog.Rows)(nil)
)
