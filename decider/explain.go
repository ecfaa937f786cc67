package decider

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/explanation"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/jetsource"
	"github.com/quotashare/quotashare/projector/pebblestore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/giveway"
	"github.com/quotashare/quotashare/replay/livelog"
	"github.com/quotashare/quotashare/replay/starts"
)

// errBusy is the answer to who wants an audit while there is one.
var errBusy = httpapi.Refuse(httpapi.ErrBusy, "an audit is running here: one at a time is made, so that answers stay fast; try again, or use quotashare explain --data-dir with a copy of the data directory")

// auditor makes audits in the process that answers: one at a time, of a connection,
// reader and store of its own, behind the fold that answers are from.
type auditor struct {
	e    *Engine
	turn chan struct{} // one for who makes an audit
	dir  string        // of the states of audits; nothing in it outlives one
}

func newAuditor(e *Engine) *auditor {
	return &auditor{e: e, turn: make(chan struct{}, 1), dir: filepath.Join(filepath.Dir(e.o.Dir), "replay")}
}

// clean removes what audits of a process that was killed have left.
func (a *auditor) clean() error { return os.RemoveAll(a.dir) }

// make has an audit made, unless there is one already.
func (a *auditor) make(audit func(conn *nats.Conn, o replay.Options) error) error {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	default:
		return errBusy
	}
	conn, err := a.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	log, err := livelog.NATSLog(livelog.NATSOptions{Conn: conn, PurgeAge: a.e.o.PurgeAge, Gentle: true, Log: a.e.o.Log})
	if err != nil {
		return err
	}
	o := replay.Options{Log: log, Store: pebblestore.Temporary(a.dir, a.e.o.Log), Pause: giveway.Pause(a.busy)}
	if dir := a.e.snapshots.dir; dir != nil {
		o.Start = starts.Local{Dir: dir}
	}
	return refused(audit(conn, o))
}

// refused says of an audit that had no room, or no log, what is the matter. The store it
// folds into is its own, and nothing else suffers.
func refused(err error) error {
	switch {
	case errors.Is(err, projector.ErrFull), errors.Is(err, syscall.ENOSPC):
		return httpapi.Refuse(httpapi.ErrUnavailable, "the disk is full, and an audit folds into a store of its own: free some of it; decisions go on")
	case errors.Is(err, jetsource.ErrAway):
		return unreadable(err)
	}
	return err
}

// connect makes a connection like the engine's. What an audit reads comes in megabytes,
// and on one connection every question, and every message for the fold that answers
// are from, would wait until they are through. What happens to it is told to nobody.
func (a *auditor) connect() (*nats.Conn, error) {
	o := a.e.o.Conn.Opts
	o.Name += " (audit)"
	o.RetryOnFailedConnect = false
	o.ConnectedCB, o.ClosedCB, o.DisconnectedCB, o.DisconnectedErrCB = nil, nil, nil, nil
	o.ReconnectedCB, o.ReconnectErrCB, o.DiscoveredServersCB = nil, nil, nil
	conn, err := o.Connect()
	if err != nil {
		return nil, httpapi.Refuse(httpapi.ErrUnavailable, "the log cannot be read at the moment: %v", err)
	}
	return conn, nil
}

// busy says whether the fold that answers are from has something to do.
func (a *auditor) busy(context.Context) bool {
	p := a.e.current.Load()
	return p != nil && p.loop.Busy()
}

// Explain implements httpapi.Explainer.
func (e *Engine) Explain(ctx context.Context, q *httpapi.ExplainQuery) (made *explanation.Explanation, err error) {
	err = e.audits.make(func(_ *nats.Conn, o replay.Options) error {
		ask := replay.Ask{Question: q.Question, At: q.At, Seq: q.Seq, DecisionID: q.DecisionID, Top: q.Top}
		if q.DecisionID != "" {
			if ask.Recorded, err = e.recorded(ctx, q.DecisionID); err != nil {
				return err
			}
		}
		made, err = replay.Explain(ctx, o, &ask)
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = httpapi.Refuse(httpapi.ErrUnavailable, "explain: there is more to read than there is time for here: use quotashare explain --data-dir with a copy of the data directory, which takes the time it needs")
	}
	return made, err
}

// recorded finds a decision by its id.
func (e *Engine) recorded(ctx context.Context, id string) (*questions.Record, error) {
	q := httpapi.DecisionQuery{DecisionID: id, Limit: 1}
	for {
		list, next, err := e.Decisions(ctx, &q)
		switch {
		case err != nil:
			return nil, err
		case len(list) > 0:
			return &list[0], nil
		case next == nil:
			return nil, httpapi.Refuse(httpapi.ErrNotFound, "decisionId: no decision %q is recorded: every block is, for 14 days, and of the rest a sample; of more than 101 equal blocks within a second the ids of the first 100 and of the last are kept; ask with apiKeyId, connectionId and at instead", id)
		}
		q.Before = next
	}
}
