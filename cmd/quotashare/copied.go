package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/internal/program"
)

// copied is how a copy of a data directory is read, with no engine beside.
type copied struct {
	DataDir string `placeholder:"DIR" help:"Read this copy of a data directory, and ask no engine. The copy is opened for writing."`
	Temp    string `placeholder:"DIR" help:"Where the state lies that is folded; nothing is left there."`
}

// openCopy opens the log of the copy, with a server that nobody else reaches.
func (f *copied) openCopy(ctx context.Context, snapshots string, p program.Process) (*opened, error) {
	dir := filepath.Join(f.DataDir, "nats")
	// A server would make an empty log of a directory that has none.
	if _, err := os.Stat(filepath.Join(dir, "jetstream")); err != nil {
		return nil, f.without()
	}
	quiet := program.Logger(p.Stderr, slog.LevelWarn)
	srv, err := ingest.Start(ingest.Options{Dir: dir, Alone: true, Sync: time.Minute, Logger: quiet})
	if errors.Is(err, ingest.ErrDirInUse) {
		return nil, program.Hint(err, "a running engine has this directory: ask it, without --data-dir, or make a copy and name that")
	}
	if err != nil {
		return nil, err
	}
	end := func() {
		if err := srv.Shutdown(); err != nil {
			quiet.Warn("the log was not closed well", "err", err)
		}
	}
	conn, err := srv.Connect(p.Name)
	if err != nil {
		end()
		return nil, err
	}
	return f.read(ctx, reached{
		conn: conn, end: func() { conn.Close(); end() }, snapshots: cmp.Or(snapshots, filepath.Join(f.DataDir, "snapshots")),
	}, p)
}

// without is the error of a directory that has no log: the command line names a wrong one.
// A node has its copies of the streams together with the others, and a server that is
// alone leaves them where they are.
func (f *copied) without() error {
	if _, err := os.Stat(filepath.Join(f.DataDir, "nats", "jetstream", "$SYS", "_js_", "_meta_")); err == nil {
		err := program.WithCode(fmt.Errorf("--data-dir: %s is of a node of a cluster, whose log no node reads alone", f.DataDir), program.Usage)
		return program.Hint(err, "ask the running cluster, with --store-nats-url and without --data-dir, or restore what nats stream backup made of it into an empty server and ask that")
	}
	err := program.WithCode(fmt.Errorf("--data-dir: there is no log in %s", f.DataDir), program.Usage)
	return program.Hint(err, "name a copy of the directory that quotashare up or ingest was given as its data directory")
}

// unread says of a broker without the stream of the log what that means.
func (f *copied) unread(err error) error {
	switch {
	case !errors.Is(err, jetstream.ErrStreamNotFound):
		return err
	case f.DataDir != "":
		return f.without()
	}
	err = fmt.Errorf("the broker has no log: there is no stream %s", events.Stream)
	return program.Hint(err, "start an engine or quotashare up there, or say where the log is with --nats-addr or --store-nats-url")
}
