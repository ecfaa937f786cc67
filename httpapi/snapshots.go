package httpapi

import (
	"context"
	"net/http"

	"github.com/quotashare/quotashare/wire"
)

// Snapshots keep the state whole.
type Snapshots interface {
	// Snapshot takes one of everything folded so far, and returns what it is.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Snapshots returns those that are there, the newest first.
	Snapshots(ctx context.Context) ([]Snapshot, error)
}

// Snapshot is the state as it was at one message, in a file.
type Snapshot struct {
	Seq     uint64 // of the last message folded
	Time    int64  // the broker's timestamp of that message, epoch ms
	LogTime int64  // of the state, epoch ms
	Rules   uint64 // version of the rules that it was folded by
	Digest  string // of the state, in hex
	Bytes   int64  // of the file
	// Problem says why this program cannot begin from it, "" = it can, as far as
	// its header tells. Of one that cannot be read only Seq and Bytes are known.
	Problem string
}

// takeSnapshot takes one and shows it. It needs a fold and not that it is level with
// the log: one of a fold that still catches up spares the next start what came before.
func (a *api) takeSnapshot(w http.ResponseWriter, r *http.Request) error {
	s, err := a.engine.Snapshot(r.Context())
	if err != nil {
		return err
	}
	var doc wire.Writer
	doc.Object()
	doc.Name("snapshot")
	s.append(&doc)
	doc.End()
	writeJSON(w, http.StatusCreated, &doc)
	return nil
}

// listSnapshots shows all there are: they are few.
func (a *api) listSnapshots(w http.ResponseWriter, r *http.Request) error {
	list, err := a.engine.Snapshots(r.Context())
	if err != nil {
		return err
	}
	var doc wire.Writer
	doc.Object()
	doc.Name("snapshots")
	doc.Array()
	for i := range list {
		list[i].append(&doc)
	}
	doc.End()
	doc.Name("total")
	doc.Uint(uint64(len(list)))
	doc.End()
	writeJSON(w, http.StatusOK, &doc)
	return nil
}

func (s *Snapshot) append(doc *wire.Writer) {
	doc.Object()
	doc.Name("seq")
	doc.Uint(s.Seq)
	if s.Digest != "" { // its header could be read
		doc.Name("time")
		doc.Instant(s.Time)
		doc.Name("logTime")
		doc.Instant(s.LogTime)
		doc.Name("rules")
		doc.Uint(s.Rules)
		doc.Name("digest")
		doc.String(s.Digest)
	}
	doc.Name("bytes")
	doc.Int(s.Bytes)
	if s.Problem != "" {
		doc.Name("problem")
		doc.String(s.Problem)
	}
	doc.End()
}
