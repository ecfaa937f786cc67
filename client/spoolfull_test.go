package client

import (
	"os"
	"path/filepath"
	"testing"
)

// What the disk does not take either waits in memory, and comes into the log all the same.
func TestADiskThatTakesNothing(t *testing.T) {
	b := startBroker(t)
	b.log(b.Connect())
	dir := filepath.Join(t.TempDir(), "spool")
	c, said := b.client(func(o *Options) { o.SpoolDir = dir })
	must(t, os.RemoveAll(dir))
	b.Stop()
	awaitLoss(t, b, c.Connected)
	must(t, c.Publish(used("0")))
	said.await(t, "the disk of the spool takes nothing more")
	if s := c.Stats(); s.Waiting != 1 || s.OnDisk != 0 || s.Lost != 0 {
		t.Errorf("while both are away: %+v", s)
	}
	b.Start()
	onDisk(t, c, 0)
	if got := b.ids(t); len(got) != 1 || got[0] != "0" {
		t.Errorf("the log has %q", got)
	}
}
