package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/internal/scratch"
	"github.com/quotashare/quotashare/projector/pebblestore"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/giveway"
	"github.com/quotashare/quotashare/replay/livelog"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots/objects"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// recording is how the commands that fold the log again find it.
type recording struct {
	Snapshots directory `placeholder:"DIR" help:"Where the engine keeps its snapshots, in place of those that the broker has. They are only read."`
	copied    `embed:""`
	broker    `embed:"" group:"Configuration"`
	server    `embed:"" group:"Configuration"`
}

// opened is a log that is read.
type opened struct {
	replay.Options
	conn  *nats.Conn
	close func()
	last  uint64 // sequence
}

// open connects to the log, and reads nothing yet.
func (f *recording) open(ctx context.Context, name string, p program.Process) (*opened, error) {
	if f.DataDir != "" {
		return f.openCopy(ctx, string(f.Snapshots), p)
	}
	if p.StepBack != nil { // an engine may be on this machine
		p.StepBack()
	}
	conn, err := f.connect("quotashare "+name, f.APIToken)
	if err != nil {
		return nil, err
	}
	return f.read(ctx, reached{conn: conn, end: conn.Close, snapshots: string(f.Snapshots), shared: true}, p)
}

// reached is a broker that has the log.
type reached struct {
	conn      *nats.Conn
	end       func()
	snapshots string // their directory; "" = the broker has them
	shared    bool   // with an engine, which answers meanwhile
}

// read makes what is read of a broker, which close leaves.
func (f *copied) read(ctx context.Context, from reached, p program.Process) (*opened, error) {
	quiet := program.Logger(p.Stderr, slog.LevelWarn)
	log, err := livelog.NATSLog(livelog.NATSOptions{Conn: from.conn, PurgeAge: decider.DefaultPurgeAge, Gentle: from.shared, Log: quiet})
	if err != nil {
		from.end()
		return nil, err
	}
	dir, err := scratch.Make(f.Temp, quiet)
	if err != nil {
		from.end()
		return nil, fmt.Errorf("--temp: %w", err)
	}
	o := &opened{Options: replay.Options{Log: log, Store: pebblestore.Temporary(dir.Path, quiet)}, conn: from.conn, close: func() {
		from.end()
		if err := dir.Close(); err != nil {
			quiet.Warn("what was folded is left", "dir", dir.Path, "err", err)
		}
	}}
	if from.shared {
		o.Pause = giveway.Pause(giveway.Growing(o.size))
	}
	if err := o.begin(dir.Path, from.snapshots, quiet); err != nil {
		o.close()
		return nil, err
	}
	if _, o.last, err = log.Bounds(ctx); err != nil {
		o.close()
		return nil, f.unread(err)
	}
	bar := foldBar{w: p.Stderr, last: o.last, shown: program.Terminal(p.Stderr)}
	o.Progress = bar.at
	return o, nil
}

// errAway is of a broker that need not be asked.
var errAway = errors.New("there is no connection to the broker")

// size returns the bytes of the log. It is asked before a run is folded, and a broker
// that is away must not hold up what was read before.
func (o *opened) size(ctx context.Context) (uint64, error) {
	if !o.conn.IsConnected() {
		return 0, errAway
	}
	js, err := jetstream.New(o.conn)
	if err != nil {
		return 0, err
	}
	s, err := js.Stream(ctx, events.Stream)
	if err != nil {
		return 0, err
	}
	return s.CachedInfo().State.Bytes, nil
}

// begin says with which snapshots a fold may begin: those of a directory, or, when
// none is named, those of the broker.
func (o *opened) begin(temp, snapshots string, log *slog.Logger) error {
	if snapshots != "" {
		o.Start = starts.Local{Dir: snapdir.New(snapdir.Options{Dir: snapshots, Log: log})}
		return nil
	}
	shared, err := objects.New(objects.Options{Conn: o.conn, Log: log})
	if err != nil {
		return err
	}
	o.Start = starts.Shared{Broker: shared, Into: snapdir.New(snapdir.Options{Dir: filepath.Join(temp, "fetched"), Log: log})}
	return nil
}

// foldBar says on a terminal how far a fold is.
type foldBar struct {
	w     io.Writer
	last  uint64
	part  uint64 // in hundredths, as said last
	shown bool
}

func (b *foldBar) at(seq uint64) {
	if part := seq * 100 / max(b.last, 1); b.shown && part != b.part {
		b.part = part
		fmt.Fprintf(b.w, "\rfolded %d of %d messages, %d %%", seq, b.last, part)
		if seq >= b.last {
			fmt.Fprintln(b.w)
		}
	}
}

// auditCodes are the exit codes of a command that looks for what is wrong, for its help.
const auditCodes = `
Exit codes: 0 when nothing differs, also where there is nothing; 1 when something does;
2 when the command line is wrong; 3 when it could not be found out.`

// older says where what the log lacks may still be: each engine has snapshots of its own,
// and those in the broker are as old as the oldest that was stored there.
func (f *recording) older(err error) error {
	if f.Snapshots != "" || f.DataDir != "" {
		return err
	}
	return program.Hint(err, olderSnapshots)
}

// hintOlder says so where it is no error that something is lacking.
func (f *recording) hintOlder(w io.Writer, lacks bool) {
	if lacks && f.Snapshots == "" && f.DataDir == "" {
		fmt.Fprintf(w, "hint: %s\n", olderSnapshots)
	}
}

const olderSnapshots = "older snapshots may be in the directory of an engine: --snapshots DIR"

// audited gives an error the exit code of such a command: that something differs must
// not be mistaken for that nobody knows.
func audited(err error) error {
	for _, wrong := range []error{errDiverged, errCut, errSpoilt, errUnfounded} {
		if errors.Is(err, wrong) {
			return err
		}
	}
	return program.WithCode(err, program.Undone)
}

// instantOf shows epoch ms.
func instantOf(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
