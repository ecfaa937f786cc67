package intake

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest/groups"
	"github.com/quotashare/quotashare/ingest/spool"
	"github.com/quotashare/quotashare/internal/brokertest"
)

// stopped is a log that takes nothing.
type stopped struct{ err error }

func (s stopped) Publish(context.Context, *groups.Message) (groups.Receipt, error) {
	return groups.Receipt{}, s.err
}

// A full disk is a full spool to the caller: come again. One that fails is no fault of
// the caller's either; and neither tells where it is.
func TestRefusalsOfTheDisk(t *testing.T) {
	nc, _ := brokertest.Start(t).Log()
	i := open(t, Options{Conn: nc})
	for of, want := range map[error]error{spool.ErrFull: httpapi.ErrBusy, spool.ErrDiskFull: httpapi.ErrBusy, spool.ErrDisk: httpapi.ErrUnavailable} {
		i.groups.Close()
		i.groups = groups.New(groups.Options{Log: stopped{of}})
		if _, err := i.Publish(within(t), "quota.consumption", []byte(untimed), 1); !errors.Is(err, want) || !strings.Contains(err.Error(), "disk") {
			t.Errorf("%v: %v, want %v", of, err, want)
		}
	}
	mustShow(t, i, map[string]float64{"publish_full_total spool": 2})
}

// A spool whose directory is gone refuses.
func TestTheDirectoryIsGone(t *testing.T) {
	b := brokertest.StartAgain(t)
	nc, _ := b.Log()
	dir := filepath.Join(t.TempDir(), "spool")
	i := open(t, Options{Conn: nc, SpoolDir: dir})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	b.Stop()
	awaitStatus(t, nc, nats.RECONNECTING)
	_, err := i.Publish(within(t), "quota.consumption", []byte(untimed), 1)
	if !errors.Is(err, httpapi.ErrUnavailable) || strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
	mustShow(t, i, map[string]float64{"spool_disk_errors_total": 1, "spool_events": 0, "publish_full_total spool": 0})
}
