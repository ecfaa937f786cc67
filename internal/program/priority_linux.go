package program

import (
	"os"
	"strconv"
	"syscall"
)

// auditNice is the priority of audits beside an engine: a thirtieth of its share of a
// processor that both want, and all that it leaves.
const auditNice = 15

// stepBack gives the processors to an engine on this machine first. Linux has a
// priority for each thread, and a new one has that of the thread which starts it.
// Where it may not be set, or a thread has just ended, nothing is lost.
func stepBack() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, auditNice)
		}
	}
}
