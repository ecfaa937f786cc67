package decider

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/jetsource"
	"github.com/quotashare/quotashare/replay"
)

// TestAnAuditWithoutRoomOrLogIsUnavailable, and not an error that nobody foresaw.
func TestAnAuditWithoutRoomOrLogIsUnavailable(t *testing.T) {
	e := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	other := errors.New("something else")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("replay: commit: %w", projector.ErrFull), "the disk is full"},
		{&fs.PathError{Op: "mkdir", Path: "replay", Err: syscall.ENOSPC}, "the disk is full"},
		{fmt.Errorf("replay: %w for 20s", jetsource.ErrAway), "the log cannot be read at the moment: replay: the log has not answered for 20s"},
	} {
		err := e.audits.make(func(*nats.Conn, replay.Options) error { return tt.err })
		if !errors.Is(err, httpapi.ErrUnavailable) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v is answered %v", tt.err, err)
		}
	}
	if err := e.audits.make(func(*nats.Conn, replay.Options) error { return other }); err != other {
		t.Errorf("another error becomes %v", err)
	}
}
