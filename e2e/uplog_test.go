package e2e

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// An operator who deletes the log's data, or puts back a copy of it, below a
// program that is stopped, gets the state of the log that is there.
func TestTheProgramFindsAnotherLog(t *testing.T) {
	d, dir := dice(t), t.TempDir()
	log, copied := filepath.Join(dir, "nats"), filepath.Join(t.TempDir(), "copy")
	p := up(t, dir)
	nc := brokertest.Connect(t, p.nats)
	js := jetStream(t, nc)
	configure(t, js)
	kept := traffic(d, "kept-", 30)
	publish(t, js, kept)
	nc.Close()
	p.stop()
	copyDir(t, log, copied)

	p = up(t, dir)
	p.mustContinue(d, "lost-", kept, false)
	p.stop()

	// Rolled back. What the engine folded last lies beyond the log's end.
	replaceDir(t, log, copied)
	p = up(t, dir)
	p.mustContinue(d, "after-", kept, true)
	p.stop()

	// Replaced by an empty one.
	if err := os.RemoveAll(log); err != nil {
		t.Fatal(err)
	}
	p = up(t, dir)
	nc = brokertest.Connect(t, p.nats)
	configure(t, jetStream(t, nc))
	p.mustContinue(d, "anew-", nil, true)
	p.stop()
}

func replaceDir(t *testing.T, dir, with string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	copyDir(t, with, dir)
}

// mustContinue publishes some events and compares the totals and the state. An
// ordinary stop and start must not have rebuilt anything.
func (p *process) mustContinue(d *rand.Rand, prefix string, before []usage, rebuilt bool) {
	p.t.Helper()
	nc := brokertest.Connect(p.t, p.nats)
	defer nc.Close()
	more := traffic(d, prefix, 50)
	got := p.at(publish(p.t, jetStream(p.t, nc), more))
	mustCount(p.t, nc, append(before[:len(before):len(before)], more...))
	mustEqualFreshFold(p.t, nc, got.http())
	if said := strings.Contains(p.stderr.String(), said); said != rebuilt {
		p.t.Errorf("the log says that the state is rebuilt: %v, want %v\n%s", said, rebuilt, p.stderr)
	}
}
