package decider

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/httpapi"
)

// keeping is a change of an engine: it keeps snapshots beside its store.
func keeping(e *Engine) {
	e.o.SnapshotDir = filepath.Join(filepath.Dir(e.o.Dir), "snapshots")
	e.snapshots = newSnapshotKeeper(e)
}

// usage publishes that many events of usage, of a few keys and connections.
func (r *running) usage(n int) (seq uint64) {
	r.t.Helper()
	for i := range n {
		seq = r.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":"k-%d","connectionId":"c-%d","cost":{"tokens":%d}}`, i%3, i%2, 100+i))
	}
	return seq
}

// digest is that of everything folded.
func (r *running) digest() string {
	r.t.Helper()
	s, err := r.State(r.within(), 0, true)
	r.must(err)
	return r.digestAt(s)
}

func (r *running) digestAt(s httpapi.State) string {
	if s.AppliedSeq != s.LastSeq {
		r.t.Errorf("it is at %d, and the log ends at %d", s.AppliedSeq, s.LastSeq)
	}
	return s.Digest
}

func (r *running) snapshot() httpapi.Snapshot {
	r.t.Helper()
	s, err := r.Snapshot(r.within())
	r.must(err)
	return s
}

// foldedAnew is the digest of an engine that has the log alone.
func foldedAnew(t *testing.T, nc *nats.Conn) string {
	t.Helper()
	r := start(t, nc, t.TempDir()+"/state", nil)
	defer r.stop()
	return r.digest()
}

func TestAnEmptyStoreBeginsFromASnapshot(t *testing.T) {
	nc := startLog(t, t.TempDir())
	dir := t.TempDir() + "/state"
	r := start(t, nc, dir, keeping)
	seq := r.usage(5)
	if got := r.snapshot(); got.Seq != seq || got.Digest != r.digest() || got.Bytes == 0 {
		t.Errorf("the snapshot is %+v, want one of %d with digest %s", got, seq, r.digest())
	}
	r.usage(3)
	r.stop()
	r.must(os.RemoveAll(dir))

	again := start(t, nc, dir, keeping)
	if said := fmt.Sprintf("the state begins from a snapshot\" seq=%d", seq); !strings.Contains(again.said.String(), said) {
		t.Errorf("it never said %s:\n%s", said, again.said.String())
	}
	if got, want := again.digest(), foldedAnew(t, nc); got != want {
		t.Errorf("the digest is %s, and that of a fold from the start %s", got, want)
	}
}
