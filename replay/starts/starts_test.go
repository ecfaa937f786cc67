package starts_test

import (
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/starts"
)

// A replay may begin with either.
var (
	_ replay.Snapshots = starts.Local{}
	_ replay.Snapshots = starts.Shared{}
)
