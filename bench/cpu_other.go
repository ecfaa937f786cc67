//go:build !unix

package bench

import "time"

// cpuTime returns 0: CPU is shown where the system tells it the way Unix does.
func cpuTime() time.Duration { return 0 }
