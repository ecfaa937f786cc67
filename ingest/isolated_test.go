package ingest

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/ingest/natsusers"
)

// TestALogOfAnAccountOfItsOwn is not begun anew by a server that was not told of its
// users; one that reads a copy finds it.
func TestALogOfAnAccountOfItsOwn(t *testing.T) {
	users := t.TempDir()
	if _, err := natsusers.Write(users, natsusers.Want{Isolate: true}); err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: t.TempDir(), Addr: "127.0.0.1:-1", Users: filepath.Join(users, "nats.conf"), Logger: slog.New(slog.DiscardHandler)}
	s := start(t, o)
	js, done := connect(t, s.ClientURL(), s.ClientOptions()...)
	ensure(t, js)
	if _, err := js.Publish(t.Context(), "quota.consumption", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	done()
	stop(t, s)

	o.Users = ""
	if _, err := Start(o); !errors.Is(err, natsusers.ErrElsewhere) {
		t.Errorf("without its users: %v", err)
	}
	o.Alone, o.Addr = true, ""
	s = start(t, o)
	defer stop(t, s)
	nc, err := s.Connect("reader")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	copied, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := copied.Stream(t.Context(), events.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 1 {
		t.Errorf("the copy has %d messages", n)
	}
}
